package sessions_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
)

func TestEvents(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		h := mustCreate(t, s, sessions.Meta{CreatedAt: at(0)}).Handle
		stored := must[[]sessions.Event](t)(sessions.AppendEvents(ctx, s, h,
			sessions.Event{Seq: 50, Type: "run.started", At: at(5), Data: []byte(`{"run":"1"}`)}, sessions.Event{Type: "b"}))
		if stored[0].Seq != 1 || stored[1].Seq != 2 {
			t.Errorf("stored as %+v", stored)
		}
		must[[]sessions.Event](t)(sessions.AppendEvents(ctx, s, h, sessions.Event{Type: "c"}))
		want := []string{"run.started", "b", "c"}
		for after := range 4 {
			var got []string
			for i, e := range collect(t, sessions.Events(ctx, s, h, after)) {
				if got = append(got, e.Type); e.Seq != after+i+1 {
					t.Errorf("after %d: %s has sequence %d", after, e.Type, e.Seq)
				}
			}
			wantEqual(t, fmt.Sprint("after ", after), got, want[after:])
		}
		first := collect(t, sessions.Events(ctx, s, h, 0))[0]
		if string(first.Data) != `{"run":"1"}` || !first.At.Equal(at(5)) {
			t.Errorf("first event: %+v", first)
		}
		_, err := sessions.AppendEvents(ctx, s, h, sessions.Event{Type: "d"}, sessions.Event{})
		wantError(t, "an event without a type", err, sessions.ErrInvalid)
		if m := must[sessions.Meta](t)(sessions.Load(ctx, s, h)); m.LastSeq != 3 || m.Revision != 3 {
			t.Errorf("meta: %+v", m)
		}
		wantSound(t, s)
	})
}

func TestD05_ASequenceAheadIsAnsweredWithAnError(t *testing.T) {
	ctx, s := t.Context(), memkv.New()
	h := mustCreate(t, s, sessions.Meta{}).Handle
	for range 7 {
		must[[]sessions.Event](t)(sessions.AppendEvents(ctx, s, h, sessions.Event{Type: "e"}))
	}
	if n := len(collect(t, sessions.Events(ctx, s, h, 7))); n != 0 {
		t.Errorf("%d events after the last", n)
	}
	for _, after := range []int{8, 999, -1} {
		n := 0
		for _, err := range sessions.Events(ctx, s, h, after) {
			n++
			wantError(t, fmt.Sprint("after ", after), err, sessions.ErrSeqAhead)
		}
		if n != 1 {
			t.Errorf("after %d: %d results", after, n)
		}
	}
}

// Truncating takes messages and leaves the log: no number names another event.
func TestD05_SequencesGoOnAfterTruncation(t *testing.T) {
	ctx, s := t.Context(), memkv.New()
	h := mustCreate(t, s, sessions.Meta{}).Handle
	mustAppend(t, s, h, user("a"))
	must[[]sessions.Event](t)(sessions.AppendEvents(ctx, s, h, sessions.Event{Type: "one"}))
	must[sessions.Meta](t)(sessions.Truncate(ctx, s, h, 0))
	stored := must[[]sessions.Event](t)(sessions.AppendEvents(ctx, s, h, sessions.Event{Type: "two"}))
	if stored[0].Seq != 2 || len(collect(t, sessions.Events(ctx, s, h, 0))) != 2 {
		t.Errorf("stored %+v", stored)
	}
}

func TestConcurrentEventsHaveNoGaps(t *testing.T) {
	ctx, s := t.Context(), memkv.New()
	h := mustCreate(t, s, sessions.Meta{}).Handle
	var seen sync.Map
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				stored, err := sessions.AppendEvents(ctx, s, h, sessions.Event{Type: "a"}, sessions.Event{Type: "b"})
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range stored {
					if other, twice := seen.LoadOrStore(e.Seq, e.Type); twice {
						t.Errorf("sequence %d was given twice: %v, %v", e.Seq, other, e.Type)
					}
				}
			}
		})
	}
	wg.Wait()
	for i, e := range collect(t, sessions.Events(ctx, s, h, 0)) {
		if e.Seq != i+1 {
			t.Fatalf("event %d has sequence %d", i+1, e.Seq)
		}
	}
	wantSound(t, s)
}
