package home

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// A21: who writes waits for another writer, with a word after a second, and not for
// ever.
func TestA21_WaitsForTheWriter(t *testing.T) {
	for _, c := range []struct {
		name         string
		held, cancel time.Duration
		told         int
		want         error
		waited       time.Duration
	}{
		{"it ends at once", 300 * time.Millisecond, time.Hour, 0, nil, 300 * time.Millisecond},
		{"it ends", 3 * time.Second, time.Hour, 1, nil, 3 * time.Second},
		{"it does not", 20 * time.Second, time.Hour, 1, kv.ErrBusy, 5 * time.Second},
		{"called off", 20 * time.Second, 500 * time.Millisecond, 0, context.DeadlineExceeded, 500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := Location{Backend: Crabdb, Place: filepath.Join(t.TempDir(), "s.crmem")}
			synctest.Test(t, func(t *testing.T) {
				holder, err := OpenWrite(context.Background(), l, nil)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				closed := make(chan error)
				time.AfterFunc(c.held, func() { closed <- holder.Close() })
				ctx, stop := context.WithTimeout(context.Background(), c.cancel)
				defer stop()
				told := 0
				s, err := OpenWrite(ctx, l, func(what string) {
					if told++; !strings.Contains(what, "is held by pid ") {
						t.Errorf("tells %q", what)
					}
				})
				waited := time.Since(began)
				if !errors.Is(err, c.want) || told != c.told || waited < c.waited || waited > c.waited+waitStep {
					t.Errorf("after %v: %v, told %d times", waited, err, told)
				}
				if err := <-closed; err != nil {
					t.Error(err)
				}
				if s != nil {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// Who reads tells nobody, and may have to wait too.
func TestWaitingWithoutAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := waiting(context.Background(), nil, func() (int, error) { return 0, kv.ErrBusy })
		if !errors.Is(err, kv.ErrBusy) {
			t.Error(err)
		}
	})
}
