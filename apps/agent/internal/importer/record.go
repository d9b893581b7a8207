package importer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/crabstore/crabstore/apps/agent/internal/transcripts"
	"github.com/crabstore/crabstore/kv"
)

// source is what is remembered of a source: how far it was read, and what of it
// waits for a message.
type source struct {
	Name   string             `json:"name"`
	Format string             `json:"format"`
	Cursor transcripts.Cursor `json:"cursor"`

	// Waiting are sessions that were announced and in which nothing was said yet. One
	// that stays so is none.
	Waiting []transcripts.Session `json:"waiting,omitempty"`

	// Messages is how many were read, copies of other sessions' among them: what a run
	// that finds nothing new says is there already.
	Messages int `json:"messages"`
}

// announce keeps a session until something is said in it.
func (r *source) announce(s transcripts.Session) {
	for i := range r.Waiting {
		if r.Waiting[i].ID == s.ID {
			r.Waiting[i] = s
			return
		}
	}
	r.Waiting = append(r.Waiting, s)
}

// begin returns what was announced of a session in which something was said now.
func (r *source) begin(id string) transcripts.Session {
	for i, s := range r.Waiting {
		if s.ID == id {
			r.Waiting = slices.Delete(r.Waiting, i, i+1)
			return s
		}
	}
	return transcripts.Session{Format: transcripts.Format(r.Format), ID: id, Source: r.Name}
}

func sourceKey(s kv.KVStorage, name string) []byte {
	sum := sha256.Sum256([]byte(name)) // a path may be longer than a key
	return kv.Key(s, "import", "source", hex.EncodeToString(sum[:16]))
}

// loadSource returns what is remembered of a source: nothing, of a new one.
func loadSource(ctx context.Context, s kv.KVStorage, name string) (source, error) {
	rec, err := kv.Load[source](ctx, s, kv.Config, sourceKey(s, name))
	if errors.Is(err, kv.ErrNotFound) {
		return source{}, nil
	}
	return rec, err
}

// imported is what is remembered of a session for as long as the store lives, also
// when it was deleted.
type imported struct {
	Format  string   `json:"format"`
	ID      string   `json:"id"`
	Sources []string `json:"sources"` // the names of those that have it
}

func importedKey(s kv.KVStorage, handle string) []byte {
	return kv.Key(s, "import", "session", handle)
}

// place is where a message is stored.
type place struct {
	handle string
	index  int
}

// longestID is how many bytes of a message's ID stand in a key. Each takes up to
// three there, beside the format.
const longestID = 256

func messageKey(s kv.KVStorage, format, id string) []byte {
	if len(id) > longestID {
		sum := sha256.Sum256([]byte(id))
		id = "sha256:" + hex.EncodeToString(sum[:])
	}
	return kv.Key(s, "idx", "ext", format, id)
}

func (p place) value() []byte { return []byte(kv.Join(p.handle, strconv.Itoa(p.index))) }

// lookup returns where the index has a message, and whether it has it.
func lookup(ctx context.Context, s kv.KVStorage, key []byte) (place, bool, error) {
	value, err := s.Get(ctx, kv.Session, key)
	if errors.Is(err, kv.ErrNotFound) {
		return place{}, false, nil
	}
	if err != nil {
		return place{}, false, err
	}
	p, err := parsePlace(value)
	if err != nil {
		return place{}, false, fmt.Errorf("session %q: %w", key, err)
	}
	return p, true, nil
}

func parsePlace(value []byte) (place, error) {
	parts, err := kv.SplitParts(string(value))
	if err == nil && len(parts) == 2 {
		if n, err := strconv.Atoi(parts[1]); err == nil && n >= 0 {
			return place{parts[0], n}, nil
		}
	}
	return place{}, fmt.Errorf("%w: %.80q is no place of a message", kv.ErrCorrupt, value)
}
