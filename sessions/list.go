package sessions

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// Filter says which sessions List returns. Its zero value means the newest
// DefaultPage of all.
type Filter struct {
	Agent string // only sessions of this agent; empty means of any
	By    string // only sessions created by this one; empty means by anyone

	// Match, if not nil, leaves out the sessions for which it is false. Pages are
	// full all the same.
	Match func(Meta) bool

	Limit  int    // how many a page holds; 0 means DefaultPage
	Cursor string // Page.Next of the page before; empty means from the newest
}

// DefaultPage is how many sessions a page holds when the filter does not say.
const DefaultPage = 50

// Page is a part of a list of sessions.
type Page struct {
	Sessions []Meta `json:"sessions"`       // newest first, by CreatedAt and then handle
	Next     string `json:"next,omitempty"` // cursor of the next page; empty when there is none

	// Unreadable is the handles of sessions among these whose meta is damaged.
	Unreadable []string `json:"unreadable,omitempty"`
}

// List returns a page of the sessions that f means. It reads the keys of the list
// index and the metas of the page, and no message. Pages neither repeat nor skip
// a session, whatever is created or deleted between them.
func List(ctx context.Context, s kv.KVStorage, f Filter) (Page, error) {
	f.Limit = orDefault(f.Limit, DefaultPage)
	return view(ctx, s, func(s kv.KVStorage) (Page, error) { return list(ctx, s, f) })
}

// Latest returns the newest session of an agent, created by by, where empty means
// any, or kv.ErrNotFound.
func Latest(ctx context.Context, s kv.KVStorage, agent, by string) (Meta, error) {
	page, err := List(ctx, s, Filter{Agent: agent, By: by, Limit: 1})
	if err != nil {
		return Meta{}, err
	}
	if len(page.Sessions) == 0 {
		return Meta{}, fmt.Errorf("a session of agent %q by %q: %w", agent, by, kv.ErrNotFound)
	}
	return page.Sessions[0], nil
}

func list(ctx context.Context, s kv.KVStorage, f Filter) (Page, error) {
	if err := checkCursor(f.Cursor); err != nil {
		return Page{}, err
	}
	groups, err := listGroups(ctx, s, f)
	if err != nil {
		return Page{}, err
	}
	var page Page
	last := ""
	for place, err := range newestFirst(ctx, s, groups, f) {
		if err != nil {
			return Page{}, err
		}
		_, handle, err := splitPlace(place)
		if err != nil {
			return Page{}, err
		}
		m, err := loadMeta(ctx, s, handle)
		switch {
		case errors.Is(err, kv.ErrNotFound):
			continue // a deletion was cut short, on a store without transactions
		case errors.Is(err, kv.ErrCorrupt):
			page.Unreadable = append(page.Unreadable, handle)
			continue
		case err != nil:
			return Page{}, err
		case f.Match != nil && !f.Match(m):
			continue
		case len(page.Sessions) == f.Limit:
			page.Next = last
			return page, nil
		}
		page.Sessions = append(page.Sessions, m)
		last = place
	}
	return page, nil
}

// A place is {created_at}/{handle} as it stands at the end of a key of the list
// index: places sort as the list does, and a cursor is the place that a page ends
// with.

// newestFirst yields the places of all groups, each of which the index has in
// order.
func newestFirst(ctx context.Context, s kv.KVStorage, groups [][]byte, f Filter) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		n := f.Limit + 1 // one more tells whether there is a next page
		cursor := f.Cursor
		for {
			places, err := newest(ctx, s, groups, cursor, n)
			if err != nil {
				yield("", err)
				return
			}
			for _, place := range places {
				if !yield(place, nil) {
					return
				}
			}
			if len(places) < n {
				return
			}
			cursor = places[n-1]
		}
	}
}

// newest returns the n newest places of all groups behind a cursor.
func newest(ctx context.Context, s kv.KVStorage, groups [][]byte, cursor string, n int) ([]string, error) {
	var places []string
	for _, group := range groups {
		r := kv.Range{Prefix: group, Reverse: true, KeysOnly: true}
		if cursor != "" {
			r.After = slices.Concat(group, []byte(cursor))
		}
		left := n
		for e, err := range kv.ScanRange(ctx, s, kv.Session, r) {
			if err != nil {
				return nil, err
			}
			places = append(places, string(e.Key[len(group):]))
			if left--; left == 0 {
				break
			}
		}
	}
	slices.SortFunc(places, func(a, b string) int { return strings.Compare(b, a) })
	return places[:min(len(places), n)], nil
}

// splitPlace takes a place apart.
func splitPlace(place string) (created time.Time, handle string, err error) {
	parts, err := kv.SplitParts(place)
	if err == nil && len(parts) != 2 {
		err = fmt.Errorf("%w: %.200q is no place in the list index", kv.ErrMalformedKey, place)
	}
	if err != nil {
		return time.Time{}, "", err
	}
	created, err = kv.ParseTime(parts[0])
	return created, parts[1], err
}

// listGroups returns the prefixes of the pairs of agent and creator that f means.
// It steps from one to the next and not through their sessions.
func listGroups(ctx context.Context, s kv.KVStorage, f Filter) ([][]byte, error) {
	all := []string{"idx", "sess"}
	if f.Agent != "" {
		all = append(all, f.Agent)
	}
	r := kv.Range{Prefix: kv.Prefix(s, all...), KeysOnly: true}
	var groups [][]byte
	for {
		key, err := firstKey(ctx, s, r)
		if key == nil || err != nil {
			return groups, err
		}
		e, err := parseListKey(key)
		if err != nil {
			return nil, err
		}
		group := kv.Prefix(s, "idx", "sess", e.agent, e.by)
		if f.By == "" || f.By == e.by {
			groups = append(groups, group)
		}
		r.After = kv.PrefixEnd(group) // no key of the index is just this
	}
}

// firstKey returns the first key of a range, or nil.
func firstKey(ctx context.Context, s kv.KVStorage, r kv.Range) ([]byte, error) {
	for e, err := range kv.ScanRange(ctx, s, kv.Session, r) {
		return e.Key, err
	}
	return nil, nil
}

// listEntry is what a key of the list index says.
type listEntry struct{ agent, by, handle string }

func parseListKey(key []byte) (listEntry, error) {
	_, parts, err := kv.Split(key)
	if err != nil {
		return listEntry{}, err
	}
	if len(parts) != 6 {
		return listEntry{}, fmt.Errorf("%w: session %.200q is no entry of the list index", kv.ErrMalformedKey, key)
	}
	return listEntry{parts[2], parts[3], parts[5]}, nil
}

func checkCursor(cursor string) error {
	if cursor == "" {
		return nil
	}
	if _, _, err := splitPlace(cursor); err != nil {
		return fmt.Errorf("%w: cursor %.80q is none that List returned: begin without one", ErrInvalid, cursor)
	}
	return nil
}
