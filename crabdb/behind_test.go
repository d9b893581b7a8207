package crabdb

import (
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
)

// Two power losses had brought a record back, as TestPowerCut found. The first left
// it on the disk in the last block, behind the end that the file system had noted.
// The second came when a newer write had made the file grow over it, and the new
// length was on the disk and the new bytes were not.
func TestRecordsBehindTheEndStayAway(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		file := killed(t, opts, func(db *DB) { put(t, db, "old", "1") })
		disk := killed(t, opts, func(db *DB) { put(t, db, "old", "1"); put(t, db, "lost", "2") })
		if len(disk) == len(file) {
			t.Fatal("nothing is behind the end")
		}
		m, acknowledged, crashes := inMemory(t, file), false, 0
		hook := func(c faultfs.Call) error {
			if c.Path != memPath || !c.Op.Changes() {
				return nil
			}
			crashes++
			file := bytesIn(t, m)
			db, _, err := openBytes(t, disk[:min(len(disk), len(file))], opts)
			must(t, err)
			want(t, db, "old", "1")
			if acknowledged {
				wantAbsent(t, db, "lost")
			}
			if c.Op == faultfs.Sync {
				disk = file
			}
			return nil
		}
		db := mustOpen(t, memPath, opts.On(faultfs.FS{FS: m, Hook: hook}))
		put(t, db, "new", "33") // as long as what was lost
		acknowledged = true
		put(t, db, "newer", "444")
		must(t, db.Sync())
		t.Logf("%d crashes", crashes)
	})
}
