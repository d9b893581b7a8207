package analysis

import (
	"strings"
	"unicode/utf8"
)

// class is what a byte means to the scanner.
type class uint8

const (
	space     class = iota // ends everything, stretches of other than ASCII too
	mark                   // punctuation and symbols: ends a word
	lower                  // a to z
	upper                  // A to Z
	digit                  // 0 to 9
	underline              // _
	wideByte               // not ASCII
)

var classes = func() (c [256]class) {
	for i := range c {
		switch b := byte(i); {
		case b <= ' ' || b == 0x7f:
			c[i] = space
		case b >= 'a' && b <= 'z':
			c[i] = lower
		case b >= 'A' && b <= 'Z':
			c[i] = upper
		case b >= '0' && b <= '9':
			c[i] = digit
		case b == '_':
			c[i] = underline
		case b >= 0x80:
			c[i] = wideByte
		default:
			c[i] = mark
		}
	}
	return c
}()

// scan cuts a.text.
func (a *Analyzer) scan() {
	for i := 0; i < len(a.text); {
		switch classes[a.text[i]] {
		case space, mark:
			i++
		case wideByte:
			i = a.wideStretch(i)
		default:
			i = a.asciiWord(i)
		}
	}
}

// shape is what was seen of a word that may divide it.
type shape uint8

const (
	innerCapital shape = 1 << iota // behind the first letter
	inner                          // a digit, an underscore or a connector
)

// asciiWord takes the written word that begins at start and returns where it
// ends. When it runs into other than ASCII, the whole stretch is handled there.
func (a *Analyzer) asciiWord(start int) int {
	text := a.text
	i, seen := start, shape(0)
	for i < len(text) {
		switch classes[text[i]] {
		case lower:
		case upper:
			if i > start {
				seen |= innerCapital
			}
		case digit, underline:
			seen |= inner
		case wideByte:
			return a.wideStretch(start)
		default:
			n := connector(text, start, i)
			if n == 0 {
				return a.asciiDone(start, i, seen)
			}
			if text[i] != '\'' {
				seen |= inner
			}
			i += n
			continue
		}
		i++
	}
	return a.asciiDone(start, i, seen)
}

// asciiDone emits the word in text[start:end] and returns its end.
func (a *Analyzer) asciiDone(start, end int, seen shape) int {
	if end < len(a.text) && (a.text[end] == '+' || a.text[end] == '#') {
		if rest := strings.TrimLeft(a.text[end:], "+#"); rest != "" && classes[rest[0]] == wideByte {
			return a.wideStretch(start) // what is behind them may be a mark on them
		}
		if n := suffix(a.text, end); n > 0 {
			end += n
			seen |= inner
		}
	}
	word := a.text[start:end]
	if seen == 0 || seen == innerCapital && word == strings.ToUpper(word) {
		a.emit(lowerASCII(word), start, end, Word)
		return end
	}
	a.compound(source{text: word, base: start})
	return end
}

// connector returns how many bytes at i join the word that began at start with
// one behind i, and 0 when nothing does.
func connector(text string, start, i int) int {
	n := 1
	if text[i] == ':' && i+1 < len(text) && text[i+1] == ':' {
		n = 2
	}
	if i == start || i+n >= len(text) {
		return 0
	}
	before, after := classes[text[i-1]], classes[text[i+n]]
	if before < lower || after < lower {
		return 0
	}
	switch text[i] {
	case '-', '.', '/', ':', '@':
		return n
	case '\'':
		if before != digit && after != digit {
			return n
		}
	case ',':
		if before == digit && after == digit {
			return n
		}
	}
	return 0
}

// suffix returns the length of the ++ or # that belongs to the word before end,
// as in C++ and C#, where no more of a word follows.
func suffix(text string, end int) int {
	n := 0
	switch rest := text[end:]; {
	case strings.HasPrefix(rest, "++"):
		n = 2
	case strings.HasPrefix(rest, "#") && end > 0 && classes[text[end-1]] <= upper:
		n = 1
	default:
		return 0
	}
	next, _ := utf8.DecodeRuneInString(text[end+n:])
	if InWord(next) || next == rune(text[end]) {
		return 0
	}
	return n
}

// lowerASCII is strings.ToLower for ASCII. It shares memory with what is in lower
// case already.
func lowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if classes[s[i]] == upper {
			return strings.ToLower(s)
		}
	}
	return s
}

// emit appends a token, its term cut.
func (a *Analyzer) emit(term string, start, end int, kind Kind) {
	if term = cut(term); term != "" {
		a.tokens = append(a.tokens, Token{term, start, end, kind})
	}
}
