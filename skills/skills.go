package skills

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crabstore/crabstore/kv"
)

func metaKey(s kv.KVStorage, name string) []byte { return kv.Key(s, "skill", "meta", name) }
func bodyKey(s kv.KVStorage, name string) []byte { return kv.Key(s, "skill", "body", name) }

// Add stores a SKILL.md, byte for byte, with its summary, and returns that. Source
// is where the file is; adding it again from there replaces what was stored.
//
// It returns a *Fault: of ErrInvalid when Parse does, of ErrExists when another
// source has given the store a skill of this name, or one of a name that differs
// by case alone. That the same bytes are there from elsewhere is no fault and
// changes nothing.
func Add(ctx context.Context, s kv.KVStorage, body []byte, source string) (Summary, error) {
	return add(ctx, s, body, source, false)
}

// Replace is Add, but takes the place of a skill of this name from wherever it is.
func Replace(ctx context.Context, s kv.KVStorage, body []byte, source string) (Summary, error) {
	return add(ctx, s, body, source, true)
}

func add(ctx context.Context, s kv.KVStorage, body []byte, source string, replace bool) (Summary, error) {
	source = strings.ToValidUTF8(source, "\uFFFD")
	parsed, err := Parse(body, source)
	if err != nil {
		return Summary{}, err
	}
	parsed.UpdatedAt = time.Now().UTC().Round(0)
	var stored Summary
	err = kv.Update(ctx, s, func(tx kv.KVStorage) error {
		stored = parsed
		old, err := namesake(ctx, tx, parsed)
		switch {
		case err != nil:
			return err
		case old == nil || replace || old.Source == source:
			return store(ctx, tx, stored, body)
		case old.SHA256 == parsed.SHA256:
			stored = *old
			return nil
		}
		return &Fault{source, 0, fmt.Sprintf("the store has a skill %q from %s; remove that one first, or replace it", old.Name, old.Source), ErrExists}
	})
	if err != nil {
		return Summary{}, err
	}
	return stored, nil
}

// namesake returns the stored skill of the same name, nil if there is none, and
// ErrExists for one whose name differs by case alone: on many a file system, and
// to a person, the two are one.
func namesake(ctx context.Context, tx kv.KVStorage, s Summary) (*Summary, error) {
	folded := fold(s.Name)
	for key, err := range tx.ScanKeys(ctx, kv.Skill, kv.Prefix(tx, "skill", "meta")) {
		if err != nil {
			return nil, err
		}
		name, err := nameIn(key)
		if err != nil {
			return nil, err
		}
		if name != s.Name && fold(name) == folded {
			return nil, &Fault{s.Source, 0, fmt.Sprintf("the store has a skill %q, from which %q differs by case alone; remove that one first, or rename this one", name, s.Name), ErrExists}
		}
	}
	old, err := load(ctx, tx, s.Name)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	return &old, err
}

func nameIn(key []byte) (string, error) {
	_, parts, err := kv.Split(key)
	if err == nil && len(parts) != 3 {
		err = kv.ErrMalformedKey
	}
	if err != nil {
		return "", fmt.Errorf("skills: %q: %w", key, err)
	}
	return parts[2], nil
}

// store writes the body, then the summary by which it is found, then what leads
// to that.
func store(ctx context.Context, tx kv.KVStorage, s Summary, body []byte) error {
	if err := tx.Put(ctx, kv.Skill, bodyKey(tx, s.Name), body); err != nil {
		return err
	}
	if err := kv.Store(ctx, tx, kv.Skill, metaKey(tx, s.Name), s); err != nil {
		return err
	}
	return index(ctx, tx, s)
}

// load returns the summary of a name.
func load(ctx context.Context, s kv.KVStorage, name string) (Summary, error) {
	if _, err := checkName(name); err != nil { // no skill has it, and it may not fit a key
		return Summary{}, kv.ErrNotFound
	}
	key := metaKey(s, name)
	data, err := s.Get(ctx, kv.Skill, key)
	if err != nil {
		return Summary{}, err
	}
	return decodeSummary(kv.Entry{Key: key, Value: data})
}

// decodeSummary reads a stored summary. Msgpack gives times in the local zone.
func decodeSummary(e kv.Entry) (Summary, error) {
	var s Summary
	if err := kv.Unmarshal(e.Value, &s); err != nil {
		return Summary{}, fmt.Errorf("skills: %q: %w", e.Key, err)
	}
	s.UpdatedAt = s.UpdatedAt.UTC()
	return s, nil
}

// Get returns the summary of a skill, or kv.ErrNotFound.
func Get(ctx context.Context, s kv.KVStorage, name string) (Summary, error) {
	found, err := load(ctx, s, name)
	if errors.Is(err, kv.ErrNotFound) {
		err = fmt.Errorf("skills: no skill is named %.80q: %w", name, kv.ErrNotFound)
	}
	return found, err
}

// Body returns the SKILL.md of a skill as it was added, or kv.ErrNotFound. Bytes
// that are not those of the summary are kv.ErrCorrupt, since what the summary says
// that the skill may do was not said of them.
func Body(ctx context.Context, s kv.KVStorage, name string) ([]byte, error) {
	var body []byte
	err := kv.View(ctx, s, func(tx kv.KVStorage) error {
		sum, err := Get(ctx, tx, name)
		if err != nil {
			return err
		}
		if body, err = tx.Get(ctx, kv.Skill, bodyKey(tx, name)); err != nil {
			return fmt.Errorf("skills: the body of %q: %w", name, err)
		}
		if digest(body) != sum.SHA256 {
			return fmt.Errorf("skills: the body of %q is not the one of its summary; add it again from %s: %w", name, sum.Source, kv.ErrCorrupt)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return body, nil
}

// List returns the summaries of all skills, sorted by the bytes of their names. It
// reads no body.
func List(ctx context.Context, s kv.KVStorage) ([]Summary, error) {
	var list []Summary
	for e, err := range s.Scan(ctx, kv.Skill, kv.Prefix(s, "skill", "meta")) {
		if err != nil {
			return nil, err
		}
		sum, err := decodeSummary(e)
		if err != nil {
			return nil, err
		}
		list = append(list, sum)
	}
	slices.SortFunc(list, func(a, b Summary) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Remove deletes a skill. It returns kv.ErrNotFound when there is none.
func Remove(ctx context.Context, s kv.KVStorage, name string) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		if _, err := Get(ctx, tx, name); err != nil {
			return err
		}
		if err := unindex(ctx, tx, name); err != nil {
			return err
		}
		if _, err := tx.Delete(ctx, kv.Skill, metaKey(tx, name)); err != nil {
			return err
		}
		_, err := tx.Delete(ctx, kv.Skill, bodyKey(tx, name))
		return err
	})
}
