package textsearch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest/brittle"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/textsearch"
)

func TestC03_ReindexForgetsOldWords(t *testing.T) {
	s := memkv.New()
	text := []byte("Vienna waits")
	put(t, s, "other", "Lisbon and Vienna")
	put(t, s, "doc1", string(text))
	copy(text, "Xxxxxx xxxxx") // the caller's buffer is the caller's
	wantKeys(t, s, "vienna", "doc1", "other")
	put(t, s, "doc1", "Munich")
	wantKeys(t, s, "vienna", "other")
	wantKeys(t, s, "munich", "doc1")
	wantFresh(t, s, docs{"other": "Lisbon and Vienna", "doc1": "Munich"})
	drop(t, s, "doc1")
	wantKeys(t, s, "munich")
	wantFresh(t, s, docs{"other": "Lisbon and Vienna"})
	if existed, err := textsearch.Drop(ctx, s, ix, "doc1"); existed || err != nil {
		t.Errorf("a second drop: %t, %v", existed, err)
	}
}

// An inflection is forgotten with the last document that has it, not before.
func TestC03_StemsComeAndGo(t *testing.T) {
	s := indexed(t, docs{"a": "deployments", "b": "deployments deployed"})
	drop(t, s, "b")
	wantKeys(t, s, "deploy", "a")
	wantFresh(t, s, docs{"a": "deployments"})
	put(t, s, "a", "deployed")
	wantFresh(t, s, docs{"a": "deployed"})
}

func TestDropPrefix(t *testing.T) {
	all := docs{}
	for _, handle := range []string{"a", "a/b", "ab", "a%b", "b"} {
		for i := range 3 {
			all[kv.Join(handle, fmt.Sprintf("%012d", i))] = "word of " + handle
		}
	}
	for _, test := range []struct {
		prefix string
		n      int
	}{{"a/", 3}, {kv.Join("a/b") + "/", 3}, {kv.Join("a%b") + "/", 3}, {"a", 12}, {"", 15}, {"c", 0}} {
		s, left := indexed(t, all), docs{}
		for key, text := range all {
			if !strings.HasPrefix(key, test.prefix) {
				left[key] = text
			}
		}
		n, err := textsearch.DropPrefix(ctx, s, ix, test.prefix)
		if n != test.n || err != nil {
			t.Errorf("DropPrefix(%q): %d, %v", test.prefix, n, err)
		}
		wantFresh(t, s, left)
		r := search(t, indexed(t, all), textsearch.Query{Text: "word", KeyPrefix: test.prefix, Limit: -1})
		if r.Total != test.n || len(r.Hits) != test.n {
			t.Errorf("KeyPrefix %q: %d of %d", test.prefix, len(r.Hits), r.Total)
		}
	}
}

// The score of a document does not depend on what a KeyPrefix leaves out.
func TestKeyPrefixKeepsScores(t *testing.T) {
	s := indexed(t, docs{"a/1": "word one", "b/1": "word word two", "b/2": "other"})
	all := map[string]float64{}
	for _, h := range find(t, s, "word") {
		all[h.Key] = h.Score
	}
	for _, h := range search(t, s, textsearch.Query{Text: "word", KeyPrefix: "b"}).Hits {
		if h.Score != all[h.Key] {
			t.Errorf("%s scores %v, without a prefix %v", h.Key, h.Score, all[h.Key])
		}
	}
}

// Indexes, and realms, do not see each other.
func TestIndexesAreApart(t *testing.T) {
	s := memkv.New()
	for _, name := range []string{"a", "a/doc", "a/term/word"} {
		if err := textsearch.Put(ctx, s, name, "key of "+name, "word", 1); err != nil {
			t.Fatal(err)
		}
	}
	acme := kv.InRealm(s, "acme")
	if err := textsearch.Put(ctx, acme, "a", "key of acme", "word", 1); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		s          kv.KVStorage
		name, want string
	}{{s, "a", "a"}, {s, "a/doc", "a/doc"}, {s, "a/term/word", "a/term/word"}, {acme, "a", "acme"}} {
		r, err := textsearch.Search(ctx, test.s, test.name, textsearch.Query{Text: "word"})
		if err != nil || fmt.Sprint(keys(r.Hits)) != "[key of "+test.want+"]" {
			t.Errorf("index %q: %v, %v", test.name, r, err)
		}
	}
}

// Any key that is taken has room beside the longest term, and any bytes may be in
// it. Others are refused before anything is written.
func TestKeys(t *testing.T) {
	s := memkv.New()
	text := strings.Repeat("x/", 100) + "x " + strings.Repeat("%/", 100) + " word"
	room := kv.MaxKeySize - len("local/idx/text/test/18446744073709551615/key/")
	for _, key := range []string{strings.Repeat("k", room), strings.Repeat("/", room/3), "a\x00b", "\xff\xfe", "%2F", " "} {
		put(t, s, key, text)
		wantKeys(t, s, "word", key)
		drop(t, s, key)
	}
	for _, key := range []string{"", strings.Repeat("k", room+1), strings.Repeat("/", room/3+1)} {
		if err := textsearch.Put(ctx, s, ix, key, text, 1); !errors.Is(err, textsearch.ErrKey) {
			t.Errorf("a key of %d bytes: %v", len(key), err)
		}
		if existed, err := textsearch.Drop(ctx, s, ix, key); existed || err != nil {
			t.Errorf("dropping a key of %d bytes: %t, %v", len(key), existed, err)
		}
	}
	if left := dump(t, s); left != "" {
		t.Errorf("left over:\n%s", left)
	}
}

// Put, Drop and Search join a transaction, and see what it wrote.
func TestInsideATransaction(t *testing.T) {
	s := indexed(t, docs{"old": "word"})
	failed := errors.New("failed")
	before := dump(t, s)
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		put(t, tx, "new", "words")
		wantKeys(t, tx, "word", "new", "old")
		drop(t, tx, "old")
		wantKeys(t, tx, "word", "new")
		wantKeys(t, s, "word", "old")
		return failed
	})
	if !errors.Is(err, failed) || dump(t, s) != before {
		t.Errorf("an update that failed: %v", err)
	}
}

// A batch may meet a document any number of times, before and after Flush.
func TestBatch(t *testing.T) {
	s := indexed(t, docs{"a": "apples", "b": "bananas"})
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		b, err := textsearch.NewBatch(ctx, tx, ix)
		if err != nil {
			return err
		}
		for _, step := range []func() error{
			func() error { return b.Put(ctx, "a", "cherries apples", 1) },
			func() error { return b.Put(ctx, "a", "dates", 1) },
			func() error { return b.Put(ctx, "c", "deployed", 1) },
			func() error { _, err := b.Drop(ctx, "c"); return err },
			func() error { return b.Flush(ctx) },
			func() error { return b.Put(ctx, "d", "deployed", 1) },
			func() error { _, err := b.Drop(ctx, "b"); return err },
			func() error { return b.Put(ctx, "b", "bananas deploying", 1) },
			func() error { return b.Flush(ctx) },
			func() error { return b.Flush(ctx) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantFresh(t, s, docs{"a": "dates", "b": "bananas deploying", "d": "deployed"})
}

// A text of very many words is one operation of the log.
func TestLongTexts(t *testing.T) {
	s := memkv.New()
	var text strings.Builder
	for i := range 22_000 {
		fmt.Fprintf(&text, "w%d ", i)
	}
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		b, err := textsearch.NewBatch(ctx, tx, ix)
		for _, key := range []string{"a", "b", "c"} {
			if err == nil {
				err = b.Put(ctx, key, text.String()+key, 1)
			}
		}
		if err != nil {
			return err
		}
		return b.Flush(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	wantSound(t, s, nil)
	wantKeys(t, s, "w21999", "a", "b", "c")
}

// TestC22_FailuresAtEachCall indexes five messages with a failure at each call of
// the store. On an atomic store nothing of it is there; on another nothing points
// at what is not there, a second run finds the words, and a rebuild makes it whole.
func TestC22_FailuresAtEachCall(t *testing.T) {
	before := docs{"m1": "the first message", "m2": "old words that go", "m9": "stays"}
	after := docs{"m1": "the first message", "m2": "new words", "m3": "deployed twice, deployed", "m4": "", "m5": "words again", "m9": "stays"}
	setup := func(s kv.KVStorage) error {
		for key, text := range before {
			if err := textsearch.Put(ctx, s, ix, key, text, 1); err != nil {
				return err
			}
		}
		return nil
	}
	run := func(s kv.KVStorage) error {
		for _, key := range []string{"m1", "m2", "m3", "m4", "m5"} {
			if err := textsearch.Put(ctx, s, ix, key, after[key], 1); err != nil {
				return err
			}
		}
		return nil
	}
	brittle.Each(t, setup, run, func(t *testing.T, s kv.KVStorage) {
		wantNothingDangling(t, s)
		for range 2 {
			if err := run(s); err != nil {
				t.Fatal(err)
			}
			wantKeys(t, s, "words", "m2", "m5")
			wantKeys(t, s, "old")
		}
		rebuild(t, s, after)
		wantFresh(t, s, after)
	})
}

func TestC22_FailuresWhileDropping(t *testing.T) {
	all := docs{"a/1": "first deployed", "a/2": "second deployed", "b/1": "third deploying"}
	setup := func(s kv.KVStorage) error {
		for key, text := range all {
			if err := textsearch.Put(ctx, s, ix, key, text, 1); err != nil {
				return err
			}
		}
		return nil
	}
	run := func(s kv.KVStorage) error {
		_, err := textsearch.DropPrefix(ctx, s, ix, "a/")
		return err
	}
	brittle.Each(t, setup, run, func(t *testing.T, s kv.KVStorage) {
		wantNothingDangling(t, s)
		if err := run(s); err != nil {
			t.Fatal(err)
		}
		wantKeys(t, s, "deploy", "b/1")
		rebuild(t, s, docs{"b/1": "third deploying"})
		wantFresh(t, s, docs{"b/1": "third deploying"})
	})
}

// wantNothingDangling checks that nothing that a search needs is missing.
func wantNothingDangling(t *testing.T, s kv.KVStorage) {
	t.Helper()
	for _, q := range []string{"words", "deploy", "first stays", "w*"} {
		find(t, s, q)
	}
}
