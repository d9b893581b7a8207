package kv_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest/brittle"
	"github.com/crabstore/crabstore/kv/memkv"
)

// reindex writes, below i/, the keys below c/ with their values doubled.
func reindex(ctx context.Context, s kv.KVStorage) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		for key, err := range tx.ScanKeys(ctx, kv.Memory, []byte("i/")) {
			if err != nil {
				return err
			}
			if _, err := tx.Delete(ctx, kv.Memory, key); err != nil {
				return err
			}
		}
		for e, err := range tx.Scan(ctx, kv.Memory, []byte("c/")) {
			if err != nil {
				return err
			}
			if err := tx.Put(ctx, kv.Memory, append([]byte("i/"), e.Key[2:]...), append(e.Value, e.Value...)); err != nil {
				return err
			}
		}
		return nil
	})
}

func filled(s kv.KVStorage) error {
	ctx := context.Background()
	for key, value := range map[string]string{"c/a": "1", "c/b": "", "c/c": "3", "c/d": "4", "i/a": "11", "i/b": "", "i/c": "3", "i/e": "5"} {
		if err := s.Put(ctx, kv.Memory, []byte(key), []byte(value)); err != nil {
			return err
		}
	}
	return nil
}

func TestDifferences(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	if err := filled(s); err != nil {
		t.Fatal(err)
	}
	before := brittle.Dump(t, s)
	got, err := kv.Differences(ctx, s, func(tx kv.KVStorage) error { return reindex(ctx, tx) })
	slices.SortFunc(got, func(a, b kv.Difference) int { return strings.Compare(string(a.Key), string(b.Key)) })
	want := `[not as the content says in column memory: "i/c" missing in column memory: "i/d" too much in column memory: "i/e"]`
	if err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, %v; want %s", got, err, want)
	}
	if after := brittle.Dump(t, s); after != before {
		t.Errorf("Differences changed the store to\n%s", after)
	}
	if err := reindex(ctx, s); err != nil {
		t.Fatal(err)
	}
	if got, err := kv.Differences(ctx, s, func(tx kv.KVStorage) error { return reindex(ctx, tx) }); err != nil || got != nil {
		t.Errorf("after reindexing: %v, %v", got, err)
	}
}

func TestDifferencesReturnsErrors(t *testing.T) {
	op := func(s kv.KVStorage) error {
		_, err := kv.Differences(context.Background(), s, func(tx kv.KVStorage) error { return reindex(context.Background(), tx) })
		return err
	}
	brittle.Each(t, filled, op, func(*testing.T, kv.KVStorage) {})
	stop := errors.New("stop")
	if _, err := kv.Differences(context.Background(), memkv.New(), func(kv.KVStorage) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}
