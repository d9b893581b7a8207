// Package home knows where an agent keeps its things and which engine opens its
// store. It is the only package that names one.
//
// # What it promises
//
// A store that is opened to be read is not changed, and one that does not exist
// is not created: ErrNoStore says so. One that is opened to be written is created
// where it is missing, the home directory with it, for its owner alone (0700, the
// file 0600), and is of the keyspace version of this program when Open returns.
//
// # How it is laid out
//
// home.go finds the directory, location.go reads BACKEND:LOCATION, store.go opens
// what it names, wait.go waits where another writes it, and schema.go keeps the version of the keyspace.
package home
