package importer

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/sessions"
)

// Forget drops what the index of messages has of a session. It goes into the batch
// that deletes the session, before it does.
func Forget(ctx context.Context, b *sessions.Batch, handle string) error {
	m, err := b.Load(ctx, handle)
	if errors.Is(err, kv.ErrNotFound) || err == nil && m.Origin == nil {
		return nil
	}
	if err != nil {
		return err
	}
	tx := b.Store()
	for msg, err := range sessions.Messages(ctx, tx, handle, sessions.Range{}) {
		if errors.Is(err, kv.ErrCorrupt) {
			continue
		}
		if err != nil {
			return err
		}
		key := messageKey(tx, m.Origin.Format, msg.ID)
		at, known, err := lookup(ctx, tx, key)
		if err == nil && known && at.handle == handle {
			_, err = tx.Delete(ctx, kv.Session, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Check returns what is wrong with the index of messages: what Reindex would add or
// change. An entry that leads to what was deleted or truncated since, which Reindex
// drops, is no fault. It changes nothing.
func Check(ctx context.Context, s kv.KVStorage) ([]kv.Difference, error) {
	found, err := kv.Differences(ctx, s, func(tx kv.KVStorage) error { return Reindex(ctx, tx) })
	return slices.DeleteFunc(found, func(d kv.Difference) bool { return d.Kind == kv.Surplus }), err
}

// Reindex makes the index of messages anew from the sessions that were imported.
func Reindex(ctx context.Context, s kv.KVStorage) error {
	if err := dropStale(ctx, s); err != nil {
		return err
	}
	for e, err := range messagesWithID(ctx, s) {
		if err != nil {
			return err
		}
		_, known, err := lookup(ctx, s, e.key)
		if err == nil && !known {
			err = s.Put(ctx, kv.Session, e.key, e.place.value())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropStale drops the entries that lead to no message, or to none of that key.
func dropStale(ctx context.Context, s kv.KVStorage) error {
	for e, err := range s.Scan(ctx, kv.Session, kv.Prefix(s, "idx", "ext")) {
		if err != nil {
			return err
		}
		good, err := leads(ctx, s, e)
		if err != nil {
			return err
		}
		if good {
			continue
		}
		if _, err := s.Delete(ctx, kv.Session, e.Key); err != nil {
			return err
		}
	}
	return nil
}

// leads tells whether an entry of the index leads to the message that it is of.
func leads(ctx context.Context, s kv.KVStorage, e kv.Entry) (bool, error) {
	at, err := parsePlace(e.Value)
	if err != nil {
		return false, nil
	}
	_, parts, err := kv.Split(e.Key)
	if err != nil || len(parts) != 4 {
		return false, nil
	}
	m, err := sessions.Get(ctx, s, at.handle, at.index)
	if errors.Is(err, kv.ErrNotFound) || errors.Is(err, kv.ErrCorrupt) {
		return false, nil
	}
	return string(messageKey(s, parts[2], m.ID)) == string(e.Key), err
}

// indexed is a message that the index has to have.
type indexed struct {
	key   []byte
	place place
}

// messagesWithID yields the messages of all sessions that were imported.
func messagesWithID(ctx context.Context, s kv.KVStorage) iter.Seq2[indexed, error] {
	return func(yield func(indexed, error) bool) {
		f := sessions.Filter{By: CreatedBy, Limit: 1000}
		for {
			page, err := sessions.List(ctx, s, f)
			if err != nil {
				yield(indexed{}, err)
				return
			}
			for i := range page.Sessions {
				if !messagesOf(ctx, s, &page.Sessions[i], yield) {
					return
				}
			}
			if f.Cursor = page.Next; f.Cursor == "" {
				return
			}
		}
	}
}

func messagesOf(ctx context.Context, s kv.KVStorage, meta *sessions.Meta, yield func(indexed, error) bool) bool {
	if meta.Origin == nil {
		return true
	}
	for m, err := range sessions.Messages(ctx, s, meta.Handle, sessions.Range{}) {
		if errors.Is(err, kv.ErrCorrupt) || err == nil && m.ID == "" {
			continue
		}
		if err != nil {
			yield(indexed{}, err)
			return false
		}
		if !yield(indexed{messageKey(s, meta.Origin.Format, m.ID), place{meta.Handle, m.Index}}, nil) {
			return false
		}
	}
	return true
}
