package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// paragraphs returns what a reader finds in a text, spaces put in order.
func paragraphs(t *testing.T, read func(io.Reader, func(string)) error, text string) []string {
	t.Helper()
	var all []string
	check(t, read(strings.NewReader(text), func(p string) {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			all = append(all, p)
		}
	}))
	return all
}

func TestReaders(t *testing.T) {
	for _, c := range []struct {
		name string
		read func(io.Reader, func(string)) error
		text string
		want []string
	}{
		{"html", readHTML, `<!DOCTYPE html><head><title>no</title></head><nav><p>no</p></nav><h1>One</h1><p>Two <b>bold</b>
			&amp; <a href="x">linked</a><!-- no --> words.</p><pre>no <b>listing</b></pre><ul><li>three<li>four</ul>five`,
			[]string{"One", "Two bold & linked words.", "three", "four", "five"}},
		{"text", readText, "\none\n  two\n \nthree\n%\nfour", []string{"one two", "three", "four"}},
		{"pod", readPod, "=head1 NO\n\nThe C<< open >> and B<the I<file>>X<open>.\n\n    no listing\n\nEnd.", []string{"The open and the file.", "End."}},
	} {
		if got := paragraphs(t, c.read, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestIsProse(t *testing.T) {
	for text, want := range map[string]bool{
		"This is what a sentence looks like, (mostly).": true,
		"Short is the life":                             false,
		"Menu Next Previous Contents Index Home":        false,
		"the 0x01 0x02 0x03 0x04 0x05 0x06":             false,
		"a broken \xff byte in the sentence":            false,
	} {
		if isProse(text, strings.Fields(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// prose returns a paragraph of so many words, which differ.
func prose(name string, words int) string {
	text := "the"
	for i := range words - 1 {
		text += " " + name + string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	return text
}

func TestCutter(t *testing.T) {
	c := newCutter(rand.New(rand.NewPCG(1, 1)))
	for range 2 { // the second time it is known
		c.paragraph(prose("long", 300))
	}
	c.paragraph("no prose")
	c.end()
	c.paragraph(prose("short", shortestMessage-1))
	c.end()
	c.paragraph(prose("next", shortestMessage))
	c.end()
	var words int
	for _, m := range c.messages {
		n := len(strings.Fields(m))
		if n < shortestMessage || n > longestMessage {
			t.Errorf("a message of %d words", n)
		}
		words += n
	}
	if last := c.messages[len(c.messages)-1]; last != prose("next", shortestMessage) {
		t.Errorf("the last message is %q", last)
	}
	if words > 300+shortestMessage || words < 300-shortestMessage {
		t.Errorf("%d words of 320", words)
	}
}

func TestCutArchive(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	fmt.Fprint(z, prose("zipped", shortestMessage))
	check(t, z.Close())
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for name, content := range map[string]string{
		"./usr/share/dictd/x.dict.dz":           zipped.String(),
		"./usr/share/doc/x/page.html":           "<p>" + prose("page", shortestMessage),
		"./usr/share/doc/x/translations/y.html": "<p>" + prose("foreign", shortestMessage),
		"./usr/share/doc/x/_sources/page.txt":   prose("source", shortestMessage),
		"./usr/share/doc/x/copyright":           prose("law", shortestMessage),
		"./usr/share/games/fortunes/x":          "%\n" + prose("fortune", shortestMessage),
		"./usr/share/games/fortunes/x.dat":      prose("index", shortestMessage),
		"./usr/bin/x":                           prose("program", shortestMessage),
	} {
		check(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))}))
		_, err := io.WriteString(w, content)
		check(t, err)
	}
	check(t, w.Close())
	// Each file is as long as the shortest message, so it does not matter which lengths are drawn.
	c := newCutter(rand.New(rand.NewPCG(1, 1)))
	check(t, cutArchive(tar.NewReader(&archive), c))
	slices.Sort(c.messages)
	want := []string{prose("fortune", shortestMessage), prose("page", shortestMessage), prose("zipped", shortestMessage)}
	if !slices.Equal(c.messages, want) {
		t.Errorf("%q, want %q", c.messages, want)
	}
}
