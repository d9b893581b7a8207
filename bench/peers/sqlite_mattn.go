//go:build cgo

package main

import "github.com/mattn/go-sqlite3"

// cgoEngines are those that need a C compiler.
var cgoEngines = []engine{{
	name:     "mattn",
	title:    "SQLite (C)",
	module:   "github.com/mattn/go-sqlite3",
	settings: "SQLite in C, through cgo. " + sqliteSettings,
	open:     func(dir string, m mode) (store, error) { return openSQLite(&sqlite3.SQLiteDriver{}, dir, m) },
	stall:    excludesWriter,
}}
