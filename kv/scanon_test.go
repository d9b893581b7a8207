package kv_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// damaged is a store of the five methods in which some values cannot be read.
type damaged struct {
	kv.KVStorage
	keys map[string]bool
}

func (d damaged) Get(ctx context.Context, col kv.Column, key []byte) ([]byte, error) {
	if d.keys[string(key)] {
		return nil, fmt.Errorf("%w: %s", kv.ErrCorrupt, key)
	}
	return d.KVStorage.Get(ctx, col, key)
}

func (d damaged) Scan(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		for e, err := range d.KVStorage.Scan(ctx, col, prefix) {
			if err == nil && d.keys[string(e.Key)] {
				yield(kv.Entry{}, fmt.Errorf("%w: %s", kv.ErrCorrupt, e.Key))
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func TestScanOnGoesOnBehindDamage(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		broken []string
		r      kv.Range
		want   string
	}{
		{"whole", nil, kv.Range{}, "a=1 b=2 c=3 d=4 "},
		{"in the middle", []string{"b"}, kv.Range{}, "a=1 b! c=3 d=4 "},
		{"at both ends", []string{"a", "d"}, kv.Range{}, "a! b=2 c=3 d! "},
		{"all", []string{"a", "b", "c", "d"}, kv.Range{}, "a! b! c! d! "},
		{"a range", []string{"c"}, kv.Range{After: []byte("a")}, "b=2 c! d=4 "},
		{"in reverse", []string{"c", "b"}, kv.Range{Reverse: true}, "d=4 c! b! a=1 "},
		{"keys", []string{"b"}, kv.Range{KeysOnly: true}, "a= b= c= d= "},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := damaged{memkv.New(), map[string]bool{}}
			for i, k := range []string{"a", "b", "c", "d"} {
				if err := s.Put(ctx, kv.Memory, []byte(k), fmt.Append(nil, i+1)); err != nil {
					t.Fatal(err)
				}
			}
			for _, k := range c.broken {
				s.keys[k] = true
			}
			got := ""
			for e, err := range kv.ScanOn(ctx, s, kv.Memory, c.r) {
				switch {
				case errors.Is(err, kv.ErrCorrupt):
					got += string(e.Key) + "! "
				case err != nil:
					t.Fatal(err)
				default:
					got += fmt.Sprintf("%s=%s ", e.Key, e.Value)
					clear(e.Key) // it is ours
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
