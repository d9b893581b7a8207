package indexes

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/crabstore/crabstore/internal/brittle"
	"github.com/crabstore/crabstore/kv"
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

func TestCheck(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	if err := filled(s); err != nil {
		t.Fatal(err)
	}
	before := brittle.Dump(t, s)
	got, err := Check(ctx, s, reindex)
	want := []string{
		`memory "i/c" is in the index with another value than it should have`,
		`memory "i/d" is missing in the index`,
		`memory "i/e" is in the index and belongs to nothing`,
	}
	if slices.Sort(got); err != nil || !slices.Equal(got, want) {
		t.Errorf("Check = %q, %v; want %q", got, err, want)
	}
	if after := brittle.Dump(t, s); after != before {
		t.Errorf("Check changed the store to\n%s", after)
	}
	if err := reindex(ctx, s); err != nil {
		t.Fatal(err)
	}
	if got, err := Check(ctx, s, reindex); err != nil || got != nil {
		t.Errorf("Check after reindexing = %q, %v", got, err)
	}
}

func TestCheckReturnsErrors(t *testing.T) {
	op := func(s kv.KVStorage) error { _, err := Check(context.Background(), s, reindex); return err }
	brittle.Each(t, filled, op, func(*testing.T, kv.KVStorage) {})
	stop := errors.New("stop")
	if _, err := Check(context.Background(), memkv.New(), func(context.Context, kv.KVStorage) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}
