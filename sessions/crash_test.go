package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
)

var errBroken = errors.New("the store broke")

// breaking is a store that answers so many calls, and then none.
type breaking struct {
	s    kv.KVStorage
	left *int
}

func (b breaking) call() error {
	if *b.left--; *b.left < 0 {
		return errBroken
	}
	return nil
}

func (b breaking) Get(ctx context.Context, col kv.Column, key []byte) ([]byte, error) {
	if err := b.call(); err != nil {
		return nil, err
	}
	return b.s.Get(ctx, col, key)
}

func (b breaking) Put(ctx context.Context, col kv.Column, key, value []byte) error {
	if err := b.call(); err != nil {
		return err
	}
	return b.s.Put(ctx, col, key, value)
}

func (b breaking) Delete(ctx context.Context, col kv.Column, key []byte) (bool, error) {
	if err := b.call(); err != nil {
		return false, err
	}
	return b.s.Delete(ctx, col, key)
}

func (b breaking) ScanKeys(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[[]byte, error] {
	return kv.KeysOf(b.Scan(ctx, col, prefix))
}

func (b breaking) Scan(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	if err := b.call(); err != nil {
		return kv.Fail(err)
	}
	return b.s.Scan(ctx, col, prefix)
}

// breakingAtomic is one with transactions, whose calls count.
type breakingAtomic struct{ breaking }

func (b breakingAtomic) Update(ctx context.Context, fn func(kv.KVStorage) error) error {
	return kv.Update(ctx, b.s, func(tx kv.KVStorage) error { return fn(breakingAtomic{breaking{tx, b.left}}) })
}

func (b breakingAtomic) View(ctx context.Context, fn func(kv.KVStorage) error) error {
	return kv.View(ctx, b.s, func(tx kv.KVStorage) error { return fn(breakingAtomic{breaking{tx, b.left}}) })
}

// writes are every kind of change, each to a store that small made.
var writes = map[string]func(ctx context.Context, s kv.KVStorage) error{
	"create": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.Create(ctx, s, sessions.Meta{Handle: "new", Agent: "x", Title: "new title", CreatedAt: at(2)})
		return err
	},
	"append": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.Append(ctx, s, "a", user("five new words for everyone"), assistant("yes", "d"), result("d", "r"))
		return err
	},
	"amend": func(ctx context.Context, s kv.KVStorage) error {
		m := user("altogether different words")
		m.Index = 0
		_, err := sessions.Amend(ctx, s, "a", m)
		return err
	},
	"update": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.UpdateMeta(ctx, s, "a", func(m *sessions.Meta) error {
			m.Agent, m.Title, m.Summary = "renamed", "another heading", ""
			return nil
		})
		return err
	},
	"events": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.AppendEvents(ctx, s, "a", sessions.Event{Type: "4"}, sessions.Event{Type: "5"})
		return err
	},
	"state": func(ctx context.Context, s kv.KVStorage) error {
		return sessions.SetState(ctx, s, "a", []byte("state"))
	},
	"compact": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.Compact(ctx, s, "a", sessions.Compaction{Summary: "the story again", Keep: 1})
		return err
	},
	"truncate": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.Truncate(ctx, s, "a", 1)
		return err
	},
	"delete": func(ctx context.Context, s kv.KVStorage) error { return sessions.Delete(ctx, s, "a") },
	"delete by agent": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.DeleteByAgent(ctx, s, "ag")
		return err
	},
	"reindex": func(ctx context.Context, s kv.KVStorage) error { _, err := sessions.Reindex(ctx, s, "a"); return err },
	"batch": func(ctx context.Context, s kv.KVStorage) error {
		return sessions.Update(ctx, s, func(b *sessions.Batch) error {
			if _, err := b.Append(ctx, "a", user("one of many")); err != nil {
				return err
			}
			if _, err := b.Create(ctx, sessions.Meta{Handle: "new", Title: "of many"}); err != nil {
				return err
			}
			if _, err := b.Append(ctx, "new", user("another of many"), user("and more")); err != nil {
				return err
			}
			if _, err := b.Truncate(ctx, "b", 1); err != nil {
				return err
			}
			_, err := b.Append(ctx, "b", user("the last of many"))
			return err
		})
	},
}

// TestC22_FailureAtEachCall on a store with transactions: all or nothing.
func TestC22_FailureAtEachCallOfATransactionWritesNothing(t *testing.T) {
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				s, left := small(t), n
				before := dump(t, s)
				err := write(t.Context(), breakingAtomic{breaking{s, &left}})
				if err == nil {
					wantSound(t, s)
					if n < 3 {
						t.Errorf("done after %d calls", n)
					}
					return
				}
				wantError(t, fmt.Sprint("failure at call ", n), err, errBroken)
				if name == "delete by agent" { // one commit for each session
					wantSound(t, s)
					continue
				}
				if !slices.Equal(dump(t, s), before) {
					t.Fatalf("failure at call %d wrote something", n)
				}
			}
		})
	}
}

// On a store without transactions a failure leaves content that nothing reaches,
// never an index entry that points at nothing; what is wrong then, Reindex repairs,
// and the change can be made again.
func TestC22_FailureAtEachCallOfAPlainStore(t *testing.T) {
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				s, left := small(t), n
				p := plain{s}
				err := write(t.Context(), breaking{s, &left})
				wantNothingDangling(t, s, fmt.Sprint("after call ", n))
				if err == nil {
					wantSound(t, s)
					return
				}
				wantError(t, fmt.Sprint("failure at call ", n), err, errBroken)
				if err := write(t.Context(), p); err != nil && !errors.Is(err, kv.ErrNotFound) && !errors.Is(err, sessions.ErrExists) {
					t.Fatalf("again after call %d: %v", n, err)
				}
				if _, err := sessions.Reindex(t.Context(), p, ""); err != nil {
					t.Fatal(err)
				}
				wantSound(t, s)
				if t.Failed() {
					t.Fatalf("after a failure at call %d", n)
				}
			}
		})
	}
}

func wantNothingDangling(t *testing.T, s kv.KVStorage, when string) {
	t.Helper()
	ctx := t.Context()
	for _, key := range collect(t, s.ScanKeys(ctx, kv.Text, kv.Prefix(s, "idx", "text", "sess", "doc"))) {
		_, parts, err := kv.Split(key)
		if err != nil {
			t.Fatal(err)
		}
		doc := must[[]string](t)(kv.SplitParts(parts[len(parts)-1]))
		if doc[1] == "msg" {
			var index int
			fmt.Sscanf(doc[2], "%d", &index)
			_, err = sessions.Get(ctx, s, doc[0], index)
		} else {
			_, err = sessions.Load(ctx, s, doc[0])
		}
		if err != nil {
			t.Errorf("%s: the text index has %v, and there is: %v", when, doc, err)
		}
	}
	for _, e := range collect(t, s.Scan(ctx, kv.Session, kv.Prefix(s, "idx", "sess"))) {
		if _, err := sessions.Load(ctx, s, string(e.Value)); err != nil {
			t.Errorf("%s: the list has %s, and there is: %v", when, e.Key, err)
		}
	}
}

// What an interrupted append left of a session is neither seen nor in the way.
func TestLeftoversOfAnInterruptedAppend(t *testing.T) {
	ctx := t.Context()
	s := plain{memkv.New()}
	h := mustCreate(t, s, sessions.Meta{}).Handle
	mustAppend(t, s, h, user("a"))
	left := 8
	_, err := sessions.Append(ctx, breaking{s, &left}, h, user("lost 1"), user("lost 2"), user("lost 3"))
	wantError(t, "the append", err, errBroken)
	stray := collect(t, s.ScanKeys(ctx, kv.Session, kv.Prefix(s, "session", h, "msg")))
	if len(stray) < 2 {
		t.Fatalf("the append left nothing: %s", stray)
	}
	wantEqual(t, "messages", texts(t, s, h, sessions.Range{}), []string{"a"})
	wantEqual(t, "backwards", texts(t, s, h, sessions.Range{Reverse: true}), []string{"a"})
	_, err = sessions.Get(ctx, s, h, 1)
	wantError(t, "getting what was left", err, kv.ErrNotFound)
	mustAppend(t, s, h, user("b"))
	wantEqual(t, "messages", texts(t, s, h, sessions.Range{}), []string{"a", "b"})
	wantSound(t, s)
	if err := sessions.Delete(ctx, s, h); err != nil {
		t.Fatal(err)
	}
	wantEmpty(t, s)
	if strings.Contains(fmt.Sprint(dump(t, s)), "lost") {
		t.Error("something is left")
	}
}

// Nor is what an interrupted commit left of a session that never was.
func TestLeftoversOfASessionThatNeverWas(t *testing.T) {
	ctx := t.Context()
	s := plain{memkv.New()}
	for _, key := range [][]byte{kv.Key(s, "session", "h", "state"), kv.Key(s, "session", "h", "msg", "000000000000")} {
		if err := s.Put(ctx, kv.Session, key, []byte("left")); err != nil {
			t.Fatal(err)
		}
	}
	_, err := sessions.Load(ctx, s, "h")
	wantError(t, "load", err, kv.ErrNotFound)
	wantSound(t, s)
	mustCreate(t, s, sessions.Meta{Handle: "h"})
	_, err = sessions.State(ctx, s, "h")
	wantError(t, "state", err, kv.ErrNotFound)
	wantEqual(t, "messages", texts(t, s, "h", sessions.Range{}), nil)
}

// Searching and reading pass on the error of a broken store, and panic at none.
func TestReadsPassOnErrors(t *testing.T) {
	ctx := t.Context()
	for name, read := range map[string]func(s kv.KVStorage) error{
		"search": func(s kv.KVStorage) error {
			_, err := sessions.Search(ctx, s, sessions.Query{Text: "question title"})
			return err
		},
		"list":    func(s kv.KVStorage) error { _, err := sessions.List(ctx, s, sessions.Filter{}); return err },
		"context": func(s kv.KVStorage) error { _, err := sessions.LoadContext(ctx, s, "a"); return err },
		"check":   func(s kv.KVStorage) error { _, err := sessions.Check(ctx, s, ""); return err },
		"state":   func(s kv.KVStorage) error { _, err := sessions.State(ctx, s, "a"); return err },
		"export": func(s kv.KVStorage) (last error) {
			for _, err := range sessions.Export(ctx, s, "a") {
				last = err
			}
			return last
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := small(t)
			if err := sessions.SetState(ctx, s, "a", []byte("x")); err != nil {
				t.Fatal(err)
			}
			for n := 0; ; n++ {
				left := n
				err := read(breaking{s, &left})
				if err == nil {
					if n == 0 {
						t.Error("no call was made")
					}
					return
				}
				wantError(t, fmt.Sprint("failure at call ", n), err, errBroken)
			}
		})
	}
}
