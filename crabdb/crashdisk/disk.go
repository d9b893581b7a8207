// Package crashdisk is for the tests of what is built on crabdb: a disk in memory with
// one store on it, processes that are killed, and power that is lost. It is the file
// system on which crabdb tests itself, and loses what that loses; TESTING.md says how.
package crashdisk

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// ErrKilled is what a store gets of the disk when its process was killed.
var ErrKilled = errors.New("crashdisk: the process is gone")

// path is that of the store. Its directory is one that exists on the machine too,
// since paths are resolved there.
var path = filepath.Join(filepath.VolumeName(os.TempDir())+string(filepath.Separator), "crashdisk.crmem")

// Disk is a disk with at most one store on it. It is safe for concurrent use.
type Disk struct {
	fs *memfs.FS

	mu      sync.Mutex
	process int // the one that runs
	watch   func(call string)
}

// New returns an empty disk.
func New() *Disk { return &Disk{fs: memfs.New()} }

// Open opens the store on the disk, and creates it where there is none. The one that
// was open before has to be closed, or killed.
func (d *Disk) Open(opts crabdb.Options) (*crabdb.DB, error) {
	d.mu.Lock()
	process := d.process
	d.mu.Unlock()
	return crabdb.Open(path, opts.On(faultfs.FS{FS: d.fs, Hook: func(call faultfs.Call) error {
		d.mu.Lock()
		running, watch := process == d.process, d.watch
		d.mu.Unlock()
		if !running {
			return ErrKilled
		}
		if watch != nil && call.Op.Changes() {
			watch(call.String())
		}
		return nil
	}}))
}

// Watch has fn called before every call that changes what is on the disk, whichever
// goroutine makes it, and told of the call; nil ends that.
func (d *Disk) Watch(fn func(call string)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watch = fn
}

// Kill ends the process that has the store open: none of its calls reaches the disk
// any longer, and its lock is free. What it had written and not synced another may
// read, and power may still be lost before it is on the disk. The store has yet to be
// closed, for its goroutines.
func (d *Disk) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.process++
	d.fs.ReleaseLocks()
}

// Empty tells whether there is no file at all, as before the name of the first was
// made durable.
func (d *Disk) Empty() bool { return len(d.fs.Names()) == 0 }

// Loss is a crash that can come now.
type Loss struct {
	How    string
	Killed bool         // the process was, and the power stayed: nothing is lost
	Disk   func() *Disk // that is found afterwards; the one before goes on as it was
}

// Losses returns a crash of each kind that a store in the sealed or in the plain format
// is to survive.
func (d *Disk) Losses(rng *rand.Rand, plain bool) []Loss {
	var losses []Loss
	for _, l := range d.fs.Losses(rng, !plain) {
		losses = append(losses, Loss{l.How, l.Killed, func() *Disk { return &Disk{fs: l.Left()} }})
	}
	return losses
}
