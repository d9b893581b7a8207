package pebblekv

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/crabstore/crabstore/kv"
)

// Errors of this package besides those of package kv.
var (
	// ErrNotStore says that a place holds something else than a store of this
	// adapter: a file, a directory with other things in it, or a pebble database
	// of another program. Nothing there was changed.
	ErrNotStore = errors.New("pebblekv: not a store of this kind")

	// ErrVersion says that a store is of a format that this program does not write.
	// The message names both. Nothing was changed.
	ErrVersion = errors.New("pebblekv: made by another version")

	// ErrPoisoned says that a write or a sync failed before, so that it is not known
	// what reached the disk. Reads go on, writes are refused; opening the store
	// again starts from what the disk holds. It wraps the cause.
	ErrPoisoned = errors.New("pebblekv: an earlier write failed; mend its cause and reopen the store")

	// ErrBadBackup says that what Restore was given is not what Backup wrote, whole.
	// Nothing was restored.
	ErrBadBackup = errors.New("pebblekv: not a sound backup")
)

// translate makes an error of the engine one of kv too. Corruption is named with
// its file.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case err == pebble.ErrNotFound:
		return kv.ErrNotFound
	case errors.Is(err, pebble.ErrClosed):
		return fmt.Errorf("%w: %w", kv.ErrClosed, err)
	case errors.Is(err, pebble.ErrReadOnly):
		return fmt.Errorf("%w: %w", kv.ErrReadOnly, err)
	case !pebble.IsCorruptionError(err), errors.Is(err, kv.ErrCorrupt):
		return err
	}
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return fmt.Errorf("%w: %s: %w", kv.ErrCorrupt, info.Path, err)
	}
	return fmt.Errorf("%w: %w", kv.ErrCorrupt, err)
}

// translateOpening is translate for what pebble says of a directory that holds a
// store of ours in a format we know and that no other has open: what is not an
// error of the system tells of its files, and a file that is missing was lost.
func translateOpening(dir string, err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, kv.ErrBusy), errors.Is(err, ErrPoisoned):
		return err
	case errors.As(err, &errno) && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("pebblekv: opening %s: %w", dir, err)
	}
	if translated := translate(err); errors.Is(translated, kv.ErrCorrupt) {
		return translated
	}
	return fmt.Errorf("%w: %s: %w", kv.ErrCorrupt, dir, err)
}
