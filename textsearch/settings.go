package textsearch

import (
	"fmt"
	"math"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch/internal/analysis"
)

// Settings are the numbers of the ranking and the language of the texts. The zero
// value of each means its default.
type Settings struct {
	// K1 says how much more a word counts that occurs more often. 0 means
	// DefaultK1; below zero, that it does not matter how often. At most MaxK1.
	K1 float64
	// B says how much longer documents are held to say the same in more words, at
	// most 1. 0 means DefaultB; below zero, that length does not matter.
	B float64
	// Language is that of the stems and the stopwords, by its English name in lower
	// case: "english", which is the default, "german", …; "none" has neither.
	//
	// An index keeps the language in which it was begun, so that it always finds
	// what it holds. Another one takes effect by a Rebuild.
	Language string
}

// The defaults, within the range that Robertson and Zaragoza give. Lucene's are 1.2
// and 0.75. A document counts by the best form of a word, and not by all together, and
// a greater K1 makes up for that on both test collections that the project measures
// (README, Quality).
const (
	DefaultK1 = 2
	DefaultB  = 0.75
)

// MaxK1 is the most that Settings.K1 may be. Nothing changes much above ten.
const MaxK1 = 20

// Tuned is a store that has settings of its own for text search. A wrapper that
// sets them hands them on to its transactions, as kv.InRealm does the realm, for
// what is done inside these.
type Tuned interface {
	TextSettings() Settings
}

// SettingsOf returns the settings of s, with defaults in place.
func SettingsOf(s kv.KVStorage) (Settings, error) {
	var set Settings
	if t, ok := kv.As[Tuned](s); ok {
		set = t.TextSettings()
	}
	return set.resolve()
}

func (set Settings) resolve() (Settings, error) {
	if math.IsNaN(set.K1) || math.IsInf(set.K1, 0) || set.K1 > MaxK1 || math.IsNaN(set.B) || set.B > 1 {
		return set, fmt.Errorf("%w: K1 %v, B %v", ErrSettings, set.K1, set.B)
	}
	set.K1, set.B = orDefault(set.K1, DefaultK1), orDefault(set.B, DefaultB)
	if set.Language == "" {
		set.Language = analysis.English
	}
	if _, err := newAnalyzer(set.Language); err != nil {
		return set, err
	}
	return set, nil
}

func orDefault(n, def float64) float64 {
	if n == 0 {
		return def
	}
	return max(n, 0)
}

// Languages returns the names that Settings.Language takes, sorted.
func Languages() []string { return analysis.Languages() }

func newAnalyzer(language string) (*analysis.Analyzer, error) {
	a, err := analysis.New(language)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	return a, nil
}
