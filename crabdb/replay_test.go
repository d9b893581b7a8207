package crabdb

import (
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/packtree"
)

// A replay takes memory for the index, and none for each record that it reads.
func TestReplayAllocatesNothingForARecord(t *testing.T) {
	const at = headerSize
	first := at + recordFrame + batchKey
	part := sealedRecord(first, opPut, 1, "key", "value")
	other := sealedRecord(first+len(part), opPut, 1, "other key", "value")
	for name, b := range map[string][]byte{
		"put":    sealedRecord(at, opPut, 1, "key", "value"),
		"delete": sealedRecord(at, opDelete, 1, "absent", ""),
		"batch":  batchRecord(at, 2, part, other),
	} {
		l := &loader{tree: packtree.New()}
		l.log = &logFile{layout: layout{sealed: true}}
		r, bad := l.log.decode(b, at)
		if bad != "" {
			t.Fatal(bad)
		}
		n := testing.AllocsPerRun(100, func() {
			if !l.apply(r, at) {
				t.Fatal("it could not be applied")
			}
		})
		if n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
