package transcripts

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Status is what Walk found a file to be.
type Status string

// The statuses. Only Unreadable and Unsupported mean that something may have been missed.
const (
	Found       Status = "found"
	Empty       Status = "empty"         // 0 bytes: a session in which nothing was said yet
	NotSession  Status = "not a session" // Reason says what it seems to be
	Unsupported Status = "unsupported"   // compressed in a way that is not read; Reason names it
	Unreadable  Status = "unreadable"    // Err says why
)

// Finding is one file, or one source in it, that Walk came to.
type Finding struct {
	Path   string
	Status Status
	Source Source // when Found
	Reason string
	Err    error

	// Size and ModTime are those of the file, when Found: for a progress bar, and for a session
	// that does not say when it was.
	Size    int64
	ModTime time.Time
}

// Walk finds the sources in files and below folders, in the order of paths and, within a folder,
// of names. It tells of every file that it looked at. Symbolic links are followed, but no file
// and no folder is come to twice. It reads only the heads of files, and opens no pipes and
// devices. When ctx ends, so does the walk.
func Walk(ctx context.Context, paths []string) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		w := &walker{ctx: ctx, yield: yield, seen: map[string]bool{}}
		for _, path := range paths {
			if !w.visit(path) {
				return
			}
		}
	}
}

// walker is one call of Walk. Its methods tell whether to go on.
type walker struct {
	ctx   context.Context
	yield func(Finding) bool
	seen  map[string]bool // true paths of files and folders
}

func (w *walker) unreadable(path string, err error) bool {
	return w.yield(Finding{Path: path, Status: Unreadable, Err: err, Reason: err.Error()})
}

func (w *walker) not(path, reason string) bool {
	return w.yield(Finding{Path: path, Status: NotSession, Reason: reason})
}

func (w *walker) found(path string, src Source) bool {
	info, err := os.Stat(path)
	if err != nil {
		return w.unreadable(path, err)
	}
	return w.yield(Finding{Path: path, Status: Found, Source: src, Size: info.Size(), ModTime: info.ModTime()})
}

// visit comes to a file or folder whose true path is not known yet.
func (w *walker) visit(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return w.unreadable(path, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return w.unreadable(path, err)
	}
	return w.enter(path, real, info.Mode())
}

func (w *walker) enter(path, real string, mode fs.FileMode) bool {
	if w.ctx.Err() != nil {
		return false
	}
	if w.seen[real] {
		return w.ctx.Err() == nil
	}
	w.seen[real] = true
	switch {
	case mode.IsDir():
		return w.folder(path, real)
	case mode.IsRegular():
		return w.file(path)
	}
	return w.not(path, "not a regular file")
}

func (w *walker) folder(path, real string) bool {
	entries, err := os.ReadDir(path)
	if err != nil && !w.unreadable(path, err) {
		return false
	}
	left := openCodePieces(path, entries)
	for _, e := range entries {
		child := filepath.Join(path, e.Name())
		ok := false
		switch {
		case slices.Contains(left, e.Name()):
			continue
		case e.Type()&fs.ModeSymlink != 0:
			ok = w.visit(child)
		default:
			ok = w.enter(child, filepath.Join(real, e.Name()), e.Type())
		}
		if !ok {
			return false
		}
	}
	return true
}

// openCodePieces are the folders of an OpenCode storage tree that hold pieces of sessions: tens of
// thousands of files, each of which would only be told to be a piece.
func openCodePieces(path string, entries []os.DirEntry) []string {
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name && e.IsDir() })
	}
	pieces := []string{"message", "part", "session_diff", "session_share"}
	for _, sessions := range []string{"session", "info"} {
		if has(sessions) && has("message") && holdsSession(filepath.Join(path, sessions)) {
			return pieces
		}
	}
	return nil
}

// holdsSession tells whether the first JSON file below a folder, or below its folders, is an
// OpenCode session.
func holdsSession(dir string) bool {
	for _, pattern := range []string{"*.json", "*/*.json"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is good, unless dir has brackets: then nothing is left out
		if len(files) > 0 {
			_, layout, _, err := sniffFile(files[0])
			return err == nil && layout == Tree
		}
	}
	return false
}

// file tells what a regular file is.
func (w *walker) file(path string) bool {
	format, layout, reason, err := sniffFile(path)
	switch {
	case errors.Is(err, errEmpty):
		return w.yield(Finding{Path: path, Status: Empty, Reason: "0 bytes"})
	case errors.Is(err, errForeign):
		return w.yield(Finding{Path: path, Status: Unsupported, Reason: reason})
	case err != nil:
		return w.unreadable(path, err)
	case layout == archiveLayout:
		return w.archive(path)
	case layout == Database:
		return w.database(path)
	case format == "":
		return w.not(path, reason)
	}
	return w.found(path, Source{Path: path, Format: format, Layout: layout})
}

var (
	errEmpty   = errors.New("empty")
	errForeign = errors.New("compressed in a way that is not read")
)

// archiveLayout is a .zip, whose members are sources.
const archiveLayout Layout = "archive"

// sniffFile tells what a file is by its head.
func sniffFile(path string) (format Format, layout Layout, reason string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", "", "", err
	}
	defer f.Close()
	head := make([]byte, 16)
	n, err := io.ReadFull(f, head)
	if n == 0 && err == io.EOF {
		return "", "", "", errEmpty
	}
	if err != nil && err != io.ErrUnexpectedEOF {
		return "", "", "", err
	}
	head = head[:n]
	switch {
	case strings.HasPrefix(string(head), "SQLite format 3\x00"):
		return "", Database, "", nil
	case strings.HasPrefix(string(head), "PK\x03\x04"):
		return "", archiveLayout, "", nil
	}
	if name := foreign(head); name != "" && looksNamed(path) {
		return "", "", name + " compression is not read; decompress it first", errForeign
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", "", "", err
	}
	stream, closer, err := packingOf(head).reader(f)
	if err != nil {
		return "", "", "damaged compressed file", nil
	}
	defer closer()
	format, layout, reason = sniffStream(stream)
	if layout == Tree && packingOf(head) != plain {
		return "", "", "one file of an OpenCode storage tree, compressed", nil
	}
	return format, layout, reason, nil
}

// looksNamed tells whether a file that cannot be looked into has the name of a transcript.
func looksNamed(path string) bool {
	name := filepath.Base(path)
	return strings.Contains(name, ".jsonl.") || strings.Contains(name, ".json.")
}

// sniffStream tells what a decompressed stream is. What cannot be read of it is not looked at.
func sniffStream(r io.Reader) (Format, Layout, string) {
	head, full := readHead(r, nil, shortHead)
	format, layout, reason := sniff(head)
	if format == "" && full && len(head) > 0 && !strings.Contains(string(head), "\n") {
		head, _ = readHead(r, head, longHead)
		format, layout, reason = sniff(head)
	}
	return format, layout, reason
}

// readHead reads up to size bytes, behind those that were read, and tells whether it got them all.
func readHead(r io.Reader, head []byte, size int) ([]byte, bool) {
	n := len(head)
	head = append(head, make([]byte, size-n)...)
	m, _ := io.ReadFull(r, head[n:])
	return head[:n+m], n+m == size
}

// archive tells of the sources in a .zip.
func (w *walker) archive(path string) bool {
	z, err := zip.OpenReader(path)
	if err != nil {
		return w.not(path, "a damaged .zip, or not one")
	}
	defer z.Close()
	any := false
	for _, m := range z.File {
		if ext := strings.ToLower(filepath.Ext(m.Name)); ext != ".json" && ext != ".jsonl" {
			continue
		}
		r, err := m.Open()
		if err != nil {
			continue
		}
		format, layout, _ := sniffStream(r)
		r.Close()
		if format == "" || layout == Tree {
			continue
		}
		any = true
		if !w.found(path, Source{Path: path, Member: m.Name, Format: format, Layout: layout}) {
			return false
		}
	}
	return any || w.not(path, "a .zip without a conversation in it")
}

// database tells whether a SQLite file is OpenCode's.
func (w *walker) database(path string) bool {
	tables, err := tablesIn(w.ctx, path)
	if err != nil && strings.HasPrefix(filepath.Base(path), "opencode") {
		return w.unreadable(path, fmt.Errorf("%s: %w", path, err))
	}
	if err != nil || !isOpenCode(tables) {
		return w.not(path, "a SQLite database of something else")
	}
	return w.found(path, Source{Path: path, Format: OpenCode, Layout: Database})
}
