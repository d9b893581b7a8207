package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// A mapped file reads as the file does, whatever happens to the file meanwhile: it
// grows, is written to by another handle, is cut, renamed, removed. In memory, where
// nothing is mapped, the same holds.
func TestMapped(t *testing.T) {
	for name, fsys := range map[string]vfs.FS{"OS": vfs.OS{}, "memory": memfs.New()} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			f := vfs.Mapped(open(t, fsys, path, os.O_RDWR|os.O_CREATE))
			wantRead(t, f, 0, 1, "", io.EOF)
			write(t, f, "abc", 0)
			wantRead(t, f, 1, 2, "bc", nil)
			write(t, open(t, fsys, path, os.O_RDWR), "d", 3)
			wantRead(t, f, 0, 4, "abcd", nil)
			far := int64(3 << 20)
			write(t, f, "far", far)
			wantRead(t, f, far, 3, "far", nil)
			wantRead(t, f, far+100<<10, 1, "", io.EOF) // behind the page
			must(t, f.Truncate(2))
			wantRead(t, f, far, 3, "", io.EOF)
			wantRead(t, f, 0, 2, "ab", nil)
			long := bytes.Repeat([]byte("long"), 100<<10)
			write(t, f, string(long), 0)
			wantRead(t, f, 0, len(long), string(long), nil)
			must(t, fsys.Remove(path))
			wantRead(t, f, 0, 4, "long", nil)
			must(t, f.Close())
			wantRead(t, f, 0, 4, "", fs.ErrClosed)
			if f.Close() == nil {
				t.Error("it was closed twice")
			}
		})
	}
}

func wantRead(t *testing.T, f vfs.File, offset int64, n int, want string, wantErr error) {
	t.Helper()
	b := make([]byte, n)
	got, err := f.ReadAt(b, offset)
	if string(b[:got]) != want || !errors.Is(err, wantErr) {
		t.Fatalf("read %.20q, %v; want %.20q, %v", b[:got], err, want, wantErr)
	}
}

// Whoever cuts a file while it is read ends no process: a read gives the bytes, zeros
// where they are gone, or io.EOF.
func TestMappedWhileItIsCut(t *testing.T) {
	f := vfs.Mapped(open(t, vfs.OS{}, filepath.Join(t.TempDir(), "f"), os.O_RDWR|os.O_CREATE))
	page := bytes.Repeat([]byte{1}, 64<<10)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			b := make([]byte, 100)
			for {
				select {
				case <-done:
					return
				default:
				}
				n, err := f.ReadAt(b, 40<<10)
				if err != nil && !errors.Is(err, io.EOF) || err == nil && b[0] > 1 || err == nil && n != 100 {
					t.Errorf("read %d, %v, %d", n, err, b[0])
					return
				}
			}
		})
	}
	for range 2000 {
		if err := f.Truncate(0); err != nil {
			t.Error(err)
		}
		if _, err := f.WriteAt(page, 0); err != nil {
			t.Error(err)
		}
	}
	close(done)
	readers.Wait()
}

// What is written into reserved space is in the file as if it had been written
// otherwise, also where the space is gone by then.
func TestReserve(t *testing.T) {
	for name, fsys := range map[string]vfs.FS{"OS": vfs.OS{}, "memory": memfs.New()} {
		for _, memory := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "f")
				raw := open(t, fsys, path, os.O_RDWR|os.O_CREATE)
				f := vfs.Mapped(open(t, fsys, path, os.O_RDWR))
				write(t, f, "abc", 0)
				if err := f.Reserve(3, 100_000, memory); errors.Is(err, errors.ErrUnsupported) {
					t.Skip(err)
				} else {
					must(t, err)
				}
				write(t, f, "def", 3)
				write(t, f, "far", 90_000)
				wantRead(t, raw, 0, 7, "abcdef\x00", nil)
				wantRead(t, raw, 90_000, 3, "far", nil)
				wantRead(t, raw, 99_999, 2, "\x00", io.EOF)
				wantRead(t, f, 90_000, 3, "far", nil)
				write(t, f, "across", 99_997)
				wantRead(t, raw, 99_997, 7, "across", io.EOF)
				must(t, f.Reserve(100_003, 200_000, memory))
				write(t, f, "second", 150_000)
				write(t, f, "first", 80_000)
				wantRead(t, raw, 150_000, 6, "second", nil)
				wantRead(t, raw, 80_000, 5, "first", nil)
				must(t, raw.Truncate(4)) // somebody else
				write(t, f, "again", 150_000)
				wantRead(t, raw, 150_000, 6, "again", io.EOF)
				must(t, f.Truncate(2))
				write(t, f, "end", 1)
				wantRead(t, raw, 0, 9, "aend", io.EOF)
				must(t, f.Sync())
				must(t, f.Close())
			})
		}
	}
}
