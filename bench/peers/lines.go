package main

import (
	"fmt"
	"slices"
	"strings"
)

// line is one line of the table.
type line struct {
	id    string // of its figure
	of    string // which of ours the lead is of; empty for crabdb
	group string // as -lines names it
	title string
	unit  string
	more  bool   // the larger figure is the better
	floor string // the figure of the floor that it is held against, if any
	plain bool   // only told: no lead is worked out, and it is not plotted
}

// States that the read stages find the store in: what their figures end in.
const (
	asLoaded  = "/loaded"
	compacted = "/compacted"
)

// lines are all lines, in the order of the table.
func lines() []line {
	all := []line{
		{id: "put", group: "put", title: "put, 1 writer, no sync", unit: "µs", floor: "write"},
		{id: "sync", group: "sync", title: "put with fsync, 16 writers", unit: "/s", more: true},
		{id: "batch", group: "batch", title: "batch of 100, no sync", unit: "µs", floor: "pwrite-batch"},
		{id: "delete", group: "delete", title: "delete", unit: "µs", floor: "write"},
	}
	all = append(all, inBothStates(
		line{id: "get", group: "get", title: "random get, 1 goroutine", unit: "µs", floor: "mapped"},
		line{id: "get-two", group: "get", title: "random get, 2 goroutines", unit: "/s", more: true},
		line{id: "absent", group: "absent", title: "get of an absent key", unit: "µs", floor: "tree-get"},
		line{id: "session-keys", group: "scan", title: "keys of a session (100)", unit: "µs", floor: "tree-session"},
		line{id: "session-values", group: "scan", title: "session with values (100)", unit: "µs", floor: "pread-run"},
		line{id: "full-keys", group: "full", title: "full scan of keys, per key", unit: "ns"},
		line{id: "full-values", group: "full", title: "full scan with values, per key", unit: "ns"},
	)...)
	all = append(all,
		line{id: "mixed-median", group: "mixed", title: "get beside a writer, median", unit: "µs"},
		line{id: "mixed", group: "mixed", title: "get beside a writer, 99.9 %", unit: "µs"},
	)
	all = append(all, inBothStates(
		line{id: "open", group: "open", title: "open after a clean close", unit: "ms"},
	)...)
	all = append(all,
		line{id: "open-killed", group: "open", title: "open after kill -9", unit: "ms"},
		line{id: "lost", group: "open", title: "acknowledged puts lost by kill -9", unit: "", plain: true},
	)
	all = append(all, inBothStates(
		line{id: "anonymous-opened", group: "memory", title: "anonymous memory after open", unit: "MiB"},
		line{id: "anonymous-used", group: "memory", title: "anonymous memory, every key read", unit: "MiB"},
		line{id: "mapped-used", group: "memory", title: "mapped file pages, every key read", unit: "MiB", plain: true},
	)...)
	return append(all,
		line{id: "size", group: "size", title: "size on disk, loaded", unit: "MiB"},
		line{id: "size" + compacted, group: "size", title: "size on disk, overwritten and compacted", unit: "MiB"},
		line{id: "compaction" + compacted, group: "size", title: "compaction of what was overwritten", unit: "s"},
		line{id: "stall", group: "stall", title: "put beside a compaction, 99.9 %", unit: "ms"},
		line{id: "stall-max", group: "stall", title: "put beside a compaction, longest", unit: "ms"},
	)
}

// inBothStates gives each line twice: as the store was loaded, and overwritten and
// compacted.
func inBothStates(all ...line) []line {
	var both []line
	for _, l := range all {
		loaded, settled := l, l
		loaded.id, loaded.title = l.id+asLoaded, l.title+"; as loaded"
		settled.id, settled.title = l.id+compacted, l.title+"; compacted"
		both = append(both, loaded, settled)
	}
	return both
}

// floorLines are what the floor is measured in.
var floorLines = []line{
	{id: "write", title: "write(2) of 300 bytes at the end of a file", unit: "µs"},
	{id: "pwrite-batch", title: "pwrite(2) of 33 KB at the end of a file", unit: "µs"},
	{id: "fdatasync-append", title: "write of 300 bytes at the end and fdatasync", unit: "ms"},
	{id: "fdatasync", title: "the same over blocks written before", unit: "ms"},
	{id: "pread", title: "pread(2) of 300 bytes at random", unit: "µs"},
	{id: "pread-run", title: "pread(2) of 32 KiB at random", unit: "µs"},
	{id: "mapped", title: "copy of 300 bytes from a resident mapping", unit: "µs"},
	{id: "tree-put", title: "B-tree in memory (tidwall/btree): set, key cloned", unit: "µs"},
	{id: "tree-get", title: "B-tree in memory: get", unit: "µs"},
	{id: "tree-session", title: "B-tree in memory: keys of a session", unit: "µs"},
}

// groups are the names that -lines takes, in the order of the table.
func groups() []string {
	var names []string
	for _, l := range lines() {
		if !slices.Contains(names, l.group) {
			names = append(names, l.group)
		}
	}
	return names
}

// parseGroups splits what -lines was given; nothing means all.
func parseGroups(text string) ([]string, error) {
	known := groups()
	if text == "" {
		return known, nil
	}
	wanted := strings.Split(text, ",")
	for _, g := range wanted {
		if !slices.Contains(known, g) {
			return nil, fmt.Errorf("no line %q; there are %s", g, strings.Join(known, ","))
		}
	}
	return wanted, nil
}
