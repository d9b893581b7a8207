package sqlitekv

import (
	"context"
	"iter"
	"time"
)

// patience is how long a lock of another process is waited for. It is not SQLite's
// busy handler that waits, which knows no context and no Close.
const patience = 5 * time.Second

// polls are the pauses between attempts while there is patience, of which the last is
// repeated: short at first, since most locks are held for a transaction.
var polls = []time.Duration{1, 2, 5, 10, 15, 20, 25, 50} // milliseconds

// lastPolls are those that follow when patience has run out.
var lastPolls = []time.Duration{25, 50, 100, 200} // milliseconds

func pauses() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		var waited time.Duration
		for i := 0; waited < patience; i++ {
			pause := min(polls[min(i, len(polls)-1)]*time.Millisecond, patience-waited)
			if !yield(pause) {
				return
			}
			waited += pause
		}
		for _, pause := range lastPolls {
			if !yield(pause * time.Millisecond) {
				return
			}
		}
	}
}

// patiently attempts something until another process is not in the way any more. What
// is attempted has no effect when it fails.
func (s *Store) patiently(ctx context.Context, attempt func() error) error {
	err := attempt()
	for pause := range pauses() {
		if err == nil || !passes(err) {
			break
		}
		if err := s.gate.Sleep(ctx, pause); err != nil {
			return err
		}
		err = attempt()
	}
	return s.file.explain(err)
}
