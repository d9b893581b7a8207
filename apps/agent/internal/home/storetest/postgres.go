//go:build postgres

package storetest

import (
	"testing"

	"github.com/crabstore/crabstore/kv/pgkv/pgtest"
)

var postgres = func(t testing.TB) string { return pgtest.Shared(t).URL(t) }
