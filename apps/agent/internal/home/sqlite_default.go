//go:build sqlite

package home

const sqliteIsDefault = true
