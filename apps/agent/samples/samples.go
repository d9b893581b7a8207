// Package samples has sessions that ship with the program, so that it can be tried
// where no coding agent ever ran. Nobody had these conversations.
package samples

import (
	"embed"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

//go:embed claude-code codex pi opencode
var files embed.FS

// written is the time that extracted files bear: always the same, so that an
// importer knows them again.
var written = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// Extract writes the samples to a new folder below the temporary one. remove
// removes it; call it also when there is an error.
func Extract() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "agent-samples-")
	remove = func() {
		if dir != "" {
			os.RemoveAll(dir)
		}
	}
	if err != nil {
		return dir, remove, err
	}
	err = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		return extract(name, filepath.Join(dir, filepath.FromSlash(name)))
	})
	return dir, remove, err
}

func extract(name, target string) error {
	data, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(target, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(target, written, written)
}

// Name returns what a file that was extracted to dir is called, wherever that is:
// sample:codex/….jsonl.
func Name(dir, file string) string {
	name, err := filepath.Rel(dir, file)
	if err != nil || strings.HasPrefix(name, "..") {
		return file
	}
	return "sample:" + path.Clean(filepath.ToSlash(name))
}
