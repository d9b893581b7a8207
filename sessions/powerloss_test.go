package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv/crashtest"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/memory"
	"github.com/crabstore/crabstore/sessions"
)

// Whatever change of a session a crash interrupts, afterwards the indexes are those of
// the sessions that are there.
func TestC22_CrashBeforeEachCall(t *testing.T) {
	crashtest.EachCall(t, &crashing,
		"create", "append", "create", "append", "checkpoint", "append many", "truncate", "update", "compact a session", "amend",
		"reindex", "append", "compact", "reindex all", "kill", "delete", "lose power", "append", "optimize", "sync", "reindex all", "reopen", "delete")
}

func TestC22_CrashRandom(t *testing.T) { crashtest.Random(t, 800, &crashing) }

var crashing = crashtest.Subject{
	Steps: []crashtest.Step{
		{Name: "create", Often: 4, Do: func(s kv.KVStorage, rng *rand.Rand) error {
			m := sessions.Meta{Handle: randomHandle(rng), Agent: "x", Title: randomSpeech(rng), CreatedAt: at(rng.IntN(60))}
			_, err := sessions.Create(context.Background(), s, m)
			return unless(err, sessions.ErrExists)
		}},
		onSession("append", 8, func(ctx context.Context, s kv.KVStorage, h string, rng *rand.Rand) error {
			_, err := sessions.Append(ctx, s, h, randomMessages(rng, 1+rng.IntN(5))...)
			return err
		}),
		onSession("append many", 2, func(ctx context.Context, s kv.KVStorage, h string, rng *rand.Rand) error {
			_, err := sessions.Append(ctx, s, h, randomMessages(rng, 250+rng.IntN(50))...)
			return err
		}),
		onSession("amend", 2, func(ctx context.Context, s kv.KVStorage, h string, rng *rand.Rand) error {
			m := user(randomSpeech(rng))
			m.Index = rng.IntN(10)
			_, err := sessions.Amend(ctx, s, h, m)
			return err
		}),
		onSession("truncate", 2, func(ctx context.Context, s kv.KVStorage, h string, rng *rand.Rand) error {
			_, err := sessions.Truncate(ctx, s, h, rng.IntN(1<<rng.IntN(10)))
			return err
		}),
		onSession("update", 2, func(ctx context.Context, s kv.KVStorage, h string, rng *rand.Rand) error {
			_, err := sessions.UpdateMeta(ctx, s, h, func(m *sessions.Meta) error {
				m.Title = randomSpeech(rng)
				return nil
			})
			return err
		}),
		onSession("compact a session", 2, func(ctx context.Context, s kv.KVStorage, h string, rng *rand.Rand) error {
			_, err := sessions.Compact(ctx, s, h, sessions.Compaction{Summary: randomSpeech(rng), Keep: rng.IntN(5)})
			return err
		}),
		onSession("delete", 1, func(ctx context.Context, s kv.KVStorage, h string, _ *rand.Rand) error {
			return sessions.Delete(ctx, s, h)
		}),
		onSession("reindex", 1, func(ctx context.Context, s kv.KVStorage, h string, _ *rand.Rand) error {
			return sessions.Reindex(ctx, s, h)
		}),
		{Name: "reindex all", Often: 1, Do: func(s kv.KVStorage, _ *rand.Rand) error { return reindexAll(s) }},
		{Name: "optimize", Often: 1, Do: func(s kv.KVStorage, _ *rand.Rand) error {
			return sessions.Optimize(context.Background(), s)
		}},
	},
	Sound:  soundSessions,
	Bear:   bearSessions,
	Repair: reindexAll,
}

// onSession is a change of a session that may be absent.
func onSession(name string, often int, do func(context.Context, kv.KVStorage, string, *rand.Rand) error) crashtest.Step {
	return crashtest.Step{Name: name, Often: often, Do: func(s kv.KVStorage, rng *rand.Rand) error {
		return unless(do(context.Background(), s, randomHandle(rng), rng), kv.ErrNotFound)
	}}
}

func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func randomHandle(rng *rand.Rand) string { return []string{"a", "a/b", "b"}[rng.IntN(3)] }

func randomSpeech(rng *rand.Rand) string {
	words := make([]string, 1+rng.IntN(6))
	for i := range words {
		words[i] = fmt.Sprint([]string{"deploy", "index", "crash"}[rng.IntN(3)], []string{"", "s", "ed"}[rng.IntN(3)], min(rng.IntN(20), rng.IntN(20)))
	}
	return strings.Join(words, " ")
}

func randomMessages(rng *rand.Rand, n int) (list []sessions.Message) {
	for range n {
		m := user(randomSpeech(rng))
		m.At = at(rng.IntN(60)) // not that of the clock, so that a history happens again as it was
		if rng.IntN(2) == 0 {
			m.Role = sessions.Assistant
		}
		list = append(list, m)
	}
	return list
}

// reindexing is there while ReindexAll has still to delete what it replaced, which it
// does in transactions of their own.
const reindexing = "reindexing"

func reindexAll(s kv.KVStorage) error {
	ctx := context.Background()
	mark := kv.Key(s, reindexing)
	if err := s.Put(ctx, kv.Harness, mark, nil); err != nil {
		return err
	}
	if _, err := sessions.ReindexAll(ctx, s, nil); err != nil {
		return err
	}
	if err := memory.Reindex(ctx, s); err != nil {
		return err
	}
	_, err := s.Delete(ctx, kv.Harness, mark)
	return err
}

// soundSessions compares with a store that has the same content and all that is derived
// anew.
func soundSessions(s kv.KVStorage, rng *rand.Rand) error {
	ctx := context.Background()
	litter, err := kv.Has(ctx, s, kv.Harness, kv.Key(s, reindexing))
	if err != nil {
		return err
	}
	faults, err := sessions.Check(ctx, s, "")
	if err != nil {
		return err
	}
	for _, f := range faults {
		if !litter || !strings.HasSuffix(f.What, "values that nothing leads to") {
			return errors.New(f.String())
		}
	}
	fresh := memkv.New()
	for _, col := range kv.Columns() {
		for e, err := range s.Scan(ctx, col, nil) {
			if err == nil && col != kv.Text {
				err = fresh.Put(ctx, col, e.Key, e.Value)
			}
			if err != nil {
				return err
			}
		}
	}
	if err := reindexAll(fresh); err != nil {
		return err
	}
	for range 3 {
		q := sessions.Query{Text: randomSpeech(rng), Limit: 1 + rng.IntN(3)}
		if rng.IntN(3) == 0 {
			q.Text = q.Text[:4] + "* " + q.Text
		}
		got, err := sessions.Search(ctx, s, q)
		if err != nil {
			return err
		}
		want, err := sessions.Search(ctx, fresh, q)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("%q finds\n%.1500s\nand with fresh indexes\n%.1500s", q.Text, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
		}
	}
	return nil
}

// bearSessions searches and lists as a crash left things: what is found can be read.
func bearSessions(s kv.KVStorage, rng *rand.Rand) error {
	ctx := context.Background()
	found, err := sessions.Search(ctx, s, sessions.Query{Text: randomSpeech(rng)})
	if err := unless(err, kv.ErrCorrupt); err != nil {
		return err
	}
	for _, h := range found.Hits {
		if _, err := sessions.Load(ctx, s, h.Session.Handle); err != nil {
			return fmt.Errorf("found %q: %w", h.Session.Handle, err)
		}
		if h.Best >= 0 {
			if _, err := sessions.Get(ctx, s, h.Session.Handle, h.Best); err != nil {
				return fmt.Errorf("found message %d of %q: %w", h.Best, h.Session.Handle, err)
			}
		}
	}
	page, err := sessions.List(ctx, s, sessions.Filter{})
	if err != nil {
		return err
	}
	for _, m := range page.Sessions {
		for _, err := range sessions.Messages(ctx, s, m.Handle, sessions.Range{}) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}
