package literal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest/brittle"
	"github.com/crabstore/crabstore/kv/memkv"
)

func mustDrop(tb testing.TB, s kv.KVStorage, key string) {
	tb.Helper()
	if existed, err := Drop(ctx, s, ix, key); err != nil || !existed {
		tb.Fatalf("drop %q: %t, %v", key, existed, err)
	}
}

// putMany puts n texts in one transaction, and into all.
func putMany(tb testing.TB, s kv.KVStorage, all docs, n int, make func(i int) (key, text string)) {
	tb.Helper()
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		b, err := NewBatch(ctx, tx, ix)
		for i := range n {
			key, text := make(i)
			all[key] = text
			if err == nil {
				err = tx.Put(ctx, kv.Archive, contentKey(tx, key), []byte(text))
			}
			if err == nil {
				err = b.Put(ctx, key, text)
			}
		}
		if err != nil {
			return err
		}
		return b.Flush(ctx)
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// rebuild makes the index anew from d.
func rebuild(tb testing.TB, s kv.KVStorage, d docs) {
	tb.Helper()
	r, err := BeginRebuild(ctx, s, ix)
	if err == nil {
		err = rebuildSome(s, r, d)
	}
	if err == nil {
		err = r.Finish(ctx, s)
	}
	if err != nil {
		tb.Fatalf("rebuild: %v", err)
	}
}

func rebuildSome(s kv.KVStorage, r *Rebuild, d docs) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		b, err := r.Batch(ctx, tx)
		for key, text := range d {
			if err == nil {
				err = b.Put(ctx, key, text)
			}
		}
		if err != nil {
			return err
		}
		return b.Flush(ctx)
	})
}

// TestChangesAreTheModel puts, replaces and drops texts, one by one and many at once,
// and compares what is found with a look at all texts.
func TestChangesAreTheModel(t *testing.T) {
	rng := random(t)
	rounds, steps := 4, 60
	if testing.Short() {
		rounds, steps = 2, 25
	}
	for range rounds {
		all, s := docs{}, kv.KVStorage(memkv.New())
		for step := range steps {
			all.change(t, s, rng)
			if step == steps/2 {
				if err := Optimize(ctx, s, ix); err != nil {
					t.Fatal(err)
				}
			}
			all.compare(t, s, rng)
			if t.Failed() {
				t.FailNow()
			}
		}
		all.wantSound(t, s)
	}
}

func (d docs) change(t *testing.T, s kv.KVStorage, rng *rand.Rand) {
	t.Helper()
	key := func() string { return fmt.Sprintf("h%d/%03d", rng.IntN(4), rng.IntN(300)) }
	switch rng.IntN(8) {
	case 0:
		putMany(t, s, d, 300+rng.IntN(300), func(int) (string, string) { return key(), randomText(rng, rng.IntN(40)) })
	case 1:
		prefix := fmt.Sprintf("h%d/%d", rng.IntN(4), rng.IntN(3))
		want := 0
		for k := range d {
			if strings.HasPrefix(k, prefix) {
				delete(d, k)
				want++
			}
		}
		if n, err := DropPrefix(ctx, s, ix, prefix); n != want || err != nil {
			t.Fatalf("DropPrefix(%q): %d, %v, want %d", prefix, n, err, want)
		}
	default:
		for range rng.IntN(20) {
			k := key()
			if _, there := d[k]; there && rng.IntN(3) == 0 {
				mustDrop(t, s, k)
				delete(d, k)
				continue
			}
			d[k] = randomText(rng, rng.IntN(40))
			mustPut(t, s, k, d[k])
		}
	}
}

func (d docs) compare(t *testing.T, s kv.KVStorage, rng *rand.Rand) {
	t.Helper()
	keys := make([]string, 0, len(d))
	for key := range d {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for range 4 {
		needle := randomText(rng, 1+rng.IntN(4))
		if len(keys) > 0 {
			needle = randomNeedle(rng, d[keys[rng.IntN(len(keys))]])
		}
		d.wantFound(t, s, needle, []string{"", "", "h1/", "h2/1", "x"}[rng.IntN(5)])
	}
}

// TestC22_FailuresAtEachCall stores and indexes five messages with a failure at each
// call of the store. Afterwards a search works, finding nothing that is not there, a
// second run finds everything once, and a rebuild leaves nothing over.
func TestC22_FailuresAtEachCall(t *testing.T) {
	before := docs{"m1": "the first message", "m2": "old text that goes", "m9": "stays"}
	after := docs{"m1": "the first message", "m2": "new text", "m3": "deployed twice", "m4": "", "m5": "text again", "m9": "stays"}
	setup := func(s kv.KVStorage) error { return putAll(s, before) }
	run := func(s kv.KVStorage) error { return putAll(s, after) }
	brittle.Each(t, setup, run, func(t *testing.T, s kv.KVStorage) {
		for _, h := range mustSearch(t, s, Query{Text: "text"}).Hits {
			if !strings.Contains(before[h.Key]+after[h.Key], "text") {
				t.Errorf("%q is found, and is %q", h.Key, after[h.Key])
			}
		}
		for range 2 {
			if err := run(s); err != nil {
				t.Fatal(err)
			}
			for _, needle := range []string{"text", "old text", "st", "message", "deployed"} {
				after.wantFound(t, s, needle, "")
			}
		}
		rebuild(t, s, after)
		after.wantSound(t, s)
		after.wantFound(t, s, "text", "")
	})
}

func TestC22_FailuresWhileDropping(t *testing.T) {
	all := docs{"a/1": "first deployed", "a/2": "second deployed", "b/1": "third deployed"}
	setup := func(s kv.KVStorage) error { return putAll(s, all) }
	run := func(s kv.KVStorage) error {
		_, err := DropPrefix(ctx, s, ix, "a/")
		return err
	}
	left := docs{"b/1": all["b/1"]}
	brittle.Each(t, setup, run, func(t *testing.T, s kv.KVStorage) {
		mustSearch(t, s, Query{Text: "deployed"})
		if err := run(s); err != nil {
			t.Fatal(err)
		}
		left.wantFound(t, s, "deployed", "")
		rebuild(t, s, left)
		left.wantSound(t, s)
	})
}

func putAll(s kv.KVStorage, d docs) error {
	for _, key := range []string{"a/1", "a/2", "b/1", "m1", "m2", "m3", "m4", "m5", "m9"} {
		if text, ok := d[key]; ok {
			if err := put(s, key, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// While an index is rebuilt, it is searched as it was, and what changes it changes
// both.
func TestRebuildOnline(t *testing.T) {
	all := docs{"a": "apples", "b": "bananas", "c": "cherries"}
	s := indexed(t, all)
	r, err := BeginRebuild(ctx, s, ix)
	if err != nil {
		t.Fatal(err)
	}
	if err := rebuildSome(s, r, docs{"a": "apples"}); err != nil {
		t.Fatal(err)
	}
	all["a"], all["d"] = "apples changed", "dates"
	mustPut(t, s, "a", all["a"])
	mustPut(t, s, "d", all["d"])
	mustDrop(t, s, "c")
	delete(all, "c")
	for _, needle := range []string{"apples", "bananas", "cherries", "dates"} {
		all.wantFound(t, s, needle, "")
	}
	if err := rebuildSome(s, r, all); err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(ctx, s); err != nil {
		t.Fatal(err)
	}
	all.wantSound(t, s)
	all.wantFound(t, s, "apples", "")
	if err := r.Finish(ctx, s); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("finishing twice: %v", err)
	}
}

// A rebuild that another has ended does not finish what is half done.
func TestRebuildIsEndedByAnother(t *testing.T) {
	all := docs{"a": "apples", "b": "bananas"}
	s := indexed(t, all)
	first, err := BeginRebuild(ctx, s, ix)
	if err != nil {
		t.Fatal(err)
	}
	second, err := BeginRebuild(ctx, s, ix)
	if err != nil {
		t.Fatal(err)
	}
	if err := rebuildSome(s, first, docs{"a": "apples"}); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("going on: %v", err)
	}
	if err := first.Finish(ctx, s); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("finishing: %v", err)
	}
	if err := rebuildSome(s, second, all); err != nil {
		t.Fatal(err)
	}
	if err := second.Finish(ctx, s); err != nil {
		t.Fatal(err)
	}
	all.wantSound(t, s)
	if err := Clear(ctx, s, ix); err != nil {
		t.Fatal(err)
	}
	docs{}.wantSound(t, s)
	docs{}.wantFound(t, s, "apples", "")
}

func TestKeys(t *testing.T) {
	s := memkv.New()
	room := kv.MaxKeySize - len("local/idx/tri/test/18446744073709551615/key/")
	for _, key := range []string{strings.Repeat("k", room), strings.Repeat("/", room/3), "a\x00b", "\xff\xfe", "%2F", " "} {
		if err := Put(ctx, s, ix, key, "text"); err != nil {
			t.Errorf("%.20q: %v", key, err)
		}
		mustDrop(t, s, key)
	}
	for _, key := range []string{"", strings.Repeat("k", room+1), strings.Repeat("/", room/3+1)} {
		if err := Put(ctx, s, ix, key, "text"); !errors.Is(err, ErrKey) {
			t.Errorf("a key of %d bytes: %v", len(key), err)
		}
		if existed, err := Drop(ctx, s, ix, key); existed || err != nil {
			t.Errorf("dropping a key of %d bytes: %t, %v", len(key), existed, err)
		}
	}
}

// On a file an index is the same before and after a reopen and a compaction.
func TestOnAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.crmem")
	all := docs{}
	s := openStore(t, path)
	putMany(t, s, all, 600, func(i int) (string, string) { return fmt.Sprintf("k%03d", i), fmt.Sprintf("message %d of many", i) })
	for i := range 30 {
		key := fmt.Sprintf("k%03d", 20*i)
		all[key] = "another message"
		mustPut(t, s, key, all[key])
	}
	for range 2 {
		for _, needle := range []string{"sage 17", "another", "99 of", "7"} {
			all.wantFound(t, s, needle, "")
		}
		all.wantSound(t, s)
		if err := Optimize(ctx, s, ix); err != nil {
			t.Fatal(err)
		}
		if err := s.Compact(ctx); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, path)
	}
}
