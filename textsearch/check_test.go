package textsearch_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch"
)

// Each way in which an index can be damaged is found, and mended by Repair where
// its documents are whole.
func TestCheckAndRepair(t *testing.T) {
	all := docs{"a": "apples deployed", "b": "apples deploying twice twice"}
	key := func(s kv.KVStorage, parts ...string) []byte {
		return kv.Key(s, append([]string{"idx", "text", ix}, parts...)...)
	}
	remove := func(parts ...string) func(kv.KVStorage) error {
		return func(s kv.KVStorage) error { _, err := s.Delete(ctx, kv.Text, key(s, parts...)); return err }
	}
	add := func(value string, parts ...string) func(kv.KVStorage) error {
		return func(s kv.KVStorage) error { return s.Put(ctx, kv.Text, key(s, parts...), []byte(value)) }
	}
	for _, test := range []struct {
		name   string
		damage func(kv.KVStorage) error
		fault  string
	}{
		{"a posting is gone", remove("term", "apples", "a"), `no posting of "apples"`},
		{"a posting is another", add("\x09\x02\xbf\xe0\x03", "term", "apples", "a"), `another posting of "apples"`},
		{"a posting too many", add("\x01\x02\xbf\xe0\x03", "term", "pears", "a"), `posting of "pears": no document "a" lists it`},
		{"a posting of no document", add("\x01\x02\xbf\xe0\x03", "term", "apples", "c"), `posting of "apples": no document "c" lists it`},
		{"a posting in place of another", func(s kv.KVStorage) error {
			return errors.Join(remove("term", "apples", "a")(s), add("\x01\x02\xbf\xe0\x03", "term", "pears", "a")(s))
		}, `posting of "pears": no document "a" lists it`},
		{"a stem is gone", remove("stem", "deploy", "deployed"), `stem "deploy/deployed" is not listed`},
		{"a stem too many", add("", "stem", "deploy", "deploys"), `stem "deploy/deploys": no document has that term`},
		{"the statistics are gone", remove("stats"), "statistics: 0 documents, there are 2"},
		{"other statistics", func(s kv.KVStorage) error {
			return kv.Store(ctx, s, kv.Text, key(s, "stats"), map[string]any{"documents": 2, "length": 5, "language": "english"})
		}, "statistics: length 5, it is 6"},
		{"a key that is no posting's", add("", "term", "apples"), "key"},
	} {
		s := indexed(t, all)
		if err := test.damage(s); err != nil {
			t.Fatal(err)
		}
		r, err := textsearch.Check(ctx, s, ix)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if !strings.Contains(strings.Join(r.Faults, "\n"), test.fault) {
			t.Errorf("%s: faults %q, want %q", test.name, r.Faults, test.fault)
		}
		if err := textsearch.Repair(ctx, s, ix); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		wantFresh(t, s, all)
	}
}

// Without statistics, as a crash can leave an index where updates are not atomic,
// scores are still above zero and finite.
func TestSearchWithoutStatistics(t *testing.T) {
	s := indexed(t, docs{"a": "apples", "b": "apples pears"})
	if _, err := s.Delete(ctx, kv.Text, kv.Key(s, "idx", "text", ix, "stats")); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, s, "apples", "a", "b")
}

// A key that no posting has is an error too, not a panic.
func TestCorruptKeys(t *testing.T) {
	s := indexed(t, docs{"a": "apples"})
	if err := s.Put(ctx, kv.Text, kv.Key(s, "idx", "text", ix, "term", "app"), []byte("\x01\x01\xbf\xe0\x03")); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, s, "apples", "a")
	if _, err := textsearch.Search(ctx, s, ix, textsearch.Query{Text: "app*"}); !errors.Is(err, textsearch.ErrCorrupt) {
		t.Errorf("app*: %v", err)
	}
}

func TestCheckCounts(t *testing.T) {
	s := indexed(t, docs{"a": "apples deployed", "b": "apples twice twice"})
	r, err := textsearch.Check(ctx, s, ix)
	if err != nil || r.Documents != 2 || r.Length != 5 || r.Postings != 4 || len(r.Faults) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A damaged posting is an error that says where, never a panic or a list that is
// too short, and so is a damaged document to Repair.
func TestCorruptRecords(t *testing.T) {
	for _, value := range []string{
		"",
		"\x01",
		"\x01\x01\xbf\xe0\x03\x00",           // a posting, and a byte more
		"\x01\xbf\xe0\x03\x01\x06apples",     // a document that ends early
		"\x01\xbf\xe0\x03\x01\x7fapples\x01", // a term longer than the document
		"\x01\x01\x00",                       // weight 0
		"\x01\xbf\xe0\x03\xff\xff\xff\x7f",   // very many terms
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		s := indexed(t, docs{"a": "apples"})
		doc, posting := kv.Key(s, "idx", "text", ix, "doc", "a"), kv.Key(s, "idx", "text", ix, "term", "apples", "a")
		if err := s.Put(ctx, kv.Text, posting, []byte(value)); err != nil {
			t.Fatal(err)
		}
		if _, err := textsearch.Search(ctx, s, ix, textsearch.Query{Text: "apples"}); !errors.Is(err, textsearch.ErrCorrupt) || !strings.Contains(err.Error(), "term/apples/a") {
			t.Errorf("posting %q: %v", value, err)
		}
		if err := s.Put(ctx, kv.Text, doc, []byte(value)); err != nil {
			t.Fatal(err)
		}
		r, err := textsearch.Check(ctx, s, ix)
		if err != nil || len(r.Faults) == 0 {
			t.Errorf("document %q: %+v, %v", value, r, err)
		}
		if err := textsearch.Repair(ctx, s, ix); !errors.Is(err, kv.ErrCorrupt) || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("repair with document %q: %v", value, err)
		}
		wantMended(t, s, value)
	}
}

// wantMended checks that a damaged document can be put again and dropped, and that
// Repair then makes the index whole.
func wantMended(t *testing.T, s kv.KVStorage, value string) {
	t.Helper()
	put(t, s, "b", "other")
	put(t, s, "a", "pears")
	if err := textsearch.Repair(ctx, s, ix); err != nil {
		t.Errorf("put over %q: %v", value, err)
	}
	wantFresh(t, s, docs{"a": "pears", "b": "other"})
	if err := s.Put(ctx, kv.Text, kv.Key(s, "idx", "text", ix, "doc", "a"), []byte(value)); err != nil {
		t.Fatal(err)
	}
	drop(t, s, "a")
	if err := textsearch.Repair(ctx, s, ix); err != nil {
		t.Errorf("drop of %q: %v", value, err)
	}
	wantFresh(t, s, docs{"b": "other"})
}
