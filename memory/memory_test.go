package memory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest/brittle"
	"github.com/crabstore/crabstore/kv/memkv"
)

func put(t *testing.T, s kv.KVStorage, e Entry) Entry {
	t.Helper()
	stored, err := Put(context.Background(), s, e)
	if err != nil {
		t.Fatalf("Put %q: %v", e.Name, err)
	}
	return stored
}

func wantEntry(t *testing.T, s kv.KVStorage, name string, want Entry) {
	t.Helper()
	if got, err := Get(context.Background(), s, name); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Get(%q) = %+v, %v; want %+v", name, got, err, want)
	}
}

func wantAbsent(t *testing.T, s kv.KVStorage, names ...string) {
	t.Helper()
	for _, name := range names {
		if got, err := Get(context.Background(), s, name); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("Get(%q) = %+v, %v; want ErrNotFound", name, got, err)
		}
	}
}

func wantNames(t *testing.T, s kv.KVStorage, f Filter, want ...string) {
	t.Helper()
	list, err := List(context.Background(), s, f)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("List(%+v) = %q, want %q", f, got, want)
	}
}

func TestPut(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	before := time.Now().Add(-time.Second)
	first := put(t, s, Entry{Name: "deploy", Aliases: []string{"ship", "release", "ship", "deploy"}, Content: "Run make deploy.", Tags: []string{"ops"}, Source: "README.md", Session: "s1"})
	if first.Kind != Note || first.Revision != 1 || first.CreatedAt.Before(before) || first.UpdatedAt != first.CreatedAt || first.CreatedAt.Location() != time.UTC {
		t.Fatalf("stored as %+v", first)
	}
	if want := []string{"release", "ship"}; !slices.Equal(first.Aliases, want) {
		t.Fatalf("aliases %q, want %q", first.Aliases, want)
	}
	for _, name := range []string{"deploy", "release", "ship"} {
		wantEntry(t, s, name, first)
	}
	wantAbsent(t, s, "Deploy", "", "deplo", strings.Repeat("x", 2000), "\xff")

	second := put(t, s, Entry{Name: "deploy", Kind: Fact, Aliases: []string{"ship", "roll out"}, Content: "Push the button.", CreatedAt: before})
	if second.Revision != 2 || second.CreatedAt != first.CreatedAt || second.UpdatedAt.Before(first.UpdatedAt) || second.Tags != nil {
		t.Fatalf("replaced by %+v", second)
	}
	for _, name := range []string{"deploy", "roll out", "ship"} {
		wantEntry(t, s, name, second)
	}
	wantAbsent(t, s, "release")

	for stated, want := range map[int64]error{1: kv.ErrConflict, 3: kv.ErrConflict, 2: nil} {
		e := second
		if e.Revision = stated; stated == 2 {
			continue
		}
		if _, err := Put(ctx, s, e); !errors.Is(err, want) {
			t.Errorf("with revision %d of 2: %v, want %v", stated, err, want)
		}
	}
	wantEntry(t, s, "deploy", second)
	if third, err := Put(ctx, s, second); err != nil || third.Revision != 3 {
		t.Errorf("with the right revision: %+v, %v", third, err)
	}
	if _, err := Put(ctx, s, Entry{Name: "new", Revision: 1}); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("a new one with a revision: %v, want ErrConflict", err)
	}
}

func TestCreationTimeOfAnImport(t *testing.T) {
	s := memkv.New()
	at := time.Date(2020, 2, 3, 4, 5, 6, 7, time.FixedZone("", 3600))
	e := put(t, s, Entry{Name: "old", CreatedAt: at})
	if want := time.Date(2020, 2, 3, 3, 5, 6, 7, time.UTC); e.CreatedAt != want || e.UpdatedAt.Before(want) {
		t.Errorf("created %v, want %v", e.CreatedAt, want)
	}
	wantEntry(t, s, "old", e)
}

func TestNamesAndAliasesAreUnique(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	a := put(t, s, Entry{Name: "a", Aliases: []string{"x"}})
	b := put(t, s, Entry{Name: "b"})
	for what, e := range map[string]Entry{
		"a new name that is an alias":        {Name: "x"},
		"an alias that is a name":            {Name: "c", Aliases: []string{"free", "b"}},
		"an alias that is an alias":          {Name: "b", Aliases: []string{"x"}},
		"an alias that is another's, in new": {Name: "c", Aliases: []string{"x"}},
	} {
		if _, err := Put(ctx, s, e); !errors.Is(err, ErrExists) {
			t.Errorf("%s: %v, want ErrExists", what, err)
		}
	}
	for _, to := range []string{"a", "x"} {
		if _, err := Rename(ctx, s, "b", to); !errors.Is(err, ErrExists) {
			t.Errorf("b renamed to %s: %v, want ErrExists", to, err)
		}
	}
	wantEntry(t, s, "x", a)
	wantEntry(t, s, "b", b)
	wantAbsent(t, s, "c", "free")
}

func TestRename(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	put(t, s, Entry{Name: "old", Aliases: []string{"x", "y"}, Content: "unicorn"})
	e, err := Rename(ctx, s, "y", "x") // by alias, to an alias
	if err != nil || e.Name != "x" || e.Revision != 2 || !slices.Equal(e.Aliases, []string{"y"}) {
		t.Fatalf("Rename = %+v, %v", e, err)
	}
	wantEntry(t, s, "x", e)
	wantEntry(t, s, "y", e)
	wantAbsent(t, s, "old")
	wantHits(t, s, Query{Text: "unicorn"}, "x")
	if same, err := Rename(ctx, s, "x", "x"); err != nil || !reflect.DeepEqual(same, e) {
		t.Errorf("to its own name: %+v, %v", same, err)
	}
	if _, err := Rename(ctx, s, "x", ""); !errors.Is(err, ErrInvalid) {
		t.Errorf("to no name: %v, want ErrInvalid", err)
	}
	if _, err := Rename(ctx, s, "gone", "z"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("of none: %v, want ErrNotFound", err)
	}
	put(t, s, Entry{Name: "old"}) // is free again
	if err := errors.Join(Delete(ctx, s, "y"), Delete(ctx, s, "old")); err != nil {
		t.Fatal(err)
	}
	wantNothing(t, s)
}

// wantNothing wants a store to be empty, the text index included.
func wantNothing(t *testing.T, s kv.KVStorage) {
	t.Helper()
	if dump := brittle.Dump(t, s); dump != "" {
		t.Errorf("left in the store:\n%s", dump)
	}
}

func TestDelete(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	put(t, s, Entry{Name: "a", Aliases: []string{"x"}, Content: "unicorn"})
	put(t, s, Entry{Name: "b", Aliases: []string{"y"}, Content: "unicorn"})
	if err := Delete(ctx, s, "a"); err != nil {
		t.Fatal(err)
	}
	wantAbsent(t, s, "a", "x")
	wantHits(t, s, Query{Text: "unicorn"}, "b")
	if err := Delete(ctx, s, "y"); err != nil { // by alias
		t.Fatal(err)
	}
	wantNothing(t, s)
	if err := Delete(ctx, s, "a"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Delete again: %v, want ErrNotFound", err)
	}
}

func TestWhatIsRefused(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	for _, e := range []Entry{
		{Name: ""}, {Name: " \n"}, {Name: strings.Repeat("x", MaxName+1)}, {Name: "a\xff"}, {Name: "\xed\xa0\x80"},
		{Name: "a", Aliases: []string{""}}, {Name: "a", Aliases: []string{"\xc0\x80"}}, {Name: "a", Aliases: []string{strings.Repeat("x", MaxName+1)}},
		{Name: "a", Kind: "Note"}, {Name: "a", Kind: "two words"}, {Name: "a", Kind: "a/b"}, {Name: "a", Kind: "-a"}, {Name: "a", Kind: "1a"},
		{Name: "a", Kind: strings.Repeat("k", MaxKind+1)}, {Name: "a", Kind: "a\xff"},
	} {
		if _, err := Put(ctx, s, e); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", e, err)
		}
	}
	wantNothing(t, s)
	for _, kind := range []string{"archive", "to-do", "a_1", "идея", "想法"} {
		put(t, s, Entry{Name: "a", Kind: kind})
	}
}

func TestArgumentsAreNotKept(t *testing.T) {
	s := memkv.New()
	e := Entry{Name: "a", Aliases: []string{"y", "x"}, Tags: []string{"\xff"}}
	put(t, s, e)
	if !slices.Equal(e.Aliases, []string{"y", "x"}) || e.Tags[0] != "\xff" {
		t.Errorf("Put changed what it was given: %+v", e)
	}
}

// TestD15_NamesThatReachIntoEachOther puts entries of names that a store with a
// separator in its keys would mix up.
func TestD15_NamesThatReachIntoEachOther(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	names := []string{"x", "x/y", "xy", "x/y/z", "x%2Fy", "X", ".", "..", "a\x00b", "\u00e9", "e\u0301", "acme", "acme-corp", "x y", strings.Repeat("/", MaxName), strings.Repeat("\x01", MaxName)}
	stored := map[string]Entry{}
	for i, name := range names {
		stored[name] = put(t, s, Entry{Name: name, Aliases: []string{fmt.Sprintf("alias/%d%%", i)}, Content: "unicorn"})
	}
	slices.Sort(names)
	wantNames(t, s, Filter{}, names...)
	wantNames(t, s, Filter{Under: "x"}, "x", "x/y", "x/y/z")
	wantNames(t, s, Filter{Under: "x/"}, "x", "x/y", "x/y/z")
	wantNames(t, s, Filter{Under: "x/y"}, "x/y", "x/y/z")
	wantNames(t, s, Filter{Under: "acme"}, "acme")
	wantNames(t, s, Filter{Under: "x%2Fy"}, "x%2Fy")
	wantNames(t, s, Filter{Under: "none"})
	order := rand.New(rand.NewPCG(1, 2)).Perm(len(names))
	for i, at := range order {
		if err := Delete(ctx, s, names[at]); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, to := range order[i+1:] {
			left = append(left, names[to])
			wantEntry(t, s, names[to], stored[names[to]])
		}
		slices.Sort(left)
		wantNames(t, s, Filter{}, left...)
	}
	wantNothing(t, s)
}

// TestD16_BytesThatAreNotText puts what a tool that cuts inside a character makes.
func TestD16_BytesThatAreNotText(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	for in, want := range map[string]string{
		"cut \xed\xa0\xbd":      "cut \uFFFD",
		"\xff ok \xc0\x80":      "\uFFFD ok \uFFFD",
		"whole \U0001F600 \x00": "whole \U0001F600 \x00",
	} {
		e := put(t, s, Entry{Name: "a", Content: in, Source: in, Session: in, Tags: []string{in}})
		if e.Content != want || e.Source != want || e.Session != want || e.Tags[0] != want {
			t.Errorf("%q was stored as %+v, want %q", in, e, want)
		}
		wantEntry(t, s, "a", e)
		if _, err := Search(ctx, s, Query{Text: in}); err != nil {
			t.Errorf("Search(%q): %v", in, err)
		}
	}
}

func TestListByKind(t *testing.T) {
	s := memkv.New()
	for name, kind := range map[string]string{"b": Fact, "a": Fact, "c": Note, "x/a": Fact, "x/b": Note} {
		put(t, s, Entry{Name: name, Kind: kind})
	}
	wantNames(t, s, Filter{Kind: Fact}, "a", "b", "x/a")
	wantNames(t, s, Filter{Kind: Note}, "c", "x/b")
	wantNames(t, s, Filter{Kind: Note, Under: "x"}, "x/b")
	wantNames(t, s, Filter{Kind: Archive})
}

// TestD07_StaleWriterGetsConflict has many writers each read, append and write, and
// read again when another was faster.
func TestD07_StaleWriterGetsConflict(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	put(t, s, Entry{Name: "log"})
	const writers, times = 8, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for done := 0; done < times; {
				e, err := Get(ctx, s, "log")
				if err == nil {
					e.Content += "x"
					_, err = Put(ctx, s, e)
				}
				switch {
				case err == nil:
					done++
				case !errors.Is(err, kv.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if e, err := Get(ctx, s, "log"); err != nil || len(e.Content) != writers*times {
		t.Errorf("%d were kept, %v; want %d", len(e.Content), err, writers*times)
	}
}

func TestReadsJSONOfOlderStores(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	old := `{"name":"old","kind":"note","content":"c","created_at":"2024-05-06T07:08:09+02:00","unknown":1}`
	if err := s.Put(ctx, kv.Memory, entryKey(s, "old"), []byte(old)); err != nil {
		t.Fatal(err)
	}
	e, err := Get(ctx, s, "old")
	if want := time.Date(2024, 5, 6, 5, 8, 9, 0, time.UTC); err != nil || e.Content != "c" || e.CreatedAt != want {
		t.Errorf("Get = %+v, %v", e, err)
	}
	if err := Reindex(ctx, s); err != nil {
		t.Fatal(err)
	}
	wantHits(t, s, Query{Text: "c"}, "old")
}

// TestComposes puts two entries and takes it all back: the functions work inside a
// transaction and are part of it.
func TestComposes(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	stop := errors.New("stop")
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		put(t, tx, Entry{Name: "a", Content: "unicorn"})
		put(t, tx, Entry{Name: "b", Content: "unicorn"})
		wantHits(t, tx, Query{Text: "unicorn"}, "a", "b")
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	wantNothing(t, s)
}

func wantHits(t *testing.T, s kv.KVStorage, q Query, want ...string) {
	t.Helper()
	r, err := Search(context.Background(), s, q)
	if err != nil {
		t.Fatalf("Search(%+v): %v", q, err)
	}
	var got []string
	for _, h := range r.Hits {
		got = append(got, h.Entry.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("Search(%+v) = %q, want %q", q, got, want)
	}
}

// wantWhole wants the indexes to be those of just the entries that there are.
func wantWhole(t *testing.T, s kv.KVStorage) {
	t.Helper()
	if faults, err := Check(context.Background(), s); err != nil || len(faults) > 0 {
		t.Errorf("Check = %q, %v", faults, err)
	}
}
