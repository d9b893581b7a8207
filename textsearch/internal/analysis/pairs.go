package analysis

import (
	"unicode"
	"unicode/utf8"
)

// script is how a character is indexed.
type script uint8

const (
	none        script = iota // no part of a word
	alphabet                  // in words
	firstPaired               // and beyond: in pairs, one number a script
)

// paired lists the scripts that are written without spaces between words, or, as
// Hangul, with words that are found by their middle too.
var paired = [...]*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai,
	unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Bopomofo,
}

// firstPairedRune is the first character of any of them: ก.
const firstPairedRune = 0x0E01

// InWord tells whether a character is part of a word, in any script.
func InWord(r rune) bool { return scriptOf(r) != none || unicode.IsMark(r) }

// scriptOf tells how a character is indexed. A mark is none by itself.
func scriptOf(r rune) script {
	if r >= firstPairedRune && !unicode.IsMark(r) {
		for i, table := range paired {
			if unicode.Is(table, r) && !unicode.IsPunct(r) && !unicode.IsSymbol(r) {
				return firstPaired + script(i)
			}
		}
	}
	if r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) {
		return alphabet
	}
	return none
}

// prolonged is the sound mark that Hiragana and Katakana share. It goes with
// what it follows.
const prolonged = 'ー'

// scriptRun returns the script at start and the end of its run, at most end. Marks
// belong to what they follow, and in an alphabet so does punctuation that UAX #29
// has inside words, as in col·lecció. ASCII punctuation never does: what it joins
// is for connector to say, so that a word is the same beside any neighbour.
func scriptRun(text string, start, end int) (script, int) {
	r, n := utf8.DecodeRuneInString(text[start:end])
	in := scriptOf(r)
	i := start + n
	for i < end {
		r, n := utf8.DecodeRuneInString(text[i:end])
		s := scriptOf(r)
		inside := unicode.IsMark(r) || r == prolonged || in == alphabet && s == none && r >= utf8.RuneSelf
		if s != in && !inside {
			break
		}
		i += n
	}
	return in, i
}

// pairs emits the overlapping pairs of a run and its last character. A character
// is a letter with the marks that follow it.
func (a *Analyzer) pairs(s source) {
	previous := -1
	for start := 0; start < len(s.text); {
		end := characterEnd(s.text, start)
		if previous >= 0 {
			a.emitPair(s, previous, end, Pair)
		}
		if end == len(s.text) {
			kind := Tail
			if previous < 0 {
				kind = Single
			}
			a.emitPair(s, start, end, kind)
		}
		previous, start = start, end
	}
}

// emitPair emits text as it is: these scripts have no case.
func (a *Analyzer) emitPair(s source, start, end int, kind Kind) {
	from, to := s.span(start, end)
	a.emit(s.text[start:end], from, to, kind)
}

func characterEnd(text string, start int) int {
	_, n := utf8.DecodeRuneInString(text[start:])
	i := start + n
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsMark(r) {
			break
		}
		i += n
	}
	return i
}
