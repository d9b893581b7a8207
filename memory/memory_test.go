package memory

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

func TestPutAndGet(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	before := time.Now()
	put, err := Put(ctx, s, Entry{Name: "deploy", Aliases: []string{"release", "ship", "release", "deploy"}, Content: "Run make deploy.", Tags: []string{"ops"}})
	if err != nil {
		t.Fatal(err)
	}
	if put.Kind != Note || put.Revision != 1 || put.CreatedAt.Before(before.Add(-time.Second)) || put.UpdatedAt != put.CreatedAt || put.CreatedAt.Location() != time.UTC {
		t.Fatalf("stored as %+v", put)
	}
	if want := []string{"release", "ship"}; !reflect.DeepEqual(put.Aliases, want) {
		t.Fatalf("aliases %q, want %q", put.Aliases, want)
	}
	for _, name := range []string{"deploy", "release", "ship"} {
		if got, err := Get(ctx, s, name); err != nil || !reflect.DeepEqual(got, put) {
			t.Errorf("Get(%q) = %+v, %v; want %+v", name, got, err, put)
		}
	}
	if _, err := Get(ctx, s, "Deploy"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Get(Deploy): %v", err)
	}
}
