package memfs

import (
	"bytes"
	"maps"
)

// SectorSize is what a disk writes whole or not at all, in bytes. Package crabdb
// relies on it for its header alone, which is in the first one.
const SectorSize = 512

// Fate is what became of a sector that was written and not synced. One of which the
// disk had something before is written whole or not at all, so it is Lost or Kept:
// the other two are for those behind the file's end as the disk knew it, and count
// as these where there was something.
type Fate int

// The fates of a sector.
const (
	Lost    Fate = iota // the disk has what the last sync left
	Kept                // it has what was written
	Zeroed              // the length was written, the bytes were not; else as Lost
	Garbled             // it has bytes that nobody wrote; else as Kept
)

// Change is what became of a change of a directory, or of a file's being cut short,
// that was made and not synced.
type Change int

// What can have become of it.
const (
	Undone Change = iota
	Done
	Half // of a rename: the file has both names; else as Undone
)

// Crash returns the file system that is found after a power loss now: with all
// that was synced; of every other sector what sector says; and of every change,
// from the oldest to the newest, what change says. Nothing is locked in it. The
// file system itself goes on as it was.
func (m *FS) Crash(sector func() Fate, change func() Change) *FS {
	m.mu.Lock()
	defer m.mu.Unlock()
	durable := maps.Clone(m.durable)
	for _, c := range m.pending {
		switch change() {
		case Done:
			c.apply(durable)
		case Half:
			if c.gone != "" {
				durable[c.path] = c.to
			}
		}
	}
	after := New()
	left := map[*inode]*inode{}
	for path, n := range durable {
		if left[n] == nil {
			disk := n.crashed(sector, change)
			left[n] = &inode{now: disk, disk: bytes.Clone(disk), mode: n.mode}
		}
		after.entries[path] = left[n]
	}
	after.durable = maps.Clone(after.entries)
	return after
}

// Kill returns the file system as the operating system has it when a process is
// killed: nothing is lost but the locks.
func (m *FS) Kill() *FS {
	return m.Crash(func() Fate { return Kept }, func() Change { return Done })
}

// Synced returns the file system with what was synced and nothing else.
func (m *FS) Synced() *FS {
	return m.Crash(func() Fate { return Lost }, func() Change { return Undone })
}

// crashed returns what a power loss leaves of a file.
func (n *inode) crashed(sector func() Fate, change func() Change) []byte {
	disk := bytes.Clone(n.disk)
	if len(n.now) < len(disk) && change() == Done {
		disk = disk[:len(n.now)]
	}
	for at := 0; at < len(n.now); at += SectorSize {
		end := min(at+SectorSize, len(n.now))
		if written := n.now[at:end]; !bytes.Equal(written, clip(n.disk, at, end)) {
			disk = sector().where(at < len(n.disk)).apply(disk, at, written)
		}
	}
	return disk
}

// clip returns b[from:to], as far as b goes.
func clip(b []byte, from, to int) []byte {
	return b[min(from, len(b)):min(to, len(b))]
}

// where returns the fate of a sector of which the disk had something, or nothing.
func (f Fate) where(something bool) Fate {
	switch {
	case something && f == Zeroed:
		return Lost
	case something && f == Garbled:
		return Kept
	}
	return f
}

func (f Fate) apply(disk []byte, at int, written []byte) []byte {
	if f == Lost {
		return disk
	}
	disk = resized(disk, max(len(disk), at+len(written)))
	sector := disk[at : at+len(written)]
	copy(sector, written)
	for i := range sector {
		switch f {
		case Zeroed:
			sector[i] = 0
		case Garbled:
			sector[i] ^= 0xA5
		}
	}
	return disk
}
