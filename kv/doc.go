// Package kv is the one primitive that everything in Crabstore persists
// through: a store of five methods over (column, key).
//
// A store that has them is thereby already agents, sessions, memory, skills,
// harnesses, runs and ranked full-text search, because each of those is a
// package of functions over any [KVStorage]. There is nothing to construct and
// nothing to wire. The package imports no engine; adapters live in the folders
// beside this file, and each passes the suite in kvtest.
//
// # What a store promises
//
// The promises are sentences at [KVStorage] and its methods, and tests in
// kvtest. In short: scans ascend in byte order and see the store as it was when
// they began; every slice handed out is the caller's; nothing is locked while
// the caller's code runs inside a scan; an empty value is not an absent one; a
// store is safe for concurrent use, honours its context and answers
// [ErrClosed] after Close.
//
// # What is asked for by interface
//
// More than the five methods is asked for the way package io does it: by an
// interface of one idea ([Transactor], [Ranger], [Realmed], …) and a function
// that uses it where the store has it and does the same with the five methods,
// slower, where it has not ([Update], [View], [ScanRange], [Last], [RealmOf]).
// A faster way may be missing silently; a promise may not be faked: [Atomic]
// tells whether an Update is all or nothing.
//
// A transaction is itself a KVStorage, so every function of every package works
// inside one, unchanged, and they compose into one commit.
//
// # Keys, values, times and ids
//
// [Key], [Prefix] and [Split] build and take apart keys of the form
// {realm}/{part}/{part}…; [InRealm] confines a store to one realm. [Marshal]
// and [Unmarshal] are the codec of structured values. [FormatTime] is how a
// time stands in a key, and [NewID] makes the ids.
package kv
