package literal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// everyPart returns texts, and a store with an index of them that has a segment with
// long and short lists, texts that are gone, and a log.
func everyPart(tb testing.TB) (docs, kv.KVStorage) {
	tb.Helper()
	all, s := docs{}, memkv.New()
	putMany(tb, s, all, 400, func(i int) (string, string) {
		return fmt.Sprintf("k%03d", i), fmt.Sprintf("common %d", i*7919%1000) + strings.Repeat(" often", i%3)
	})
	for _, key := range []string{"k007", "k123"} {
		mustDrop(tb, s, key)
		delete(all, key)
	}
	for key, text := range (docs{"k050": "another", "new": "commoner", "newer": "often"}) {
		mustPut(tb, s, key, text)
		all[key] = text
	}
	return all, s
}

// answers is what some searches find; "" when one of them fails.
func answers(s kv.KVStorage) string {
	var b strings.Builder
	for _, needle := range []string{"common", "often", "mon 7", "other", "n 99", "7"} {
		r, err := Search(ctx, s, ix, Query{Text: needle, Limit: -1}, stored)
		if err != nil {
			return ""
		}
		fmt.Fprintln(&b, needle, keysOf(r.Hits))
	}
	return b.String()
}

// copyOf returns a store with the archive of another, and nothing in its cache.
func copyOf(tb testing.TB, s kv.KVStorage) kv.KVStorage {
	tb.Helper()
	c := memkv.New()
	for e, err := range s.Scan(ctx, kv.Archive, nil) {
		if err == nil {
			err = c.Put(ctx, kv.Archive, e.Key, e.Value)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return c
}

// Whatever is damaged, a search fails or is right or Check tells, nothing panics, and
// a rebuild makes all well again.
func TestDamage(t *testing.T) {
	all, whole := everyPart(t)
	all.wantSound(t, whole)
	right := answers(whole)
	pieces := 24
	if testing.Short() {
		pieces = 5
	}
	for e, err := range whole.Scan(ctx, kv.Archive, kv.Prefix(whole, "idx")) {
		if err != nil {
			t.Fatal(err)
		}
		for i, value := range damaged(e.Value, pieces) {
			s := copyOf(t, whole)
			if value == nil {
				_, err = s.Delete(ctx, kv.Archive, e.Key)
			} else {
				err = s.Put(ctx, kv.Archive, e.Key, value)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := answers(s)
			r, err := Check(ctx, s, ix, "", all.seq())
			if err != nil {
				t.Fatalf("%q, damage %d: check: %v", e.Key, i, err)
			}
			if got != "" && got != right && len(r.Faults) == 0 {
				t.Errorf("%q, damage %d: other answers, and no fault: %.200q, not %.200q", e.Key, i, got, right)
			}
			if i < 2 {
				rebuild(t, s, all)
				all.wantSound(t, s)
				if got := answers(s); got != right {
					t.Errorf("%q, damage %d: other answers after a rebuild", e.Key, i)
				}
			}
		}
	}
}

// damaged returns what may become of a value; nil is that it is gone.
func damaged(value []byte, pieces int) [][]byte {
	all := [][]byte{nil, {}, append(append([]byte{}, value...), 0), value[:len(value)/2]}
	for i := 0; i < len(value); i += max(1, len(value)/pieces) {
		for _, flip := range []byte{1, 0x80, 0xff} {
			v := append([]byte{}, value...)
			v[i] ^= flip
			all = append(all, v)
		}
	}
	return all
}

// Check compares with the texts.
func TestCheckComparesWithContent(t *testing.T) {
	for fault, change := range map[string]func(d docs){
		"":                                  func(docs) {},
		`"new" is missing`:                  func(d docs) { d["new"] = "text" },
		`"a" is indexed, and there is none`: func(d docs) { delete(d, "a") },
		`"a" is indexed with other terms`:   func(d docs) { d["a"] = "apples!" },
	} {
		all := docs{"a": "apples", "b": "aaaa"}
		s := indexed(t, all)
		change(all)
		r, err := Check(ctx, s, ix, "", all.seq())
		if err != nil || r.Documents != 2 || r.Postings != 5 { // app ppl ple les, aaa
			t.Errorf("%+v, %v", r, err)
		}
		if got := strings.Join(r.Faults, "; "); fault == "" && got != "" || !strings.Contains(got, fault) {
			t.Errorf("faults %q, want %q", got, fault)
		}
	}
}
