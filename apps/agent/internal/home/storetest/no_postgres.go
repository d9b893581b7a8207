//go:build !postgres

package storetest

import "testing"

var postgres func(testing.TB) string
