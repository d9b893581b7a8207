package crabdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// resolve returns the absolute path of the file that a path means, with every
// symbolic link followed, once, at open: what happens to the links or to the
// working directory later does not move the store. A link to a file that does not
// exist yet gives the place where it would be.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	const most = 40 // links in a row, as in Linux
	for range most {
		real, err := filepath.EvalSymlinks(abs)
		if err == nil {
			return real, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
		if err != nil {
			return "", err
		}
		abs = filepath.Join(dir, filepath.Base(abs))
		target, err := os.Readlink(abs)
		if err != nil {
			return abs, nil // not there, and no link
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		abs = target
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// The files beside a store's own. A sibling's name is the store's whole name, a
// word, and 16 hexadecimal digits; it is created exclusively, so that two stores
// in one directory and a person's own files never meet.
const (
	lockSuffix    = ".lock"
	compactSuffix = ".compact-"
	tornSuffix    = ".torn-"
)

// isSibling tells whether name is one that this package gives to a sibling of a
// store's file.
func isSibling(name, store, suffix string) bool {
	digits, ok := strings.CutPrefix(name, store+suffix)
	return ok && len(digits) == 16 && strings.Trim(digits, "0123456789abcdef") == ""
}
