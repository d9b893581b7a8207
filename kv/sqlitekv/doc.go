// Package sqlitekv makes a SQLite database a kv.KVStorage.
package sqlitekv
