package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/textsearch"
)

func TestSearch(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	put(t, s, Entry{Name: "in content", Content: "Deployments are done on Fridays, by hand."})
	put(t, s, Entry{Name: "deployment", Content: "The steps are in the wiki."})
	put(t, s, Entry{Name: "rollout", Aliases: []string{"how to ship"}, Content: "See the wiki.", Kind: Fact})
	put(t, s, Entry{Name: "tagged", Tags: []string{"operations"}, Kind: Fact})

	wantHits(t, s, Query{Text: "deployment"}, "deployment", "in content") // inflected; the name counts more
	wantHits(t, s, Query{Text: "ship"}, "rollout")                        // an alias
	wantHits(t, s, Query{Text: "operations"}, "tagged")
	wantHits(t, s, Query{Text: "wiki", Kind: Fact}, "rollout")
	wantHits(t, s, Query{Text: "wiki", Kind: "fac"})
	wantHits(t, s, Query{Text: ""})
	wantHits(t, s, Query{Text: "nothing of it"})
	wantHits(t, s, Query{Text: "deploy*", Limit: 1}, "deployment")

	put(t, s, Entry{Name: "alpha", Content: "beta"})
	put(t, s, Entry{Name: "beta", Content: "alpha"})
	wantHits(t, s, Query{Text: "beta"}, "beta", "alpha") // of one length, and alpha is first among equals

	r, err := Search(ctx, s, Query{Text: "friday"})
	if err != nil || len(r.Hits) != 1 || r.Total != 1 || !slices.Equal(r.Hits[0].Words, []string{"friday"}) {
		t.Fatalf("Search = %+v, %v", r, err)
	}
	w := r.Hits[0].Snippet
	if len(w.Spans) != 1 || w.Text[w.Spans[0].Start:w.Spans[0].End] != "Fridays" {
		t.Errorf("snippet %+v, want Fridays marked", w)
	}

	put(t, s, Entry{Name: "in content", Content: "No more."})
	wantHits(t, s, Query{Text: "friday"})
	put(t, s, Entry{Name: "tagged", Tags: []string{"operations"}, Kind: Note}) // another kind is another document
	wantHits(t, s, Query{Text: "operations", Kind: Fact})
	wantHits(t, s, Query{Text: "operations", Kind: Note}, "tagged")
	wantWhole(t, s)
}

func TestSnippetOfALongEntry(t *testing.T) {
	s := memkv.New()
	put(t, s, Entry{Name: "long", Content: strings.Repeat("плутоний ", 500) + "unicorn" + strings.Repeat(" плутоний", 500)})
	r, err := Search(context.Background(), s, Query{Text: "unicorn"})
	if err != nil || len(r.Hits) != 1 {
		t.Fatalf("Search = %+v, %v", r, err)
	}
	if w := r.Hits[0].Snippet; len(w.Text) > MaxSnippet || !w.Before || !w.After || !strings.Contains(w.Text, "unicorn") {
		t.Errorf("snippet of %d bytes: %+v", len(w.Text), w)
	}
}

// TestC16_PagesNeitherRepeatNorSkip reads thirty equal entries by sevens.
func TestC16_PagesNeitherRepeatNorSkip(t *testing.T) {
	s := memkv.New()
	var want []string
	for i := range 30 {
		name := fmt.Sprintf("n%02d", i)
		want = append(want, name)
		put(t, s, Entry{Name: name, Content: "the same text"})
	}
	var got []string
	var after *textsearch.Cursor
	for pages := 1; ; pages++ {
		r, err := Search(context.Background(), s, Query{Text: "text", Limit: 7, After: after})
		if err != nil || r.Total != 30 {
			t.Fatalf("total %d, %v", r.Total, err)
		}
		for _, h := range r.Hits {
			got = append(got, h.Entry.Name)
		}
		if after = r.Next; after == nil {
			if pages != 5 {
				t.Errorf("%d pages, want 5", pages)
			}
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestC22_HitWhoseContentIsGone takes entries away under the index.
func TestC22_HitWhoseContentIsGone(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	for _, name := range []string{"a", "b", "c"} {
		put(t, s, Entry{Name: name, Content: "unicorn"})
	}
	if _, err := s.Delete(ctx, kv.Memory, entryKey(s, "a")); err != nil {
		t.Fatal(err)
	}
	changed, err := Get(ctx, s, "b")
	if err != nil {
		t.Fatal(err)
	}
	changed.Kind = Fact
	if err := kv.Store(ctx, s, kv.Memory, entryKey(s, "b"), changed); err != nil {
		t.Fatal(err)
	}
	wantHits(t, s, Query{Text: "unicorn"}, "c")
	if faults, err := Check(ctx, s); err != nil || !strings.Contains(fmt.Sprint(faults), `"note/a" is indexed, and there is none`) {
		t.Errorf("Check = %q, %v", faults, err)
	}
	if err := Reindex(ctx, s); err != nil {
		t.Fatal(err)
	}
	wantHits(t, s, Query{Text: "unicorn"}, "b", "c")
	wantWhole(t, s)
}
