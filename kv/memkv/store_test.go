package memkv_test

import (
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest"
	"github.com/crabstore/crabstore/kv/memkv"
)

func TestConformance(t *testing.T) {
	kvtest.Run(t, kvtest.Config{
		Open: func(testing.TB) kv.KVStorage { return memkv.New() },
	})
}
