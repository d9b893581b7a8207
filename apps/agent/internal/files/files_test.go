package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A file that could not be written whole leaves what was there, and nothing beside.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	hello := func(w io.Writer) error { _, err := w.Write([]byte("hello")); return err }
	broken := errors.New("broken")
	half := func(w io.Writer) error { w.Write([]byte("half")); return broken }

	if err := Write(path, true, half); !errors.Is(err, broken) {
		t.Errorf("half: %v", err)
	}
	if err := Write(path, true, hello); err != nil {
		t.Error(err)
	}
	if err := Write(path, true, hello); !errors.Is(err, ErrExists) {
		t.Errorf("over a file: %v", err)
	}
	if err := Write(path, false, half); !errors.Is(err, broken) {
		t.Errorf("half, over a file: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "hello" {
		t.Errorf("it holds %q, %v", data, err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("f", link); err != nil {
		t.Skip(err)
	}
	if err := Write(link, false, func(w io.Writer) error { _, err := w.Write([]byte("new")); return err }); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "new" {
		t.Errorf("through a link: %q, %v", data, err)
	}
	if target, err := os.Readlink(link); err != nil || target != "f" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("in the folder: %v, %v", left, err)
	}
}
