package textsearch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/textsearch"
)

// everyPart returns documents, and a store with an index of them that has a segment
// with long and short lists, documents that are gone, and a log.
func everyPart(tb testing.TB) (docs, kv.KVStorage) {
	tb.Helper()
	all, s := docs{}, memkv.New()
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		b, err := textsearch.NewBatch(ctx, tx, ix)
		for i := range 300 {
			if err == nil {
				key := fmt.Sprintf("k%03d", i)
				all[key] = fmt.Sprintf("deployed common w%d %s", i%50, strings.Repeat("often ", i%7))
				err = b.Put(ctx, key, all[key], 1)
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
	for _, key := range []string{"k007", "k123"} {
		drop(tb, s, key)
		delete(all, key)
	}
	for key, text := range (docs{"k050": "deploying again", "new": "common words", "newer": "often deployed"}) {
		put(tb, s, key, text)
		all[key] = text
	}
	return all, s
}

var damageQueries = []string{"deploy", "common", "w7", "w*", "often", "often common", "again new", `"often" w3`}

// answers is what some queries find; "" when one of them fails.
func answers(tb testing.TB, s kv.KVStorage) string {
	tb.Helper()
	var b strings.Builder
	for _, q := range damageQueries {
		r, err := textsearch.Search(ctx, s, ix, textsearch.Query{Text: q, Limit: -1})
		if errors.Is(err, kv.ErrCorrupt) || errors.Is(err, textsearch.ErrVersion) {
			return ""
		}
		if err != nil {
			tb.Fatalf("%s: %v", q, err)
		}
		fmt.Fprintln(&b, q, r)
	}
	return b.String()
}

// copyOf returns a store with the text column of another, and nothing in its cache.
func copyOf(tb testing.TB, s kv.KVStorage) kv.KVStorage {
	tb.Helper()
	c := memkv.New()
	for e, err := range s.Scan(ctx, kv.Text, nil) {
		if err == nil {
			err = c.Put(ctx, kv.Text, e.Key, e.Value)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return c
}

// Whatever is damaged, a search fails or is right or Check tells, nothing panics,
// and a rebuild makes all well again.
func TestDamage(t *testing.T) {
	all, whole := everyPart(t)
	wantFresh(t, whole, all)
	right := answers(t, whole)
	for e, err := range whole.Scan(ctx, kv.Text, nil) {
		if err != nil {
			t.Fatal(err)
		}
		damaged := [][]byte{nil, {}, append(append([]byte{}, e.Value...), 0), e.Value[:len(e.Value)/2]}
		step := max(1, len(e.Value)/12)
		for i := 0; i < len(e.Value); i += step {
			for _, flip := range []byte{1, 0x80} {
				v := append([]byte{}, e.Value...)
				v[i] ^= flip
				damaged = append(damaged, v)
			}
		}
		for i, value := range damaged {
			s := copyOf(t, whole)
			if value == nil {
				_, err = s.Delete(ctx, kv.Text, e.Key)
			} else {
				err = s.Put(ctx, kv.Text, e.Key, value)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := answers(t, s)
			r, err := textsearch.Check(ctx, s, ix, "", all.seq())
			if err != nil {
				t.Fatalf("%q, damage %d: check: %v", e.Key, i, err)
			}
			if got != "" && got != right && len(r.Faults) == 0 {
				t.Errorf("%q, damage %d: other answers, and no fault\n%s\n%s", e.Key, i, got, right)
			}
			if i < 2 {
				rebuild(t, s, all)
				wantFresh(t, s, all)
			}
		}
	}
}

// Check compares with content.
func TestCheckComparesWithContent(t *testing.T) {
	for fault, change := range map[string]func(d docs){
		"":                                  func(docs) {},
		`"new" is missi`:                    func(d docs) { d["new"] = "x" },
		`"a" is indexed, and there is none`: func(d docs) { delete(d, "a") },
		`"a" is indexed with other terms`:   func(d docs) { d["a"] = "apples deploys" },
	} {
		all := docs{"a": "apples deployed", "b": "apples twice twice"}
		s := indexed(t, all)
		change(all)
		r, err := textsearch.Check(ctx, s, ix, "", all.seq())
		if err != nil || r.Documents != 2 || r.Length != 5 || r.Postings != 4 {
			t.Errorf("%+v, %v", r, err)
		}
		if got := strings.Join(r.Faults, "; "); fault == "" && got != "" || !strings.Contains(got, fault) {
			t.Errorf("faults %q, want %q", got, fault)
		}
	}
}

// While an index is rebuilt, it is searched as it was, and what changes it changes
// both.
func TestRebuildOnline(t *testing.T) {
	all := docs{"a": "apples", "b": "bananas", "c": "cherries"}
	s := indexed(t, all)
	r, err := textsearch.BeginRebuild(ctx, s, ix)
	if err != nil {
		t.Fatal(err)
	}
	build := func(key string) {
		t.Helper()
		err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
			b, err := r.Batch(ctx, tx)
			if err == nil {
				err = b.Put(ctx, key, all[key], 1)
			}
			if err != nil {
				return err
			}
			return b.Flush(ctx)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	build("a")
	all["a"], all["d"] = "apples changed", "dates"
	put(t, s, "a", all["a"])
	put(t, s, "d", all["d"])
	drop(t, s, "c")
	delete(all, "c")
	wantKeys(t, s, "apples", "a")
	wantKeys(t, s, "bananas", "b")
	wantKeys(t, s, "cherries")
	build("b")
	build("d")
	if err := r.Finish(ctx, s); err != nil {
		t.Fatal(err)
	}
	wantFresh(t, s, all)
	if err := r.Finish(ctx, s); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("finishing twice: %v", err)
	}
	if _, err := r.Batch(ctx, s); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("a batch of a rebuild that is finished: %v", err)
	}
}

// A rebuild that was given up costs nothing but room, until another is finished.
func TestRebuildGivenUp(t *testing.T) {
	all := docs{"a": "apples", "b": "bananas"}
	s := indexed(t, all)
	if _, err := textsearch.BeginRebuild(ctx, s, ix); err != nil {
		t.Fatal(err)
	}
	put(t, s, "c", "cherries")
	all["c"] = "cherries"
	rebuild(t, s, all)
	wantFresh(t, s, all)
}

// An index of another version is one fault, and no search reads it.
func TestOtherVersion(t *testing.T) {
	s := indexed(t, docs{"a": "apples", "b": "bananas"})
	key := kv.Key(s, "idx", "text", ix, "stats")
	if err := kv.Store(ctx, s, kv.Text, key, map[string]any{"documents": 2, "length": 2, "language": "english"}); err != nil {
		t.Fatal(err)
	}
	if _, err := textsearch.Search(ctx, s, ix, textsearch.Query{Text: "apples"}); !errors.Is(err, textsearch.ErrVersion) {
		t.Errorf("search: %v", err)
	}
	if err := textsearch.Put(ctx, s, ix, "c", "cherries", 1); !errors.Is(err, textsearch.ErrVersion) {
		t.Errorf("put: %v", err)
	}
	r, err := textsearch.Check(ctx, s, ix, "", docs{"a": "apples", "b": "bananas"}.seq())
	if err != nil || len(r.Faults) != 1 || !strings.Contains(r.Faults[0], "another version") {
		t.Errorf("check: %+v, %v", r, err)
	}
	rebuild(t, s, docs{"a": "apples"})
	wantFresh(t, s, docs{"a": "apples"})
}
