package home

import (
	"context"
	"errors"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// A store that another program writes is waited for: most writers are done in no
// time.
const (
	waitMost  = 5 * time.Second
	waitStep  = 50 * time.Millisecond
	waitQuiet = time.Second // and this long without a word
)

// waiting opens what may be busy, until it is free, ctx is done or waitMost is over.
// It tells once that it waits, and for whom; tell may be nil.
func waiting[S any](ctx context.Context, tell func(string), open func() (S, error)) (S, error) {
	began, told := time.Now(), false
	step := time.NewTicker(waitStep)
	defer step.Stop()
	for {
		s, err := open()
		waited := time.Since(began)
		if !errors.Is(err, kv.ErrBusy) || waited >= waitMost {
			return s, err
		}
		if waited >= waitQuiet && !told && tell != nil {
			told = true
			tell("waiting: " + err.Error())
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-step.C:
		}
	}
}
