package analysis

import (
	"maps"
	"slices"
	"strings"
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
	stem stemFunc
	stop map[string]bool // dropped from queries that have other words; may be nil
}

var languages = map[string]language{
	None:         {},
	English:      {english.Stem, englishStop},
	"arabic":     {arabic.Stem, nil},
	"danish":     {danish.Stem, nil},
	"dutch":      {dutch.Stem, nil},
	"finnish":    {finnish.Stem, nil},
	"french":     {french.Stem, nil},
	"german":     {german.Stem, nil},
	"hungarian":  {hungarian.Stem, nil},
	"irish":      {irish.Stem, nil},
	"italian":    {italian.Stem, nil},
	"norwegian":  {norwegian.Stem, nil},
	"portuguese": {portuguese.Stem, nil},
	"romanian":   {romanian.Stem, nil},
	"russian":    {russian.Stem, nil},
	"spanish":    {spanish.Stem, nil},
	"swedish":    {swedish.Stem, nil},
	"tamil":      {tamil.Stem, nil},
	"turkish":    {turkish.Stem, nil},
}

// Languages returns the names that New takes, sorted.
func Languages() []string { return slices.Sorted(maps.Keys(languages)) }

const (
	// maxStems bounds the stems that are kept. Texts repeat their words: some
	// thousand of them are nine tenths of what is read.
	maxStems = 16384

	// maxStemmed is the length in bytes of the longest word that is stemmed. The
	// stemmers repeat some steps, and no inflected word of a natural language is
	// longer.
	maxStemmed = 48
)

// Stem returns the stem of a term: the term itself when it is no word of letters
// alone. It is never empty for a term that is not.
func (a *Analyzer) Stem(term string) string {
	if a.language.stem == nil || len(term) < 3 || len(term) > maxStemmed {
		return term
	}
	if stem, ok := a.stems[term]; ok {
		return stem
	}
	stem := term
	if lettersAlone(term) {
		stem = a.stemmer.stem(a.language.stem, term)
	}
	if len(a.stems) >= maxStems {
		clear(a.stems)
	}
	a.stems[strings.Clone(term)] = strings.Clone(stem)
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
