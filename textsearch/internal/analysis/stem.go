package analysis

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// The names of the language that is the default, and of no language.
const (
	English = "english"
	None    = "none"
)

type stemFunc func(*snowballstem.Env) bool

type language struct {
	stem  stemFunc
	stop  map[string]bool // dropped from queries that have other words; may be nil
	stems func() *memo    // made when it is first used
}

func newLanguage(stem stemFunc, stop map[string]bool) language {
	return language{stem, stop, sync.OnceValue(func() *memo { return new(memo) })}
}

var languages = map[string]language{
	None:         {},
	English:      newLanguage(english.Stem, englishStop),
	"arabic":     newLanguage(arabic.Stem, nil),
	"danish":     newLanguage(danish.Stem, nil),
	"dutch":      newLanguage(dutch.Stem, nil),
	"finnish":    newLanguage(finnish.Stem, nil),
	"french":     newLanguage(french.Stem, nil),
	"german":     newLanguage(german.Stem, nil),
	"hungarian":  newLanguage(hungarian.Stem, nil),
	"irish":      newLanguage(irish.Stem, nil),
	"italian":    newLanguage(italian.Stem, nil),
	"norwegian":  newLanguage(norwegian.Stem, nil),
	"portuguese": newLanguage(portuguese.Stem, nil),
	"romanian":   newLanguage(romanian.Stem, nil),
	"russian":    newLanguage(russian.Stem, nil),
	"spanish":    newLanguage(spanish.Stem, nil),
	"swedish":    newLanguage(swedish.Stem, nil),
	"tamil":      newLanguage(tamil.Stem, nil),
	"turkish":    newLanguage(turkish.Stem, nil),
}

// Languages returns the names that New takes, sorted.
func Languages() []string { return slices.Sorted(maps.Keys(languages)) }

// maxStemmed is the length in bytes of the longest word that is stemmed. The
// stemmers repeat some steps, and no inflected word of a natural language is
// longer.
const maxStemmed = 48

// Stem returns the stem of a term: the term itself when it is no word of letters
// alone. It is never empty for a term that is not.
func (a *Analyzer) Stem(term string) string {
	if a.language.stem == nil || len(term) < 3 || len(term) > maxStemmed || !lettersAlone(term) {
		return term
	}
	stems := a.language.stems()
	if stem, ok := stems.get(term); ok {
		return stem
	}
	stem := a.stemmer.stem(a.language.stem, term)
	stems.put(term, stem)
	return stem
}

func lettersAlone(term string) bool {
	for _, r := range term {
		if !(r >= 'a' && r <= 'z') && r != '\'' && !(r >= 0x80 && (unicode.IsLetter(r) || unicode.IsMark(r))) {
			return false
		}
	}
	return true
}

// stemmer runs the generated stemmers.
type stemmer struct{ env *snowballstem.Env }

// stem returns the stem of word. The generated code works by offsets into bytes
// and has been seen to fail on odd words: a panic, an empty stem and broken UTF-8
// all leave the word as it is.
func (s *stemmer) stem(f stemFunc, word string) (stem string) {
	stem = word
	defer func() {
		if recover() != nil {
			s.env, stem = nil, word
		}
	}()
	if s.env == nil {
		s.env = snowballstem.NewEnv("")
	}
	s.env.SetCurrent(word)
	f(s.env)
	if got := s.env.Current(); got != "" && strings.ToValidUTF8(got, "") == got {
		return got
	}
	return word
}
