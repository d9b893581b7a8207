package kv

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
)

func TestD04_TimesSortAsBytes(t *testing.T) {
	at := func(s string) time.Time {
		parsed, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	ascending := []time.Time{
		time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), // taken as the year 0
		at("0000-01-01T00:00:00.000000001Z"),
		at("1969-12-31T23:59:59.999999999Z"),
		time.Unix(0, 0),
		at("2026-03-01T12:00:00Z"),
		at("2026-03-01T12:00:00.1Z"),
		at("2026-03-01T12:00:00.100000001Z"),
		at("2026-03-01T12:00:00.15Z"),
		at("2026-03-01T14:00:00.2+02:00"),
		at("2026-03-01T11:00:00.3-01:00"),
		at("9999-12-31T23:59:59.9Z"),
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), // taken as the end of 9999
	}
	var keys []string
	for _, when := range ascending {
		keys = append(keys, FormatTime(when))
	}
	for i, key := range keys {
		if len(key) != len("2006-01-02T15:04:05.000000000Z") {
			t.Errorf("%q is not of the one width", key)
		}
		if i > 0 && keys[i-1] >= key {
			t.Errorf("%q does not sort before %q", keys[i-1], key)
		}
	}
	if got, want := keys[8], "2026-03-01T12:00:00.200000000Z"; got != want {
		t.Errorf("a time in another zone is %q, want %q", got, want)
	}
}

func TestParseTimeIsTheInverse(t *testing.T) {
	for _, when := range []time.Time{
		time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		time.Date(2026, 3, 1, 12, 0, 0, 100_000_001, time.FixedZone("", 7200)), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
	} {
		got, err := ParseTime(FormatTime(when))
		if err != nil || !got.Equal(when) {
			t.Errorf("%v came back as %v, %v", when, got, err)
		}
	}
	for _, s := range []string{
		"", "2026-03-01T12:00:00Z", "2026-03-01T12:00:00.1Z", "2026-03-01T12:00:00.100000000+00:00",
		"2026-02-30T12:00:00.000000000Z", "2026-03-01t12:00:00.000000000z", "2026-03-01T12:00:00.0000000000Z",
		"2026-03-01T12:00:00,000000000Z", "2026-03-01T24:00:00.000000000Z", "12026-03-01T12:00:00.000000000Z",
	} {
		if got, err := ParseTime(s); !errors.Is(err, ErrMalformedKey) {
			t.Errorf("ParseTime of %q: %v, %v; want ErrMalformedKey", s, got, err)
		}
	}
}

func TestIDsAscendWhateverTheClockDoes(t *testing.T) {
	source := newIDSource()
	last := ""
	for _, now := range []uint64{1000, 1000, 1000, 1001, 999, 0, 1001, 1002, 5, 1 << 40, 1<<40 - 1} {
		for range 100 {
			id := source.next(now)
			if id <= last || len(id) != 26 {
				t.Fatalf("at %d: %q after %q", now, id, last)
			}
			last = id
		}
	}
}

// TestIDsOutliveTheirMillisecond begins with the greatest random part there is, so
// that the next id of that millisecond does not fit in it.
func TestIDsOutliveTheirMillisecond(t *testing.T) {
	random := strings.Repeat("\xff", 10) + strings.Repeat("\x01", 1000)
	source := &idSource{random: ulid.Monotonic(strings.NewReader(random), 0)}
	first, second, third := source.next(1000), source.next(1000), source.next(1000)
	if first >= second || second >= third {
		t.Fatalf("%q, %q and %q do not ascend", first, second, third)
	}
	if at := ulid.MustParse(second).Time(); at != 1001 {
		t.Fatalf("the id that does not fit is of the time %d, want 1001", at)
	}
}

func TestIDsAscendInEachGoroutine(t *testing.T) {
	const workers, each = 8, 2000
	made := make([][]string, workers)
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			for range each {
				made[i] = append(made[i], NewID())
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for i, ids := range made {
		if !slices.IsSorted(ids) {
			t.Errorf("goroutine %d made ids that do not ascend", i)
		}
		for _, id := range ids {
			if seen[id] {
				t.Fatalf("%s was made twice", id)
			}
			seen[id] = true
		}
	}
	if id := NewID(); strings.ToUpper(id) != id || strings.ContainsAny(id, "/%") {
		t.Errorf("%q cannot stand in a key as it is", id)
	}
}

func BenchmarkNewID(b *testing.B) {
	for b.Loop() {
		NewID()
	}
}
