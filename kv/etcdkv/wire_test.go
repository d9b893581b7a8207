package etcdkv

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/etcdkv/etcdtest"
)

var ctx = context.Background()

type (
	sender = func(context.Context) (*answer, error)
	wire   = func(ctx context.Context, r request, send sender) (*answer, error)
)

// openWith opens a store at a place, with something between it and etcd from when it
// is open.
func openWith(t testing.TB, place string, w wire) *Store {
	t.Helper()
	s, err := Open(ctx, place, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.wire = w
	t.Cleanup(func() { s.Close() })
	return s
}

var (
	errCrashed = status.Error(codes.FailedPrecondition, "test: this process has crashed")
	errLost    = status.Error(codes.Unavailable, "test: the connection is lost")
)

// crash lets n requests through and then stops everything: before the next one is
// sent or, when it is late, before that one's answer comes.
func crash(n int64, late bool) wire {
	var made atomic.Int64
	return func(ctx context.Context, _ request, send sender) (*answer, error) {
		switch i := made.Add(1); {
		case i <= n:
			return send(ctx)
		case i == n+1 && late:
			_, _ = send(ctx)
		}
		return nil, errCrashed
	}
}

// lose loses request number n, on its way or, when it is late, its answer.
func lose(n int64, late bool) wire {
	var made atomic.Int64
	return func(ctx context.Context, _ request, send sender) (*answer, error) {
		if made.Add(1) != n+1 {
			return send(ctx)
		}
		if late {
			_, _ = send(ctx)
		}
		return nil, errLost
	}
}

// count counts requests.
func count(n *atomic.Int64) wire {
	return func(ctx context.Context, _ request, send sender) (*answer, error) {
		n.Add(1)
		return send(ctx)
	}
}

// content returns what a store holds in the column of the tests.
func content(t testing.TB, s kv.KVStorage) map[string]string {
	t.Helper()
	all := map[string]string{}
	for e, err := range s.Scan(ctx, col, nil) {
		if err != nil {
			t.Fatal(err)
		}
		all[string(e.Key)] = string(e.Value)
	}
	return all
}

const col = kv.Memory

func put(t testing.TB, s kv.KVStorage, key, value string) {
	t.Helper()
	if err := s.Put(ctx, col, []byte(key), []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func isCrash(err error) bool { return errors.Is(err, errCrashed) }

// place is one that no other test has.
func place(t testing.TB) string { return etcdtest.Place(t) }
