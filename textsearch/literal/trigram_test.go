package literal

import (
	"slices"
	"strings"
	"testing"
)

func unpackAll(all []Trigram) string {
	var parts []string
	for _, trigram := range all {
		parts = append(parts, strings.ReplaceAll(unpacked(trigram), "|", ""))
	}
	return strings.Join(parts, ",")
}

func TestTrigramsByHand(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"ab", ""},
		{"ABC", "abc"},
		{"banana", "ana,ban,nan"},
		{"ab\nc", "ab\n,b\nc"},
		{"Maß", "ass,mas"},
		{"dé", "de\u0301"},
		{"Iİi\u0307", "iii"},
		{"修复ok", "修复o,复ok"},
		{"zaébc", "ae\u0301,e\u0301b,zae,\u0301bc"},
		{"a\xff\xfe", "a\xff\xfe"},
	} {
		var grams Trigrammer
		if got := unpackAll(grams.Append(nil, c.text)); got != c.want {
			t.Errorf("%+q has %+q, want %+q", c.text, got, c.want)
		}
		if got := unpackAll(NewMatcher(c.text).Trigrams()); got != c.want {
			t.Errorf("needle %+q has %+q, want %+q", c.text, got, c.want)
		}
	}
	if got, want := NewMatcher("aB\xff").Trigrams()[0], Trigram('a')<<42|Trigram('b')<<21|0x1100FF; got != want {
		t.Errorf("%x, want %x", got, want)
	}
}

// One text leaves nothing behind for the next, and what there was stays.
func TestTrigrammerIsReused(t *testing.T) {
	var grams Trigrammer
	all := grams.Append(nil, "first é text, which is gone")
	n := len(all)
	all = grams.Append(all, "xyz")
	if got := unpackAll(all[n:]); got != "xyz" {
		t.Errorf("%q", got)
	}
	if !slices.Equal(all[:n], new(Trigrammer).Append(nil, "first é text, which is gone")) {
		t.Error("what was appended before is changed")
	}
	if got := grams.Append(nil, ""); len(got) > 0 {
		t.Errorf("%q", unpackAll(got))
	}
}

// A long text of few trigrams takes room for few.
func TestTrigrammerDropsRepetitions(t *testing.T) {
	var grams Trigrammer
	all := grams.Append(nil, strings.Repeat("привет, мир! ", 50000))
	if len(all) != 13 || cap(grams.wide) > 10000 {
		t.Errorf("%d trigrams, room for %d", len(all), cap(grams.wide))
	}
}

func TestNeedlesTrigramsAreAmongTheTexts(t *testing.T) {
	rng := random(t)
	var grams Trigrammer
	for range 5000 {
		text := randomText(rng, rng.IntN(60))
		checkFilter(t, &grams, text, randomNeedle(rng, text))
	}
}

// A term says all of its trigram: no two of one text, and none of two texts, are the
// same bytes.
func TestTermsAreTrigrams(t *testing.T) {
	rng := random(t)
	var grams Trigrammer
	seen := map[string]Trigram{}
	for range 3000 {
		for _, trigram := range grams.Append(nil, randomText(rng, rng.IntN(60))) {
			term := string(trigram.append(nil))
			if want := strings.ReplaceAll(unpacked(trigram), "|", ""); term != want || trigram.size() != len(want) {
				t.Fatalf("%+q is the term %+q, of %d bytes", want, term, trigram.size())
			}
			if other, known := seen[term]; known && other != trigram {
				t.Fatalf("%+q is the term of %+q and %+q", term, unpacked(trigram), unpacked(other))
			}
			seen[term] = trigram
		}
	}
}
