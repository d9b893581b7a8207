package kv

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// NewID returns a new ULID: 26 characters that sort by the time of their making,
// and, within a process, in the order of their making whatever the clock does.
// It is safe for concurrent use.
func NewID() string { return ids.next(ulid.Now()) }

// ids is the one thing that a whole process shares: the order of its ids.
var ids = newIDSource()

// idSource makes ids that ascend. ulid.Make is not enough: its ids ascend only
// while the clock does, and while no goroutine comes late with an older time.
type idSource struct {
	mu     sync.Mutex
	random *ulid.MonotonicEntropy // goes up by random steps while the time stays
	last   uint64                 // the greatest time so far
}

func newIDSource() *idSource { return &idSource{random: ulid.Monotonic(rand.Reader, 0)} }

// next returns an id of the time now, in milliseconds, or of the last one's when
// that is later.
func (s *idSource) next(now uint64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, now)
	id, err := ulid.New(s.last, s.random)
	if err != nil { // the random part is at its end
		s.last++
		id = ulid.MustNew(s.last, s.random)
	}
	return id.String()
}

// timeLayout is how a time stands in a key: fixed width, so that times sort as
// bytes. The variable-width forms of RFC 3339 do not.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

// FormatTime returns t as it stands in a key: in UTC, to the nanosecond, of fixed
// width for the years 0 to 9999. Times outside these are taken as the nearest
// that is inside, so that every key sorts.
func FormatTime(t time.Time) string {
	t = t.UTC()
	switch {
	case t.Year() < 0:
		t = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	case t.Year() > 9999:
		t = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	}
	return t.Format(timeLayout)
}

// ParseTime is the inverse of FormatTime.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(timeLayout, s)
	if err != nil || FormatTime(t) != s {
		return time.Time{}, fmt.Errorf("%w: %.40q is no time of the form %s", ErrMalformedKey, s, timeLayout)
	}
	return t, nil
}
