//go:build !etcd

package storetest

import "testing"

var etcd func(testing.TB) string
