package jsonkv

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"sync"
	"time"
)

// memDisk is a disk in memory. It can fail at a call, or end there as the process
// does that is killed, and it can lose power: then each directory has what was synced
// and, of what was done to it since, the first so many steps.
type memDisk struct {
	mu     sync.Mutex
	root   *memDir
	calls  int
	at     int  // the call that fails, from 1; 0 is none
	killed bool // all calls behind it fail too
}

type memDir struct {
	live, durable map[string]any // *memDir or *memFile
	since         []func(map[string]any)
}

type memFile struct {
	name     string
	data     []byte
	mode     fs.FileMode
	modified time.Time
}

var (
	errInjected = errors.New("injected")
	_           = disk(&memDisk{})
)

func newMemDir() *memDir { return &memDir{live: map[string]any{}, durable: map[string]any{}} }

func newMemDisk() *memDisk { return &memDisk{root: newMemDir()} }

func (d *memDir) do(step func(map[string]any)) {
	step(d.live)
	d.since = append(d.since, step)
}

func (d *memDir) losePower(r *rand.Rand) {
	for _, step := range d.since[:r.IntN(len(d.since)+1)] {
		step(d.durable)
	}
	d.since, d.live = nil, map[string]any{}
	for name, entry := range d.durable {
		d.live[name] = entry
		if below, ok := entry.(*memDir); ok {
			below.losePower(r)
		}
	}
}

// fails counts a call and tells whether it is to fail.
func (d *memDisk) fails() bool {
	d.calls++
	return d.calls == d.at || d.killed && d.at > 0 && d.calls > d.at
}

// enter returns the directory of a name, and the name in it.
func (d *memDisk) enter(name string) (dir *memDir, base string, err error) {
	if d.fails() {
		return nil, "", errInjected
	}
	return d.find(name)
}

func (d *memDisk) find(name string) (dir *memDir, base string, err error) {
	if path.Dir(name) == "." {
		return d.root, name, nil
	}
	dir, ok := d.root.live[path.Dir(name)].(*memDir)
	if !ok {
		return nil, "", fs.ErrNotExist
	}
	return dir, path.Base(name), nil
}

func (d *memDisk) Lstat(name string) (fs.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, base, err := d.enter(name)
	if err != nil {
		return nil, err
	}
	f, ok := dir.live[base].(*memFile)
	if !ok {
		return nil, fs.ErrNotExist
	}
	return memInfo{f}, nil
}

func (d *memDisk) Same(a, b fs.FileInfo) bool { return a == b }

func (d *memDisk) ReadDir(name string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, _, err := d.enter(path.Join(name, "x"))
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range dir.live {
		names = append(names, name)
	}
	return names, nil
}

func (d *memDisk) ReadFile(name string) ([]byte, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	return slices.Clone(info.(memInfo).data), nil
}

func (d *memDisk) Mkdir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, base, err := d.enter(name)
	if err == nil && dir.live[base] != nil {
		err = fs.ErrExist
	}
	if err == nil {
		made := newMemDir()
		dir.do(func(m map[string]any) { m[base] = made })
	}
	return err
}

func (d *memDisk) Create(name string, data []byte, mode fs.FileMode, modified time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	fails := d.fails()
	dir, base, err := d.find(name)
	if err != nil || dir.live[base] != nil {
		return errors.Join(err, fs.ErrExist)
	}
	if fails && d.calls > d.at {
		return errInjected // dead before
	}
	if fails {
		data, err = data[:len(data)/2], errInjected
	}
	f := &memFile{base, slices.Clone(data), mode, modified}
	dir.do(func(m map[string]any) { m[base] = f })
	return err
}

func (d *memDisk) Rename(oldName, newName string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, from, err := d.enter(oldName)
	if err != nil {
		return err
	}
	if path.Dir(oldName) != path.Dir(newName) {
		return errors.New("two directories do not change at one moment")
	}
	f, ok := dir.live[from].(*memFile)
	if !ok {
		return fs.ErrNotExist
	}
	to := path.Base(newName)
	dir.do(func(m map[string]any) { delete(m, from); m[to] = f })
	return nil
}

func (d *memDisk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, base, err := d.enter(name)
	if err == nil && dir.live[base] == nil {
		err = fs.ErrNotExist
	}
	if err == nil {
		dir.do(func(m map[string]any) { delete(m, base) })
	}
	return err
}

func (d *memDisk) SyncDir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, _, err := d.enter(path.Join(name, "x"))
	if err != nil {
		return err
	}
	for _, step := range dir.since {
		step(dir.durable)
	}
	dir.since = nil
	return nil
}

func (d *memDisk) Lock() (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fails() {
		return nil, errInjected
	}
	return d, nil
}

func (d *memDisk) Close() error { return nil }

// failAt makes the call so many calls from now fail, or end the process.
func (d *memDisk) failAt(call int, killed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.at, d.killed = 0, call, killed
}

type memInfo struct{ *memFile }

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return int64(len(i.data)) }
func (i memInfo) Mode() fs.FileMode  { return i.mode }
func (i memInfo) ModTime() time.Time { return i.modified }
func (i memInfo) IsDir() bool        { return false }
func (i memInfo) Sys() any           { return nil }
