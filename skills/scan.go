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

// WalkDir finds the skills in a folder, at any depth, and calls take with the file
// of each and where it is. The folder may itself be a skill. A *Fault of take is
// one of the report; another error ends the walk, and the report then tells what
// was done.
//
// Nothing outside of the folder is read: a link that leads out is a fault. Links
// that lead to other folders within it are passed over, for what they lead to is
// found where it is. So are .git and node_modules, and what lies in the folder of a
// skill, which is that skill's. Of two skills whose names are one or differ by case
// alone the second, in the order of their paths, is a fault.
func WalkDir(ctx context.Context, dir string, take func(body []byte, source string) (Summary, error)) (Report, error) {
	dir, err := filepath.Abs(dir) // the same folder is the same source, wherever it is named from
	if err != nil {
		return Report{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Report{}, err
	}
	defer root.Close()
	w := &walker{ctx: ctx, root: root, dir: dir, take: take, names: map[string]string{}}
	err = w.folder(".")
	return w.report, err
}

// ScanDir is WalkDir with Parse: it stores nothing.
func ScanDir(ctx context.Context, dir string) (Report, error) { return WalkDir(ctx, dir, Parse) }

// AddDir is WalkDir with Add: each skill is added in a transaction of its own.
func AddDir(ctx context.Context, s kv.KVStorage, dir string) (Report, error) {
	return WalkDir(ctx, dir, func(body []byte, source string) (Summary, error) {
		return Add(ctx, s, body, source)
	})
}

// walker visits what lies below a root, out of which the system lets no path lead.
type walker struct {
	ctx    context.Context
	root   *os.Root
	dir    string
	take   func(body []byte, source string) (Summary, error)
	names  map[string]string // source by folded name
	report Report
}

func (w *walker) source(name string) string {
	return filepath.Join(w.dir, filepath.FromSlash(name))
}

func (w *walker) fault(name string, err error) {
	w.report.Faults = append(w.report.Faults, &Fault{w.source(name), 0, err.Error(), err})
}

// folder visits a folder, by its path from the root.
func (w *walker) folder(name string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(w.root.FS(), name)
	if err != nil {
		w.fault(name, err)
		return nil
	}
	var files []string
	for _, e := range entries {
		if strings.EqualFold(e.Name(), FileName) {
			files = append(files, path.Join(name, e.Name()))
		}
	}
	switch len(files) {
	case 0:
		return w.subfolders(name, entries)
	case 1:
		return w.skill(files[0])
	}
	w.fault(files[0], fmt.Errorf("%w: %s is there too; leave one", ErrInvalid, path.Base(files[1])))
	return nil
}

func (w *walker) subfolders(name string, entries []fs.DirEntry) error {
	for _, e := range entries {
		sub := path.Join(name, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			if _, err := w.root.Stat(sub); err != nil {
				w.fault(sub, fmt.Errorf("the link leads nowhere or out of the folder; add what it leads to by its own path: %w", err))
			}
		case e.IsDir() && e.Name() != ".git" && e.Name() != "node_modules":
			if err := w.folder(sub); err != nil {
				return err
			}
		}
	}
	return nil
}

// skill takes one SKILL.md, unless an earlier one has its name.
func (w *walker) skill(name string) error {
	body, err := w.read(name)
	if err != nil {
		w.fault(name, err)
		return nil
	}
	sum, err := Parse(body, w.source(name))
	if err == nil {
		if other, taken := w.names[fold(sum.Name)]; taken {
			w.fault(name, fmt.Errorf("%w: %s is called %q too, or differs by case alone; rename one", ErrExists, other, sum.Name))
			return nil
		}
		w.names[fold(sum.Name)] = sum.Source
		sum, err = w.take(body, sum.Source)
	}
	var fault *Fault
	switch {
	case err == nil:
		w.report.Skills = append(w.report.Skills, sum)
	case errors.As(err, &fault):
		w.report.Faults = append(w.report.Faults, fault)
	default:
		return fmt.Errorf("%s: %w", w.source(name), err)
	}
	return nil
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
