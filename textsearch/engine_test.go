package textsearch_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv/crabkv"
	"github.com/crabstore/crabstore/textsearch"
)

// On a file the order of hits, and the index byte for byte, are the same before
// and after a reopen and a compaction.
func TestC16_OnAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.crmem")
	all := docs{}
	for i := range 30 {
		all[fmt.Sprintf("k%02d", i)] = "the same text"
	}
	s := open(t, path)
	for key, text := range all {
		put(t, s, key, "other words")
		put(t, s, key, text)
	}
	want := keys(find(t, s, "text"))
	if len(want) != 30 || !slices.IsSorted(want) {
		t.Fatalf("order %q", want)
	}
	for _, step := range []string{"reopen", "compact", "reopen"} {
		if step == "compact" {
			if err := s.Compact(ctx); err != nil {
				t.Fatal(err)
			}
		} else {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, path)
		}
		if got := keys(search(t, s, textsearch.Query{Text: "text", Limit: 40}).Hits); !slices.Equal(got, want) {
			t.Errorf("after %s: %q", step, got)
		}
		wantFresh(t, s, all)
	}
}

func open(t *testing.T, path string) *crabkv.Store {
	t.Helper()
	s, err := crabkv.Open(path, crabdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a second close does nothing
	return s
}
