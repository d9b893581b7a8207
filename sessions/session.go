package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/memory"
)

// Create stores a new session and returns its meta. It gives it a handle, unless
// m has one, and the present as its time, unless m has one. ErrExists means that
// the handle is taken.
func Create(ctx context.Context, s kv.KVStorage, m Meta) (Meta, error) {
	return commit(ctx, s, func(b *Batch) (Meta, error) { return b.Create(ctx, m) })
}

// Create is the function of that name, in the batch.
func (b *Batch) Create(ctx context.Context, m Meta) (Meta, error) {
	if m.Handle == "" {
		m.Handle = kv.NewID()
	}
	m = m.described(Meta{Handle: m.Handle})
	m.clean()
	if err := m.validate(); err != nil {
		return Meta{}, err
	}
	if m.CreatedAt.IsZero() {
		m.CreatedAt = cleanTime(time.Now())
	}
	m.UpdatedAt = m.CreatedAt
	switch _, err := b.open(ctx, m.Handle); {
	case err == nil:
		return Meta{}, fmt.Errorf("%w: %q", ErrExists, m.Handle)
	case !errors.Is(err, kv.ErrNotFound):
		return Meta{}, err
	}
	// On a store without transactions, an interrupted commit may have left content
	// of a session that never was.
	if _, err := b.deleteContent(ctx, m.Handle); err != nil {
		return Meta{}, err
	}
	d := b.hold(m, nil)
	d.touch()
	return d.now, nil
}

// described returns kept with what m's caller owns.
func (m Meta) described(kept Meta) Meta {
	kept.Agent, kept.CreatedBy, kept.Title, kept.Summary = m.Agent, m.CreatedBy, m.Title, m.Summary
	kept.Model, kept.Cwd, kept.Tags, kept.CreatedAt = m.Model, m.Cwd, m.Tags, m.CreatedAt
	kept.Parent, kept.Origin, kept.Extra = m.Parent, m.Origin, m.Extra
	return kept
}

// Load returns the meta of a session, or kv.ErrNotFound.
func Load(ctx context.Context, s kv.KVStorage, handle string) (Meta, error) {
	return loadMeta(ctx, s, handle)
}

// UpdateMeta changes what describes a session: fn gets the meta as it is and
// changes what it likes of what a caller owns; its other changes are disregarded.
// Nothing is written when fn returns an error. It may be called again, as the
// function of a kv.Update.
func UpdateMeta(ctx context.Context, s kv.KVStorage, handle string, fn func(m *Meta) error) (Meta, error) {
	return commit(ctx, s, func(b *Batch) (Meta, error) { return b.UpdateMeta(ctx, handle, fn) })
}

// UpdateMeta is the function of that name, in the batch.
func (b *Batch) UpdateMeta(ctx context.Context, handle string, fn func(m *Meta) error) (Meta, error) {
	d, err := b.open(ctx, handle)
	if err != nil {
		return Meta{}, err
	}
	m := d.now
	m.clean() // fn may change what is in it and then fail
	if err := fn(&m); err != nil {
		return Meta{}, err
	}
	m = m.described(d.now)
	m.clean()
	if err := m.validate(); err != nil {
		return Meta{}, err
	}
	d.now = m
	d.touch()
	return d.now, nil
}

// Delete removes a session and all that is of it: messages, events, state, the
// summaries that Compact made, and what the indexes have of them. It returns
// kv.ErrNotFound when there is none. Sessions that came from it stay. One whose
// meta cannot be read can be deleted too.
func Delete(ctx context.Context, s kv.KVStorage, handle string) error {
	return Update(ctx, s, func(b *Batch) error { return b.Delete(ctx, handle) })
}

// Delete is the function of that name, in the batch.
func (b *Batch) Delete(ctx context.Context, handle string) error {
	d, err := b.open(ctx, handle)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return b.finishDelete(ctx, handle, err)
	case errors.Is(err, kv.ErrCorrupt):
		d = b.hold(Meta{Handle: handle}, nil)
		err = b.unlist(ctx, handle)
	}
	if err != nil {
		return err
	}
	// What leads to the content goes first, the meta last of that.
	if err := b.dropText(ctx, handle); err != nil {
		return err
	}
	if d.stored != nil {
		if _, err := b.tx.Delete(ctx, kv.Session, listKey(b.tx, d.stored)); err != nil {
			return err
		}
	}
	if _, err := b.tx.Delete(ctx, kv.Session, metaKey(b.tx, handle)); err != nil {
		return err
	}
	b.forget(d)
	if err := b.deleteSummaries(ctx, handle); err != nil {
		return err
	}
	_, err = b.deleteContent(ctx, handle)
	return err
}

// finishDelete deletes what an interrupted Delete left on a store without
// transactions. It returns absent when there is nothing.
func (b *Batch) finishDelete(ctx context.Context, handle string, absent error) error {
	if err := b.deleteSummaries(ctx, handle); err != nil {
		return err
	}
	n, err := b.deleteContent(ctx, handle)
	if n == 0 && err == nil {
		return absent
	}
	return err
}

// unlist takes a session out of the list wherever it is in it.
func (b *Batch) unlist(ctx context.Context, handle string) error {
	for key, err := range b.tx.ScanKeys(ctx, kv.Session, kv.Prefix(b.tx, "idx", "sess")) {
		if err != nil {
			return err
		}
		if e, err := parseListKey(key); err != nil || e.handle != handle {
			continue
		}
		if _, err := b.tx.Delete(ctx, kv.Session, key); err != nil {
			return err
		}
	}
	return nil
}

// deleteContent deletes all keys of a session and returns how many there were.
func (b *Batch) deleteContent(ctx context.Context, handle string) (n int, err error) {
	for key, err := range b.tx.ScanKeys(ctx, kv.Session, kv.Prefix(b.tx, "session", handle)) {
		if err == nil {
			_, err = b.tx.Delete(ctx, kv.Session, key)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (b *Batch) deleteSummaries(ctx context.Context, handle string) error {
	list, err := memory.List(ctx, b.tx, memory.Filter{Kind: memory.Archive, Under: kv.Join(memory.Archive, handle)})
	for _, e := range list {
		if err == nil {
			err = memory.Delete(ctx, b.tx, e.Name)
		}
	}
	return err
}

// DeleteByAgent deletes every session of an agent, each in a commit of its own,
// and returns how many it deleted, also beside an error.
func DeleteByAgent(ctx context.Context, s kv.KVStorage, agent string) (int, error) {
	deleted := 0
	for key, err := range s.ScanKeys(ctx, kv.Session, kv.Prefix(s, "idx", "sess", agent)) {
		if err != nil {
			return deleted, err
		}
		entry, err := parseListKey(key)
		if err != nil {
			return deleted, err
		}
		switch err := deleteOf(ctx, s, agent, entry.handle); {
		case err == nil:
			deleted++
		case !errors.Is(err, kv.ErrNotFound):
			return deleted, err
		}
	}
	return deleted, nil
}

// deleteOf deletes a session if it still is the agent's.
func deleteOf(ctx context.Context, s kv.KVStorage, agent, handle string) error {
	return Update(ctx, s, func(b *Batch) error {
		m, err := b.Load(ctx, handle)
		if err != nil {
			return err
		}
		if m.Agent != agent {
			return fmt.Errorf("session %q of agent %q: %w", handle, agent, kv.ErrNotFound)
		}
		return b.Delete(ctx, handle)
	})
}
