package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A compound, or an identifier, is one written word: it is emitted whole, and
// then by its parts:
//
//	src/kv/HTTPServer2.go   src, kv, httpserver2.go, httpserver2, http, server2, server, go
//	refresh_token           refresh, token
//	__init__                init
//	v1.2.3                  1.2.3
//	C++                     c
//
// The segments of a path are parts, and so are the words between connectors,
// those between underscores, those that capitals set off, and of letters with a
// number behind them either, when it has two characters or more. A full stop or a
// comma between digits connects nothing.
const (
	// maxCompound is the length in bytes, and maxPieces the number of parts, beyond
	// which a compound is no name. Its connectors then divide it into words of their
	// own, and an identifier is emitted whole alone.
	maxCompound = 256
	maxPieces   = 32

	// A name that capitals divide into more than noisePieces parts is base64 or the
	// like, and stays whole, when these have fewer than 2.5 bytes on average or when
	// it has digits in more than noiseNumbers places.
	noisePieces  = 3
	noiseNumbers = 2
)

// source is a written word where it stands in the text.
type source struct {
	text string // ASCII as written, or wide text in NFKC
	base int    // where it begins: in the text, or, for wide text, in the stretch
	wide *wide  // nil for ASCII
}

// span returns the bytes of the whole text that text[start:end] comes from.
func (s source) span(start, end int) (int, int) {
	if s.wide == nil {
		return s.base + start, s.base + end
	}
	return s.wide.span(s.base+start, s.base+end)
}

func (s source) sub(start, end int) source {
	return source{s.text[start:end], s.base + start, s.wide}
}

type piece struct{ start, end int }

// compound emits a written word with its parts.
func (a *Analyzer) compound(s source) {
	if len(s.text) > maxCompound {
		a.separate(s)
		return
	}
	a.pieces = a.pieces[:0]
	atoms := a.divide(s.text)
	if len(a.pieces) > maxPieces && atoms > 1 {
		a.separate(s)
		return
	}
	a.emitPart(s, 0, len(s.text), Word)
	if len(a.pieces) > maxPieces {
		return
	}
	for _, p := range a.pieces {
		a.emitPart(s, p.start, p.end, Part)
	}
}

// separate emits what stands between the connectors of s as written words.
func (a *Analyzer) separate(s source) {
	start := 0
	for start < len(s.text) {
		end := atomEnd(s.text, start)
		if end-start == len(s.text) {
			a.emitPart(s, 0, end, Word)
			return
		}
		a.compound(s.sub(start, end))
		start = end + joint(s.text, end)
	}
}

// emitPart emits s.text[start:end], unless it is underscores alone.
func (a *Analyzer) emitPart(s source, start, end int, kind Kind) {
	if strings.Trim(s.text[start:end], "_") == "" {
		return
	}
	from, to := s.span(start, end)
	if s.wide == nil {
		a.emit(lowerASCII(s.text[start:end]), from, to, kind)
		return
	}
	a.emit(a.wider().folded(s.text[start:end]), from, to, kind)
}

// divide appends the parts of a compound to a.pieces and returns how many words
// its connectors divide it into.
func (a *Analyzer) divide(text string) (atoms int) {
	path := strings.IndexByte(text, '/') >= 0
	segment := 0 // where the segment of a path began
	for start := 0; start < len(text); atoms++ {
		end := atomEnd(text, start)
		whole := end-start == len(text)
		if path && start == segment {
			a.segment(text, start, end)
		}
		if !whole {
			a.pieces = append(a.pieces, piece{start, end})
		}
		a.identifier(text, start, end)
		start = end + joint(text, end)
		if end < len(text) && text[end] == '/' {
			segment = start
		}
	}
	return atoms
}

// segment appends the segment of a path that begins with the atom text[start:end]
// where it is more than that.
func (a *Analyzer) segment(text string, start, end int) {
	last := len(text)
	if n := strings.IndexByte(text[start:], '/'); n >= 0 {
		last = start + n
	}
	if last > end {
		a.pieces = append(a.pieces, piece{start, last})
	}
}

// atomEnd returns the end of what begins at start and has no connector in it.
func atomEnd(text string, start int) int {
	for i := start; i < len(text); i++ {
		if joint(text, i) > 0 {
			return i
		}
	}
	return len(text)
}

// joint returns the length of the connector at i, which scan has found to be
// one by what stands at its sides, or 0.
func joint(text string, i int) int {
	if i >= len(text) {
		return 0
	}
	switch text[i] {
	case '.':
		if i > 0 && i+1 < len(text) && classes[text[i-1]] == digit && classes[text[i+1]] == digit {
			return 0
		}
		return 1
	case ':':
		if i+1 < len(text) && text[i+1] == ':' {
			return 2
		}
		return 1
	case '-', '/', '@':
		return 1
	}
	return 0
}

// identifier appends the words inside text[start:end].
func (a *Analyzer) identifier(text string, start, end int) {
	from, to := start, end
	for to > from && (text[to-1] == '+' || text[to-1] == '#' || text[to-1] == '_') {
		to--
	}
	for from < to && text[from] == '_' {
		from++
	}
	if from == to {
		return
	}
	if from > start || to < end {
		a.pieces = append(a.pieces, piece{from, to})
	}
	divided := strings.IndexByte(text[from:to], '_') >= 0
	for from < to {
		last := to
		if n := strings.IndexByte(text[from:to], '_'); n >= 0 {
			last = from + n
		}
		if divided && last > from {
			a.pieces = append(a.pieces, piece{from, last})
		}
		a.capitals(text, from, last)
		from = last + 1
	}
}

// capitals appends the words that capitals set off in text[start:end]: at a
// capital behind what is none, and at the last of several, or one behind an
// apostrophe, before a small letter, unless that is the s of a plural, as in URLs.
func (a *Analyzer) capitals(text string, start, end int) {
	before := len(a.pieces)
	from := start
	previous, at := utf8.DecodeRuneInString(text[start:end])
	for i := start + at; i < end; {
		r, n := utf8.DecodeRuneInString(text[i:end])
		if isUpper(r) && (!isUpper(previous) && previous != '\'' || smallFollows(text[i+n:end])) {
			a.pieces = append(a.pieces, piece{from, from + len(strings.TrimRight(text[from:i], "'"))})
			from = i
		}
		if !unicode.IsMark(r) {
			previous = r
		}
		i += n
	}
	parts := len(a.pieces) - before + 1
	if parts > noisePieces && (2*(end-start) < 5*parts || numbers(text[start:end]) > noiseNumbers) {
		a.pieces = a.pieces[:before]
		return
	}
	if parts > 1 {
		a.pieces = append(a.pieces, piece{from, end})
	}
	for _, p := range a.pieces[before:] {
		a.number(text, p.start, p.end)
	}
	if parts == 1 {
		a.number(text, start, end)
	}
}

// numbers counts the runs of digits in a name.
func numbers(name string) int {
	n := 0
	for i := range len(name) {
		if classes[name[i]] == digit && (i == 0 || classes[name[i-1]] != digit) {
			n++
		}
	}
	return n
}

func isUpper(r rune) bool { return unicode.IsUpper(r) || unicode.IsTitle(r) }

func smallFollows(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsLower(r) && rest != "s"
}

// number appends the letters and the number of what is letters and a number.
func (a *Analyzer) number(text string, start, end int) {
	i := end
	for i > start && (classes[text[i-1]] == digit || text[i-1] == '.' || text[i-1] == ',') {
		i--
	}
	if i == start || i == end || strings.ContainsFunc(text[start:i], func(r rune) bool { return !unicode.IsLetter(r) }) {
		return
	}
	for _, p := range [2]piece{{start, i}, {i, end}} {
		if utf8.RuneCountInString(text[p.start:p.end]) > 1 {
			a.pieces = append(a.pieces, p)
		}
	}
}

// cut cuts a term at MaxTerm bytes, on the border of a character.
func cut(term string) string {
	if len(term) <= MaxTerm {
		return term
	}
	i := MaxTerm
	for i > 0 && !utf8.RuneStart(term[i]) {
		i--
	}
	return term[:i]
}
