package memfs

import (
	"bytes"
	"maps"
)

// SectorSize is what a disk writes whole or not at all, in bytes. Package crabdb
// relies on it for its header alone, which is in the first one.
const SectorSize = 512

// Fate is what became of a sector that was written and not synced. A sector is
// written whole or not at all, where the disk had something before. Where the file
// ended, as the disk knew it, there is more that can go wrong: its new length is one
// thing, and the bytes are another.
type Fate int

// The fates of a sector.
const (
	Lost    Fate = iota // the disk has what the last sync left
	Kept                // it has what was written
	Zeroed              // the length was written, the bytes were not
	Garbled             // it has bytes that nobody wrote; as Kept where there was something
	Hidden              // the bytes were written, the length was not
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
			left[n] = n.crashed(sector, change)
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
func (n *inode) crashed(sector func() Fate, change func() Change) *inode {
	after := &inode{mode: n.mode, disk: bytes.Clone(n.disk), length: n.length}
	if len(n.now) < n.length && change() == Done {
		after.length = len(n.now)
	}
	for at := 0; at < len(n.now); at += SectorSize {
		end := min(at+SectorSize, len(n.now))
		if written := n.now[at:end]; !bytes.Equal(written, clip(n.disk[:n.length], at, end)) {
			after.apply(sector(), at, written, at < n.length)
		}
	}
	after.disk = clip(after.disk, 0, (after.length/blockSize+1)*blockSize)
	after.now = bytes.Clone(after.disk[:after.length])
	return after
}

// blockSize is the largest unit in which file systems take space for a file, in bytes:
// behind the end of one there may be what was written there once, as far as that goes.
const blockSize = 64 << 10

// clip returns b[from:to], as far as b goes.
func clip(b []byte, from, to int) []byte {
	return b[min(from, len(b)):min(to, len(b))]
}

// apply gives a sector its fate; something tells whether the file had any of it.
func (n *inode) apply(f Fate, at int, written []byte, something bool) {
	if f == Lost {
		return
	}
	end := at + len(written)
	n.disk = resized(n.disk, max(len(n.disk), end))
	if f != Hidden {
		n.length = max(n.length, end)
	}
	if f == Zeroed {
		return // zeros, or what was hidden there
	}
	sector := n.disk[at:end]
	copy(sector, written)
	if f == Garbled && !something {
		for i := range sector {
			sector[i] ^= 0xA5
		}
	}
}
