package skills

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/crabstore/crabstore/kv"
)

// Report tells what became of a folder of skills: each SKILL.md in it is either
// among the skills or among the faults.
type Report struct {
	Skills []Summary
	Faults []*Fault
}

// ScanDir finds the skills in a folder, at any depth, and stores nothing. The
// folder may itself be one.
//
// Nothing outside of it is read: a link that leads out is a fault. Links that lead
// to other folders within it are passed over, for what they lead to is found where
// it is. So are .git and node_modules, and what lies in the folder of a skill,
// which is that skill's. Of two skills whose names are one or differ by case alone
// the second, in the order of their paths, is a fault.
//
// An error is returned only when the folder cannot be opened or ctx ended.
func ScanDir(ctx context.Context, dir string) (Report, error) {
	w, err := walk(ctx, dir)
	if err != nil {
		return Report{}, err
	}
	r := Report{Faults: w.faults}
	for _, f := range w.found {
		r.Skills = append(r.Skills, f.summary)
	}
	return r, nil
}

// AddDir adds each skill that ScanDir finds, in a transaction of its own. One that
// Add refuses is a fault of the report; an error of the store ends the work, and
// the report then tells what was done.
func AddDir(ctx context.Context, s kv.KVStorage, dir string) (Report, error) {
	w, err := walk(ctx, dir)
	if err != nil {
		return Report{}, err
	}
	r := Report{Faults: w.faults}
	for _, f := range w.found {
		sum, err := Add(ctx, s, f.body, f.summary.Source)
		var fault *Fault
		switch {
		case err == nil:
			r.Skills = append(r.Skills, sum)
		case errors.As(err, &fault):
			r.Faults = append(r.Faults, fault)
		default:
			return r, fmt.Errorf("%s: %w", f.summary.Source, err)
		}
	}
	return r, nil
}

type found struct {
	summary Summary
	body    []byte
}

// walker collects the skills below a root, out of which the system lets no path
// lead.
type walker struct {
	root   *os.Root
	dir    string
	found  []found
	names  map[string]string // source by folded name
	faults []*Fault
}

func walk(ctx context.Context, dir string) (*walker, error) {
	dir, err := filepath.Abs(dir) // the same folder is the same source, wherever it is named from
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	w := &walker{root: root, dir: dir, names: map[string]string{}}
	w.folder(ctx, ".")
	return w, ctx.Err()
}

func (w *walker) source(name string) string {
	return filepath.Join(w.dir, filepath.FromSlash(name))
}

func (w *walker) fault(name string, err error) {
	w.faults = append(w.faults, &Fault{w.source(name), 0, err.Error(), err})
}

// folder visits a folder, by its path from the root.
func (w *walker) folder(ctx context.Context, name string) {
	if ctx.Err() != nil {
		return
	}
	entries, err := fs.ReadDir(w.root.FS(), name)
	if err != nil {
		w.fault(name, err)
		return
	}
	var files []string
	for _, e := range entries {
		if strings.EqualFold(e.Name(), FileName) {
			files = append(files, path.Join(name, e.Name()))
		}
	}
	switch len(files) {
	case 0:
		w.subfolders(ctx, name, entries)
	case 1:
		w.skill(files[0])
	default:
		w.fault(files[0], fmt.Errorf("%w: %s is there too; leave one", ErrInvalid, path.Base(files[1])))
	}
}

func (w *walker) subfolders(ctx context.Context, name string, entries []fs.DirEntry) {
	for _, e := range entries {
		sub := path.Join(name, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			if _, err := w.root.Stat(sub); err != nil {
				w.fault(sub, fmt.Errorf("the link leads nowhere or out of the folder; add what it leads to by its own path: %w", err))
			}
		case e.IsDir() && e.Name() != ".git" && e.Name() != "node_modules":
			w.folder(ctx, sub)
		}
	}
}

// skill reads one SKILL.md.
func (w *walker) skill(name string) {
	body, err := w.read(name)
	if err != nil {
		w.fault(name, err)
		return
	}
	sum, err := Parse(body, w.source(name))
	if err != nil {
		w.faults = append(w.faults, err.(*Fault))
		return
	}
	if other, taken := w.names[fold(sum.Name)]; taken {
		w.fault(name, fmt.Errorf("%w: %s is called %q too, or differs by case alone; rename one", ErrExists, other, sum.Name))
		return
	}
	w.names[fold(sum.Name)] = sum.Source
	w.found = append(w.found, found{sum, body})
}

// read returns a file of at most MaxSize bytes. It looks before it opens, since
// opening a pipe waits.
func (w *walker) read(name string) ([]byte, error) {
	info, err := w.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is no file", ErrInvalid)
	}
	f, err := w.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxSize+1)) // Parse refuses what is longer
}
