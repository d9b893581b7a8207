package cli

import (
	"strings"
	"testing"
	"time"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"limt", "limit", 1}, {"kitten", "sitting", 3}, {"since", "until", 5}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestTime(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	a := &app{sys: System{Now: func() time.Time { return now }}}
	for given, want := range map[string]time.Time{
		"":                     {},
		"7d":                   now.AddDate(0, 0, -7),
		"2w":                   now.AddDate(0, 0, -14),
		"12h":                  now.Add(-12 * time.Hour),
		"90m":                  now.Add(-90 * time.Minute),
		"2026-01-31":           time.Date(2026, 1, 31, 0, 0, 0, 0, time.Local),
		"2026-01-31T15:04":     time.Date(2026, 1, 31, 15, 4, 0, 0, time.Local),
		"2026-01-31 15:04":     time.Date(2026, 1, 31, 15, 4, 0, 0, time.Local),
		"2026-01-31T15:04:05Z": time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC),
	} {
		if got, err := a.time("since", given, false); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", given, got, err, want)
		}
	}
	if got, err := a.time("until", "2026-01-31", true); err != nil || !got.Equal(time.Date(2026, 2, 1, 0, 0, 0, 0, time.Local)) {
		t.Errorf("until a day: %v, %v, want its end", got, err)
	}
	for _, given := range []string{"yesterday", "-3d", "3", "1.5d", "2026-13-01", "d", " 7d"} {
		if got, err := a.time("since", given, false); exitCode(err) != exitUsage {
			t.Errorf("%q: %v, %v, want a matter of usage", given, got, err)
		}
	}
}

func TestNameOf(t *testing.T) {
	for text, want := range map[string]string{
		"The staging DB is reset every Monday at six": "the-staging-db-is-reset-every",
		"… !?":                   "note",
		"山田さん、明日":                "山田さん-明日",
		"a/b\x00c":               "a-b-c",
		strings.Repeat("x", 100): "note",
		"é\xff" + "f":            "é-f",
	} {
		if got := nameOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestInvalid(t *testing.T) {
	for text, want := range map[string]int{
		"": -1, "añ山": -1, "\uFFFD": -1, "\xff": 0, "añ\xff": 3, "\uFFFD\xe5\xb1": 3, "\xed\xa0\x80": 0, // half a surrogate
	} {
		if got := invalid(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
