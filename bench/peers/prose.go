package main

import (
	"bufio"
	"errors"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// The words that a message has.
const (
	shortestMessage = 20
	longestMessage  = 120
)

// cutter cuts paragraphs of prose to messages.
type cutter struct {
	messages   []string
	random     *rand.Rand
	paragraphs map[string]bool // that were there before
	cut        map[string]bool // the messages
	words      []string        // of the message that is begun
	want       int             // words of it
}

func newCutter(random *rand.Rand) *cutter {
	c := &cutter{random: random, paragraphs: map[string]bool{}, cut: map[string]bool{}}
	c.begin()
	return c
}

// begin draws the length of the next message; short ones are the more frequent.
func (c *cutter) begin() {
	const lengths = longestMessage - shortestMessage + 1
	c.words = c.words[:0]
	c.want = shortestMessage + min(c.random.IntN(lengths), c.random.IntN(lengths))
}

// paragraph takes the next paragraph of a file, unless it is no prose or was there
// before.
func (c *cutter) paragraph(text string) {
	words := strings.Fields(text)
	text = strings.Join(words, " ")
	if !isProse(text, words) || c.paragraphs[text] {
		return
	}
	c.paragraphs[text] = true
	for _, w := range words {
		if c.words = append(c.words, w); len(c.words) == c.want {
			c.emit()
		}
	}
}

// end ends a file: no message goes on into the next.
func (c *cutter) end() {
	if len(c.words) >= shortestMessage {
		c.emit()
	}
	c.begin()
}

func (c *cutter) emit() {
	if text := strings.Join(c.words, " "); !c.cut[text] {
		c.cut[text] = true
		c.messages = append(c.messages, text)
	}
	c.begin()
}

// isProse tells sentences from tables, listings and menus: most of a sentence are
// words of letters, and hardly one does without an article or the like.
func isProse(text string, words []string) bool {
	if len(words) < 6 || !utf8.ValidString(text) {
		return false
	}
	var plain, common int
	for _, w := range words {
		w = strings.TrimRight(strings.TrimLeft(w, `("'`), `.,;:!?)"'`)
		if w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-'") == "" {
			plain++
		}
		switch w {
		case "the", "of", "a", "an", "to", "and", "is", "in", "or", "for":
			common++
		}
	}
	return plain*4 >= len(words)*3 && common > 0
}

// readHTML reads the paragraphs of a page.
func readHTML(r io.Reader, paragraph func(string)) error {
	tokens := html.NewTokenizer(r)
	var text strings.Builder
	skipped := "" // the element whose content is none of the text
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			paragraph(text.String())
			if errors.Is(tokens.Err(), io.EOF) {
				return nil
			}
			return tokens.Err()
		}
		token := tokens.Token()
		switch {
		case skipped != "":
			if kind == html.EndTagToken && token.Data == skipped {
				skipped = ""
			}
		case kind == html.TextToken:
			text.WriteString(token.Data)
		case kind == html.CommentToken || kind == html.DoctypeToken || inline[token.Data]:
		default:
			paragraph(text.String())
			text.Reset()
			if kind == html.StartTagToken && noText[token.Data] {
				skipped = token.Data
			}
		}
	}
}

var (
	// inline are the elements that lie within a sentence.
	inline = setOf("a abbr acronym b cite code dfn em i kbd q samp small span strong sub sup tt u var")
	// noText are those that hold no prose, and none of their own kind.
	noText = setOf("head nav pre script style title")
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// readText reads paragraphs that blank lines part, or lines of a percent sign.
func readText(r io.Reader, paragraph func(string)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	var text strings.Builder
	for lines.Scan() {
		line := lines.Text()
		if trimmed := strings.TrimSpace(line); trimmed != "" && trimmed != "%" {
			text.WriteString(line + "\n")
			continue
		}
		paragraph(text.String())
		text.Reset()
	}
	paragraph(text.String())
	return lines.Err()
}

// podIndex is an entry of the index, which no reader sees; podCode is another
// formatting code without one inside, as C<text> or C<< text >>.
var (
	podIndex = regexp.MustCompile(`X<[^<>]*>`)
	podCode  = regexp.MustCompile(`[A-Z](?:<<+\s([^<>]*)\s>>+|<([^<>]*)>)`)
)

// readPod reads the paragraphs of Perl's documentation without its commands and
// listings.
func readPod(r io.Reader, paragraph func(string)) error {
	return readText(r, func(text string) {
		if text == "" || strings.ContainsAny(text[:1], "= \t") {
			return
		}
		text = podIndex.ReplaceAllString(text, "")
		for range 2 { // they nest, but hardly deeper
			text = podCode.ReplaceAllString(text, "$1$2")
		}
		paragraph(text)
	})
}
