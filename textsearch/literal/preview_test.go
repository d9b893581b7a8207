package literal

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/textsearch"
)

func TestDisplayByHand(t *testing.T) {
	text := "a\xff\xfebé\xe2\x84 \uFFFD"
	shown, spans := Display(text, []textsearch.Span{{Start: 0, End: 1}, {Start: 1, End: 2}, {Start: 2, End: 6}, {Start: 7, End: 9}})
	if shown != "a\uFFFD\uFFFDbé\uFFFD\uFFFD \uFFFD" {
		t.Errorf("%+q", shown)
	}
	want := []textsearch.Span{{Start: 0, End: 1}, {Start: 1, End: 4}, {Start: 4, End: 10}, {Start: 13, End: 17}}
	if !slices.Equal(spans, want) {
		t.Errorf("spans %v, want %v", spans, want)
	}
	if shown, spans := Display("é", want[:1]); shown != "é" || !slices.Equal(spans, want[:1]) {
		t.Errorf("%q %v", shown, spans)
	}
}

func TestPreviewByHand(t *testing.T) {
	long := strings.Repeat("before ", 100) + "the needle in it" + strings.Repeat(" behind", 100)
	for _, c := range []struct {
		name, text, needle string
		max                int
		want               textsearch.Window
	}{
		{"whole", "İ needle", "NEEDLE", 20, textsearch.Window{Text: "İ needle", Spans: []textsearch.Span{{Start: 3, End: 9}}}},
		{"cut", long, "needle", 30, textsearch.Window{
			Text: "before the needle in it behind", Start: 693, Spans: []textsearch.Span{{Start: 11, End: 17}}, Before: true, After: true}},
		{"bad bytes", "a\xffneedle\xff", "\xffneedle", 20, textsearch.Window{
			Text: "a\uFFFDneedle\uFFFD", Spans: []textsearch.Span{{Start: 1, End: 10}}}},
		{"cut again", "\xff\xff\xff\xff\xff \xff\xff\xff\xff needle", "needle", 20, textsearch.Window{
			Text: "\uFFFD\uFFFD\uFFFD\uFFFD needle", Start: 6, Spans: []textsearch.Span{{Start: 13, End: 19}}, Before: true}},
		{"cut at the beginning, then at the end", "some words before the needle\xff\xff\xff\xff\xff\xff", "needle", 18, textsearch.Window{
			Text: "the needle\uFFFD\uFFFD", Start: 18, Spans: []textsearch.Span{{Start: 4, End: 10}}, Before: true, After: true}},
		{"nothing", "", "needle", 10, textsearch.Window{}},
	} {
		matches := find(c.text, c.needle)
		if got := Preview(c.text, matches, c.max); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestPreviewsAreOfTheText(t *testing.T) {
	rng := random(t)
	for range 5000 {
		text := randomText(rng, rng.IntN(80))
		checkPreview(t, text, find(text, randomNeedle(rng, text)), rng.IntN(60))
	}
}
