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
		{"a posting is another", add("\x09\x02\xf0\x3f", "term", "apples", "a"), `another posting of "apples"`},
		{"a posting too many", add("\x01\x02\xf0\x3f", "term", "pears", "a"), `posting of "pears": no document "a" lists it`},
		{"a posting of no document", add("\x01\x02\xf0\x3f", "term", "apples", "c"), `posting of "apples": no document "c" lists it`},
		{"a posting in place of another", func(s kv.KVStorage) error {
			return errors.Join(remove("term", "apples", "a")(s), add("\x01\x02\xf0\x3f", "term", "pears", "a")(s))
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

func TestCheckCounts(t *testing.T) {
	s := indexed(t, docs{"a": "apples deployed", "b": "apples twice twice"})
	r, err := textsearch.Check(ctx, s, ix)
	if err != nil || r.Documents != 2 || r.Length != 5 || r.Postings != 4 || len(r.Faults) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A damaged document or posting is an error that says where, never a panic or a
// list that is too short.
func TestCorruptRecords(t *testing.T) {
	for _, value := range []string{"", "\x01", "\x01\x02\xf0\x3f\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x01\x02\x00\x00", "\x01\xf0\x3f\xff\xff\xff\x7f"} {
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
		for name, err := range map[string]error{
			"put":    textsearch.Put(ctx, s, ix, "a", "pears", 1),
			"repair": textsearch.Repair(ctx, s, ix),
		} {
			if !errors.Is(err, textsearch.ErrCorrupt) || !strings.Contains(err.Error(), `"a"`) {
				t.Errorf("%s over document %q: %v", name, value, err)
			}
		}
	}
}
