package etcdkv

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crabstore/crabstore/kv"
)

func keysBelow(t testing.TB, s *Store, part string) []string {
	t.Helper()
	r, err := s.client.Get(ctx, s.prefix+part, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, e := range r.Kvs {
		keys = append(keys, string(e.Key))
	}
	return keys
}

// A request, or its answer, is lost at any step: the commit is made all the same, and
// once.
func TestLostRequestsAndAnswers(t *testing.T) {
	for i, w := range transactions() {
		t.Run(w.name, func(t *testing.T) {
			if testing.Short() && i%2 == 1 {
				t.Skip("a long one")
			}
			steps := w.steps(t)
			for n := range steps {
				for _, late := range []bool{false, true} {
					at := w.prepare(t)
					s := openWith(t, at, lose(n, late))
					if err := w.run(s); err != nil {
						t.Fatalf("step %d of %d lost, late %v: %v", n, steps, late, err)
					}
					if got := content(t, s); !maps.Equal(got, w.after) {
						t.Fatalf("step %d of %d lost, late %v: there is %s, want %s", n, steps, late, brief(got), brief(w.after))
					}
				}
			}
		})
	}
}

// A counter is counted up while answers are lost: each Update that succeeds counts
// once.
func TestLostAnswersCountOnce(t *testing.T) {
	var made atomic.Int64
	s := openWith(t, place(t), func(ctx context.Context, _ request, send sender) (*answer, error) {
		switch made.Add(1) % 7 {
		case 0:
			return nil, errLost
		case 3:
			_, _ = send(ctx)
			return nil, errLost
		}
		return send(ctx)
	})
	put(t, s, "n", "0")
	const n = 60
	for range n {
		if err := s.Update(ctx, func(tx kv.KVStorage) error { return increment(ctx, tx, "n") }); err != nil {
			t.Fatal(err)
		}
	}
	if got := content(t, s)["n"]; got != "60" {
		t.Errorf("counted %s, want %d", got, n)
	}
}

// Delete tells what was there also when the answer that says so is lost.
func TestLostAnswerOfADelete(t *testing.T) {
	for _, there := range []bool{true, false} {
		at := place(t)
		s := openWith(t, at, nil)
		if there {
			put(t, s, "k", "v")
		}
		s.wire = lose(0, true)
		if existed, err := s.Delete(ctx, col, []byte("k")); err != nil || existed != there {
			t.Errorf("Delete of a key that is there: %v, tells %v, %v", there, existed, err)
		}
	}
}

// A write whose answer was lost, and which had not been carried out, is held up
// somewhere and arrives much later. It must not undo what was written since.
func TestLateRequestsDoNothing(t *testing.T) {
	for name, write := range map[string]func(s *Store) error{
		"Put":    func(s *Store) error { return s.Put(ctx, col, []byte("k"), []byte("late")) },
		"Delete": func(s *Store) error { _, err := s.Delete(ctx, col, []byte("k")); return err },
		"Update": func(s *Store) error {
			return s.Update(ctx, func(tx kv.KVStorage) error { return tx.Put(ctx, col, []byte("k"), []byte("late")) })
		},
	} {
		var held sender
		s := openWith(t, place(t), nil)
		put(t, s, "k", "first")
		s.wire = func(ctx context.Context, r request, send sender) (*answer, error) {
			if held == nil && len(r.compare) > 0 {
				held = send
				return nil, errLost
			}
			return send(ctx)
		}
		if err := write(s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		put(t, s, "k", "since")
		if a, err := held(ctx); err != nil || a.Succeeded {
			t.Errorf("%s: the late request succeeded: %v, %v", name, a, err)
		}
		if got := content(t, s)["k"]; got != "since" {
			t.Errorf("%s: a late request made it %q", name, got)
		}
	}
}

// When etcd cannot be asked any more the outcome is unknown, and said to be.
func TestUnknownOutcome(t *testing.T) {
	s := openWith(t, place(t), nil)
	put(t, s, "k", "v")
	s.timeout /= 50
	s.wire = func(context.Context, request, sender) (*answer, error) { return nil, errLost }
	if err := s.Put(ctx, col, []byte("k"), []byte("w")); !errors.Is(err, kv.ErrOutcomeUnknown) || !errors.Is(err, ErrUnavailable) {
		t.Errorf("Put: %v; want ErrOutcomeUnknown and ErrUnavailable", err)
	}
	if _, err := s.Get(ctx, col, []byte("k")); !errors.Is(err, ErrUnavailable) || errors.Is(err, kv.ErrOutcomeUnknown) {
		t.Errorf("Get: %v; want ErrUnavailable alone", err)
	}
}

// A write of unknown outcome is held up on its way. When etcd can be asked again and
// the caller has read that it is not there, it does not come any more.
func TestUnknownOutcomeIsDecidedByReading(t *testing.T) {
	for name, read := range map[string]func(s *Store) error{
		"Get":  func(s *Store) error { _, err := s.Get(ctx, col, []byte("k")); return err },
		"Put":  func(s *Store) error { return s.Put(ctx, col, []byte("k"), []byte("first")) },
		"View": func(s *Store) error { return s.View(ctx, func(kv.KVStorage) error { return nil }) },
		"Scan": func(s *Store) (err error) {
			for _, err = range s.Scan(ctx, col, nil) {
			}
			return err
		},
		"Update": func(s *Store) error { return s.Update(ctx, func(kv.KVStorage) error { return nil }) },
	} {
		s := openWith(t, place(t), nil)
		put(t, s, "k", "first")
		var held sender
		s.wire = func(_ context.Context, r request, send sender) (*answer, error) {
			if held == nil {
				held = send
			}
			return nil, errLost
		}
		patient := s.timeout
		s.timeout = 50 * time.Millisecond
		if err := s.Put(ctx, col, []byte("k"), []byte("late")); !errors.Is(err, kv.ErrOutcomeUnknown) {
			t.Fatalf("%s: %v; want ErrOutcomeUnknown", name, err)
		}
		s.wire, s.timeout = nil, patient
		if err := read(s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if a, err := held(ctx); err != nil || a.Succeeded {
			t.Errorf("%s: the late request succeeded: %v, %v", name, a, err)
		}
		if got := content(t, s)["k"]; got != "first" {
			t.Errorf("%s: there is %q", name, got)
		}
	}
}
