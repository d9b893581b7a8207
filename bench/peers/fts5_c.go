//go:build cgo && (sqlite_fts5 || fts5)

package main

import "github.com/mattn/go-sqlite3"

// FTS5 through cgo: mattn's driver compiles it only when the build is tagged.
const (
	fts5Module   = "github.com/mattn/go-sqlite3"
	fts5Language = " (C)"
)

var fts5Driver = &sqlite3.SQLiteDriver{}
