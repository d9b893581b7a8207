package crabdb

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// A file system that loses the power at any moment, while writers write or the store
// recovers from the cut before, keeps what was promised, and of what was not a
// prefix of the history. The file systems are real ones, in an image behind a loop
// device. The power is cut with the ioctl that xfstests uses for it: from then on
// nothing that is in memory alone reaches the image.
//
// In a plain file nothing tells a hole, left where the disk wrote later bytes first,
// from what was written. So its disk is one that orders data, and is left in peace.
func TestPowerCut(t *testing.T) {
	for _, d := range []disk{
		{name: "ext4", mkfs: "mkfs.ext4", size: 64 << 20, options: "data=ordered"},
		{name: "ext4 without order", mkfs: "mkfs.ext4", size: 64 << 20, options: "data=writeback"},
		{name: "xfs", mkfs: "mkfs.xfs", size: 320 << 20, options: "defaults"},
	} {
		t.Run(d.name, func(t *testing.T) {
			eachCampaign(t, func(t *testing.T, opts Options, seed uint64) {
				if opts.Plain && d.options != "data=ordered" {
					t.Skip("this file system does not order data: a plain file promises less")
				}
				d := d // each has its own
				d.make(t)
				c := newCampaign(t, filepath.Join(d.dir, "store.crmem"), opts, seed)
				for range count(t, "CRABDB_POWERCUTS", 6, 200) {
					c.cutPower(&d)
				}
				t.Log(c)
			})
		})
	}
}

// cutPower lets a child write until the power goes, and looks at what is left.
func (c *campaign) cutPower(d *disk) {
	c.t.Helper()
	stop := func() {}
	if !c.opts.Plain && c.rng.IntN(2) == 0 {
		stop = d.disorder(c.path, c.rng.Uint64())
	}
	flags := shutdownNoLogFlush
	if c.rng.IntN(4) == 0 {
		flags = shutdownLogFlush
	}
	var cut error
	var atLeast [writers]int
	w := c.live(func(w *witness) {
		// What is told from here on does not count: a sync that is under way while the
		// ioctl is can succeed although its pages are thrown away. (ext4 does not convert
		// the extents that it had written, and takes an old transaction for enough.)
		atLeast = w.promise(c.opts.Sync)
		cut = d.cut(flags)
	})
	stop()
	must(c.t, cut)
	if w.failed != nil && !lostDisk(w.failed) {
		c.t.Fatalf("%s: the child failed otherwise than for its disk: %v", c, w.failed)
	}
	must(c.t, d.restart())
	if c.rng.IntN(3) == 0 {
		c.recover(func() { cut = d.cut(flags) })
		must(c.t, errors.Join(cut, d.restart()))
	}
	// Looking alone leaves behind the file's end what the next child has to pave over.
	// The power may go while it does.
	look := c.rng.IntN(2) == 0
	c.verify(w, atLeast, look)
	c.back = look
}

// lostDisk tells whether a child's error, of which there is the text alone, is one
// of those that a file system gives without power.
func lostDisk(err error) bool {
	for _, e := range []syscall.Errno{syscall.EIO, syscall.EROFS, syscall.ESHUTDOWN} {
		if strings.Contains(err.Error(), e.Error()) {
			return !strings.Contains(err.Error(), ErrCorrupt.Error())
		}
	}
	return false
}

// disk is a file system in a file.
type disk struct {
	name, mkfs, options string
	size                int64

	image, dir string
	root       *os.File // its directory, for the ioctl
}

// make makes and mounts the file system, and skips the test where that cannot be.
func (d *disk) make(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	dir := t.TempDir()
	d.image, d.dir = filepath.Join(dir, "image"), filepath.Join(dir, "mounted")
	must(t, os.Mkdir(d.dir, 0o700))
	writeFile(t, d.image, nil)
	must(t, os.Truncate(d.image, d.size))
	if _, err := exec.LookPath(d.mkfs); err != nil {
		t.Skip(err)
	}
	must(t, run(d.mkfs, "-q", d.image))
	if err := d.mount(); err != nil {
		t.Skipf("no loop mounts here: %v", err)
	}
	t.Cleanup(func() {
		if err := d.unmount(0); err != nil {
			t.Error(errors.Join(err, d.unmount(syscall.MNT_DETACH)))
		}
	})
	if err := d.cut(shutdownNoLogFlush); err != nil {
		t.Skipf("the power cannot be cut here: %v", err)
	}
	must(t, d.restart())
}

func (d *disk) mount() (err error) {
	if err := run("mount", "-o", "loop,"+d.options, d.image, d.dir); err != nil {
		return err
	}
	d.root, err = os.Open(d.dir)
	return err
}

// restart is the power coming back.
func (d *disk) restart() error { return errors.Join(d.unmount(0), d.mount()) }

// unmount detaches the loop device too. Any other process that looks over the mounts,
// such as a mount command, keeps one busy for a moment.
func (d *disk) unmount(flags int) error {
	d.root.Close()
	var err error
	for range 500 {
		if err = syscall.Unmount(d.dir, flags); !errors.Is(err, syscall.EBUSY) {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	return os.NewSyscallError("unmount", err)
}

// run runs a program, and makes what it says an error if it fails.
func run(name string, args ...string) error {
	said, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return errors.Join(err, errors.New(name+": "+strings.TrimSpace(string(said))))
	}
	return nil
}

// The request and flags of the ioctl, the same for ext4 (EXT4_IOC_SHUTDOWN) and xfs
// (XFS_IOC_GOINGDOWN). The journal in memory is written out first, or is not.
const (
	shutdown           = 0x8004587D // _IOR('X', 125, __u32)
	shutdownLogFlush   = uint32(1)
	shutdownNoLogFlush = uint32(2)
)

func (d *disk) cut(flags uint32) error {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, d.root.Fd(), shutdown, uintptr(unsafe.Pointer(&flags)))
	if errno != 0 {
		return os.NewSyscallError("ioctl", errno)
	}
	return nil
}

// disorder makes the disk write stretches of the store's file before those that come
// earlier in it, and the journal besides, until it is stopped or the power is gone.
func (d *disk) disorder(path string, seed uint64) (stop func()) {
	rng := rand.New(rand.NewPCG(seed, 0))
	halt, halted := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(halted)
		for d.writeSome(path, rng) == nil {
			select {
			case <-halt:
				return
			case <-time.After(time.Duration(rng.IntN(1500)) * time.Microsecond):
			}
		}
	}()
	return func() { close(halt); <-halted }
}

// writeSome writes some pages of a file out of turn, and the journal by way of
// another file. Before there is a store it does nothing.
func (d *disk) writeSome(path string, rng *rand.Rand) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	pages := info.Size()/4096 + 1
	const startAndWait = 2 | 4 // SYNC_FILE_RANGE_WRITE, SYNC_FILE_RANGE_WAIT_AFTER
	for range rng.IntN(4) {
		last := max(0, pages-1-int64(rng.IntN(24)))
		if err := syscall.SyncFileRange(int(f.Fd()), last*4096, 4096*int64(1+rng.IntN(3)), startAndWait); err != nil {
			return err
		}
	}
	other, err := os.OpenFile(filepath.Join(d.dir, "other"), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = other.WriteAt([]byte{byte(pages)}, rng.Int64N(1<<16))
	return errors.Join(err, other.Sync(), other.Close())
}
