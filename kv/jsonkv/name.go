package jsonkv

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/crabstore/crabstore/kv"
)

const (
	storeDocument = "store.json" // of all that belongs to no session; it makes a directory a store
	sessionsDir   = "sessions"
	extension     = ".json"
	lockName      = "lock"
	commitName    = "commit.json"
	newPrefix     = "new-" // of files that are to become others; 16 hexadecimal digits follow
)

// documentOf returns the name of the document in which a key lies: that of its
// session, whatever the realm, or storeDocument.
func documentOf(col kv.Column, key []byte) string {
	if col != kv.Session {
		return storeDocument
	}
	_, rest, _ := bytes.Cut(key, []byte("/"))
	rest, ok := bytes.CutPrefix(rest, []byte("session/"))
	handle, _, more := bytes.Cut(rest, []byte("/"))
	if !ok || !more || len(handle) == 0 {
		return storeDocument
	}
	return path.Join(sessionsDir, fileName(string(handle))+extension)
}

// longestName is how long the name of a session's file is without what is added to
// it, in bytes; file systems allow 255, and paths on some systems little more.
const longestName = 100

// fileName returns the name of a handle's file, without the extension: the handle
// itself where every file system takes it and tells it from all others, and otherwise
// as much of it as is safe, a tilde and a hash. Two handles that had the same hash
// would share a document, which is no harm.
func fileName(handle string) string {
	if isPlain(handle) {
		return handle
	}
	safe := strings.Map(func(r rune) rune {
		if r = lower(r); isSafe(r) && r != '.' {
			return r
		}
		return '_'
	}, handle)
	sum := sha256.Sum256([]byte(handle))
	return safe[:min(len(safe), longestName-17)] + "~" + hex.EncodeToString(sum[:8])
}

// isPlain tells whether a handle can be a file name. On file systems that ignore case
// lower case and upper case are one, so lower case is plain, and of upper case only
// the ids that this program makes, which are then not plain in lower case.
func isPlain(handle string) bool {
	if id, err := ulid.ParseStrict(handle); err == nil {
		return id.String() == handle
	}
	return handle != "" && len(handle) <= longestName && handle[0] != '.' &&
		strings.IndexFunc(handle, func(r rune) bool { return !isSafe(r) }) < 0 && !isDevice(handle)
}

func isSafe(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}

func lower(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// isDevice tells whether Windows takes a name for a device, with whatever extension.
func isDevice(name string) bool {
	name, _, _ = strings.Cut(name, ".")
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	port := strings.HasPrefix(name, "com") || strings.HasPrefix(name, "lpt")
	return port && len(name) == 4 && name[3] >= '0' && name[3] <= '9'
}

// isDocument tells whether a document can have a name, be it a right one or not.
func isDocument(name string) bool {
	if name == storeDocument {
		return true
	}
	dir, base := path.Split(name)
	return dir == sessionsDir+"/" && strings.HasSuffix(base, extension) && base[0] != '.' && path.Clean(name) == name
}

// isNew tells whether a file is one that is to become another.
func isNew(name string) bool {
	digits, ok := strings.CutPrefix(path.Base(name), newPrefix)
	_, err := hex.DecodeString(digits)
	return ok && err == nil && len(digits) == 16
}
