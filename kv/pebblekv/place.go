package pebblekv

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/crabstore/crabstore/kv"
)

const (
	// format is the version of pebble's own format that stores are written in: the
	// last one before FormatWALSyncChunks, whose log claims in every record that what
	// came before it was synced. Where a log is not synced at each commit that is a
	// lie, and after a power loss pebble would take the torn tail for corruption.
	format = pebble.FormatColumnarBlocks

	// layout names what this adapter makes of a pebble database: the byte of the
	// column, then the key. It is kept as the name of a merge operator, which nothing
	// uses, and which pebble writes into the OPTIONS file of a database.
	layout = "crabstore.pebblekv.1"

	// backupPrefix begins the names of directories in which backups are made.
	backupPrefix = "backup-"

	formatMarker = "marker.format-version."
)

// storeFile matches the names of the files that a store consists of.
var storeFile = regexp.MustCompile(`^([0-9]{6,}\.(sst|log)|(MANIFEST|OPTIONS)-[0-9]{6,}|marker\.[a-z-]+\.[0-9]{6,}\.[0-9A-Za-z-]+)$`)

// resolve returns the one name that a directory has, so that a lock is the same
// under every spelling and a relative path outlives a chdir. What does not exist
// yet is named below its parent.
func resolve(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if _, err := os.Lstat(abs); err == nil {
		return "", fmt.Errorf("pebblekv: %s is a link to nothing: %w", dir, fs.ErrNotExist)
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if errors.Is(err, fs.ErrNotExist) {
		return abs, nil
	}
	return filepath.Join(parent, filepath.Base(abs)), err
}

// inspect tells whether a directory holds a store, and refuses one that it may not
// be opened as. It changes nothing. A directory that is empty or absent, or in which
// the making of a store was interrupted, holds none.
func inspect(fsys vfs.FS, dir string) (exists bool, err error) {
	info, err := fsys.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		return false, fmt.Errorf("%w: %s is a file", ErrNotStore, dir)
	}
	names, err := fsys.List(dir)
	if err != nil {
		return false, err
	}
	if err := checkNames(dir, names); err != nil {
		return false, err
	}
	found, err := pebble.Peek(dir, fsys)
	if err != nil {
		return false, fmt.Errorf("%w: %s: %w", kv.ErrCorrupt, dir, err)
	}
	if !found.Exists {
		return false, checkUnused(dir, names)
	}
	return true, checkLayout(fsys, found.OptionsFilename)
}

// checkNames refuses the formats that the names of the files tell of.
func checkNames(dir string, names []string) error {
	for _, name := range names {
		if name == "CURRENT" {
			return fmt.Errorf("%w: %s holds a database of LevelDB, RocksDB or an old pebble", ErrNotStore, dir)
		}
		rest, ok := strings.CutPrefix(name, formatMarker)
		if !ok {
			continue
		}
		_, value, _ := strings.Cut(rest, ".")
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return fmt.Errorf("%w: %s: %q names no version", kv.ErrCorrupt, dir, name)
		}
		if n > uint64(format) || n < uint64(pebble.FormatMinSupported) {
			return fmt.Errorf("%w: %s is in version %d of pebble's format, this program reads %d to %d",
				ErrVersion, dir, n, pebble.FormatMinSupported, format)
		}
	}
	return nil
}

// checkUnused refuses a directory with things in it but what pebble makes first of a
// store: the lock and a manifest, before the marker that names it and all else. A store
// that has lost its manifest must not be taken for one that was never made: pebble would
// make it anew and delete its tables.
func checkUnused(dir string, names []string) error {
	for _, name := range names {
		switch {
		case name == "LOCK", isManifest(name):
		case name == "lost+found": // in a fresh file system
		case storeFile.MatchString(name):
			return fmt.Errorf("%w: %s holds %q but no manifest, or none that is marked as current", kv.ErrCorrupt, dir, name)
		default:
			return fmt.Errorf("%w: %s holds other things, as %q; name a directory that is empty or not there yet", ErrNotStore, dir, name)
		}
	}
	return nil
}

// checkLayout refuses the pebble database of another program. One without an OPTIONS
// file was never written to: it is the last that its making writes.
func checkLayout(fsys vfs.FS, options string) error {
	if options == "" {
		return nil
	}
	f, err := fsys.Open(options)
	if err != nil {
		return err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "merger=")
		switch family, _, _ := strings.Cut(layout, "."); {
		case !ok:
		case name == layout:
			return nil
		case strings.HasPrefix(name, family+"."):
			return fmt.Errorf("%w: %s says %q, this program writes %q", ErrVersion, options, name, layout)
		default:
			return fmt.Errorf("%w: a pebble database of another program (%s says merger %q)", ErrNotStore, options, name)
		}
	}
	return fmt.Errorf("%w: %s names no merger", kv.ErrCorrupt, options)
}
