//go:build !cgo

package main

// cgoEngines are those that need a C compiler, which this build is without.
var cgoEngines []engine
