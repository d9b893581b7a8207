package memkv

import (
	"context"
	"fmt"
	"testing"

	"github.com/crabstore/crabstore/kv"
)

func TestPutGetScan(t *testing.T) {
	ctx, s := context.Background(), New()
	for i := range 1000 {
		if err := s.Put(ctx, kv.Memory, fmt.Appendf(nil, "k%04d", i*7%1000), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	next := 0
	for e, err := range s.Scan(ctx, kv.Memory, []byte("k")) {
		if want := fmt.Sprintf("k%04d", next); err != nil || string(e.Key) != want {
			t.Fatalf("got %q, %v; want %q", e.Key, err, want)
		}
		next++
	}
	if next != 1000 {
		t.Fatalf("%d keys", next)
	}
}
