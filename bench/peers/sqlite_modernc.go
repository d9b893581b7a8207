package main

import "modernc.org/sqlite"

var moderncEngine = engine{
	name:     "modernc",
	title:    "SQLite (Go)",
	module:   "modernc.org/sqlite",
	settings: "SQLite translated to Go, without cgo. " + sqliteSettings,
	open:     func(dir string, m mode) (store, error) { return openSQLite(&sqlite.Driver{}, dir, m) },
	stall:    excludesWriter,
}
