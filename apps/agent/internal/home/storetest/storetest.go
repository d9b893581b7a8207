// Package storetest makes stores for tests that run on every backend of the build.
package storetest

import (
	"path/filepath"
	"testing"

	"github.com/crabstore/crabstore/apps/agent/internal/home"
)

// Spec returns a new store of a backend, as --store names it. Behind an address it is
// on a server that the test starts; where that cannot be had the test is skipped.
func Spec(t testing.TB, backend string) string {
	t.Helper()
	if home.Local(backend) {
		return backend + ":" + filepath.Join(t.TempDir(), "store")
	}
	start := map[string]func(testing.TB) string{home.Postgres: postgres, home.Etcd: etcd}[backend]
	if start == nil {
		t.Fatalf("no server of %s is known to the tests", backend)
	}
	return start(t)
}

// Open is Spec, opened.
func Open(t testing.TB, backend string) home.Store {
	t.Helper()
	l, err := home.Parse(Spec(t, backend), "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := home.Open(t.Context(), l, home.Make, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
