//go:build !cgo || !(sqlite_fts5 || fts5)

package main

import "modernc.org/sqlite"

// FTS5 translated to Go, for a build without cgo or without the tag that mattn's
// driver wants.
const (
	fts5Module   = "modernc.org/sqlite"
	fts5Language = " (Go)"
)

var fts5Driver = &sqlite.Driver{}
