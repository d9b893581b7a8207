package importer

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
)

// A word that a user said, and nobody said again in any form, finds what was said,
// first of all.
func TestSharedRareWords(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "..", "shared", "testdata", "transcripts")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no transcripts at ", dir)
	}
	ctx := context.Background()
	f := &fixture{t, dir, memkv.New()}
	f.run(Options{})

	type said struct {
		handle string
		user   bool
		times  int
	}
	words := map[string]*said{} // also those in paths and identifiers
	alone := map[string]bool{}  // those with space around them
	page, err := sessions.List(ctx, f.store, sessions.Filter{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, meta := range page.Sessions {
		note := func(text string, user bool) {
			text = strings.ToLower(text)
			for _, w := range strings.Fields(text) {
				alone[strings.Trim(w, ".,;:!?()\"")] = true
			}
			for _, w := range strings.FieldsFunc(text, isNoLetter) {
				if words[w] == nil {
					words[w] = &said{handle: meta.Handle, user: true}
				}
				words[w].times++
				words[w].user = words[w].user && user
			}
		}
		note(meta.Title, false)
		for m, err := range sessions.Messages(ctx, f.store, meta.Handle, sessions.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range m.Blocks {
				switch {
				case b.Type == sessions.Text && !b.Injected:
					note(b.Text, m.Role == sessions.User)
				case b.Type == sessions.ToolUse:
					note(b.Name, false)
				}
			}
		}
	}
	kin := map[string]int{} // words that begin alike, whose forms may be one word's
	for w := range words {
		kin[w[:min(len(w), alike)]]++
	}
	var rare []string
	for w, s := range words {
		if s.user && s.times == 1 && alone[w] && len(w) > alike && kin[w[:alike]] == 1 {
			rare = append(rare, w)
		}
	}
	slices.Sort(rare)
	if len(rare) < 20 {
		t.Fatalf("only %d rare words", len(rare))
	}
	misses := 0
	for _, w := range rare {
		found, err := sessions.Search(ctx, f.store, sessions.Query{Text: w})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Hits) == 0 || found.Hits[0].Session.Handle != words[w].handle {
			misses++
			t.Errorf("%q finds %d sessions, and not first the one in which it was said", w, len(found.Hits))
		}
	}
	t.Logf("%d rare words, %d not first", len(rare), misses)
}

// alike is how many letters two forms of a word have in common at least.
const alike = 4

func isNoLetter(r rune) bool { return r >= unicode.MaxASCII || !unicode.IsLetter(r) }
