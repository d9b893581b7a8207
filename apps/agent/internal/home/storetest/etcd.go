//go:build etcd

package storetest

import "github.com/crabstore/crabstore/kv/etcdkv/etcdtest"

var etcd = etcdtest.Place
