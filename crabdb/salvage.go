package crabdb

import (
	"fmt"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
)

// guessHeader is for a file whose header cannot be read and that is to be
// salvaged: it is sealed if a sealed record is found in it, and plain otherwise.
func guessHeader(path string, file vfs.File) (header, error) {
	info, err := file.Stat()
	if err != nil {
		return header{}, fmt.Errorf("open %s: %w", path, err)
	}
	w := walker{log: newLogFile(path, file, true), size: info.Size()}
	at, err := w.resync(min(headerSize, w.size))
	if err != nil {
		return header{}, err
	}
	return header{sealed: at < w.size, damaged: true}, nil
}
