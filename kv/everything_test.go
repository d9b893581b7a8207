package kv_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

func TestFirst(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	if _, _, err := kv.First(ctx, s); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("of an empty store: %v", err)
	}
	for _, at := range []struct {
		col kv.Column
		key string
	}{{255, "a"}, {200, "z"}, {200, "y"}} { // each is before those that are there
		if err := s.Put(ctx, at.col, []byte(at.key), nil); err != nil {
			t.Fatal(err)
		}
		if col, key, err := kv.First(ctx, s); col != at.col || string(key) != at.key || err != nil {
			t.Errorf("column %d, key %q, %v; want %v", col, key, err, at)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := kv.First(ctx, s); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
}

func TestEveryColumn(t *testing.T) {
	all := slices.Collect(kv.EveryColumn())
	if len(all) != 256 || !slices.IsSorted(all) || all[0] != 0 || all[255] != 255 {
		t.Errorf("%v", all)
	}
	for range kv.EveryColumn() {
		break
	}
}

func TestSortChanges(t *testing.T) {
	a, b, c := kv.Change{Column: 1, Key: []byte("b")}, kv.Change{Column: 1, Key: []byte("ba")}, kv.Change{Column: 2, Key: []byte("a")}
	got := []kv.Change{c, b, a}
	kv.SortChanges(got)
	for i, want := range []kv.Change{a, b, c} {
		if got[i].Column != want.Column || string(got[i].Key) != string(want.Key) {
			t.Errorf("%d: %v, want %v", i, got[i], want)
		}
	}
}
