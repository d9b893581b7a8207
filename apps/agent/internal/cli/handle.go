package cli

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/sessions"
)

// resolve returns the handle that is meant by one, or by the beginning of one. Case
// does not matter.
func resolve(ctx context.Context, s kv.KVStorage, given string) (string, error) {
	if _, err := sessions.Load(ctx, s, given); !errors.Is(err, kv.ErrNotFound) {
		return given, err
	}
	found, err := beginning(ctx, s, given, maxNamed+1)
	if err == nil && len(found) == 0 {
		found, err = beginning(ctx, s, strings.ToUpper(given), maxNamed+1)
	}
	switch {
	case err != nil:
		return "", err
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return "", fail(`no session's handle begins with %q; "agent sessions list" has them all`, given)
	}
	more := ""
	if len(found) > maxNamed {
		found, more = found[:maxNamed], ", …"
	}
	return "", fail("%q begins several handles: %s%s", given, strings.Join(found, ", "), more)
}

// maxNamed is how many handles are named where one was to be.
const maxNamed = 5

// beginning returns up to n handles that begin with a prefix.
func beginning(ctx context.Context, s kv.KVStorage, prefix string, n int) ([]string, error) {
	var found []string
	for handle, err := range handles(ctx, s, prefix) {
		if err != nil {
			return nil, err
		}
		if found = append(found, handle); len(found) == n {
			break
		}
	}
	return found, nil
}

// handles yields the handles that begin with a prefix, in order. It steps from one
// session to the next and not through what is in them.
func handles(ctx context.Context, s kv.KVStorage, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r := kv.Range{Prefix: kv.Key(s, "session", prefix), KeysOnly: true}
		for more := true; more; {
			more = false
			for e, err := range kv.ScanRange(ctx, s, kv.Session, r) {
				var parts []string
				if err == nil {
					_, parts, err = kv.Split(e.Key)
				}
				if err != nil {
					yield("", err)
					return
				}
				if !yield(parts[1], nil) {
					return
				}
				r.After, more = kv.PrefixEnd(kv.Prefix(s, "session", parts[1])), true
				break
			}
		}
	}
}

// shortest is how much of a handle is shown at least.
const shortest = 8

// short returns as much of a handle as tells it from the others in the store.
func short(ctx context.Context, s kv.KVStorage, handle string) string {
	for n := shortest; n < len(handle); n += 2 {
		found, err := beginning(ctx, s, handle[:n], 2)
		if err != nil {
			break
		}
		if len(found) == 1 {
			return handle[:n]
		}
	}
	return handle
}
