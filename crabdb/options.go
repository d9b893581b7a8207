package crabdb

import (
	"time"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
)

// Options says how a store is opened. The zero value is the right default: a
// sealed file, opened for writing and created when it is missing.
type Options struct {
	// Plain creates a new file in the plain format, which other implementations
	// read. It has no checksums, and a transaction in it is not all or nothing over
	// a power loss. What exists keeps its format.
	Plain bool

	// ReadOnly opens an existing file without a lock and changes nothing, neither
	// in the file nor beside it. Another process may write meanwhile; Refresh shows
	// what it wrote.
	ReadOnly bool

	// Salvage opens a damaged file, read-only, for the records in it that are
	// whole. Stats says what could not be read.
	Salvage bool

	// MustExist makes opening fail with fs.ErrNotExist where it would create.
	MustExist bool

	// Sync says when writes reach the disk. A process that is killed loses nothing
	// in any mode; it is the power loss that they differ in.
	Sync SyncMode

	// SyncEvery is the interval of SyncInterval; 0 means a second.
	SyncEvery time.Duration

	// CompactRatio is the share of dead bytes, of all behind the header, at which
	// compaction starts by itself, and CompactMin how many dead bytes there must
	// be. 0 means a half and 1 MiB. A negative CompactRatio leaves compaction to
	// Compact; a negative CompactMin means no minimum.
	CompactRatio float64
	CompactMin   int64

	// CompactReplaced counts as dead only the puts whose keys were put or deleted
	// again since the last compaction, not the deletes nor old snapshots. The
	// implementation that the plain format comes from does so.
	CompactReplaced bool

	// CompactInline makes the write that brings compaction about wait for it. By
	// default it runs beside reads and writes.
	CompactInline bool

	// CheckpointEvery is after how many bytes of writes a sealed store makes a
	// checkpoint by itself, so that opening after a crash stays quick. 0 means 64
	// MiB; negative leaves it to Checkpoint and Close.
	CheckpointEvery int64

	fs         vfs.FS // the machine's when nil
	leastSpace int64  // the package's own when 0; tests make it small
}

// SyncMode says when writes reach the disk.
type SyncMode int

const (
	// SyncCheckpoint syncs at a checkpoint, a compaction and Close. Writes since
	// then may be lost with the power, the last ones first.
	SyncCheckpoint SyncMode = iota

	// SyncInterval syncs besides every Options.SyncEvery.
	SyncInterval

	// SyncWrite syncs before a write returns. Writers at the same time share a sync.
	SyncWrite
)

// On returns the options with another file system in the place of the machine's. It
// is for the tests of what is built on the engine, which package crashdisk gives one:
// what else imports this package cannot name any.
func (o Options) On(fsys vfs.FS) Options {
	o.fs = fsys
	return o
}

func (o Options) withDefaults() Options {
	if o.SyncEvery <= 0 {
		o.SyncEvery = time.Second
	}
	if o.CompactRatio == 0 {
		o.CompactRatio = 0.5
	}
	if o.CompactMin == 0 {
		o.CompactMin = 1 << 20
	}
	if o.CheckpointEvery == 0 {
		o.CheckpointEvery = 64 << 20
	}
	if o.leastSpace == 0 {
		o.leastSpace = leastSpace
	}
	if o.fs == nil {
		o.fs = vfs.OS{}
	}
	return o
}
