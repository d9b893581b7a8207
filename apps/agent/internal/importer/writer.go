package importer

import (
	"bytes"
	"context"
	"errors"

	"github.com/crabstore/crabstore/apps/agent/internal/transcripts"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/sessions"
)

// sink is what takes chunks, between a begin and, unless one failed, an end.
type sink interface {
	begin(ctx context.Context) error
	write(ctx context.Context, c *chunk) (*tally, error)
	end(ctx context.Context) error
}

// storing is the sink that stores.
type storing struct {
	store  kv.KVStorage
	force  bool
	atomic bool
	marked bool // that a chunk of a store without transactions may be half written
}

func newStoring(s kv.KVStorage, force bool) *storing {
	return &storing{store: s, force: force, atomic: kv.Atomic(s)}
}

func (s *storing) write(ctx context.Context, c *chunk) (done *tally, err error) {
	if err := s.mark(ctx); err != nil {
		return nil, err
	}
	var w *writer
	err = sessions.Update(ctx, s.store, func(b *sessions.Batch) error {
		w = newWriter(ctx, b, s.force)
		if err := w.chunk(c); err != nil || !s.atomic {
			return err
		}
		return w.remember(b.Store())
	})
	if err == nil && !s.atomic {
		err = kv.Update(ctx, s.store, w.remember)
	}
	if err != nil {
		return nil, err
	}
	return w.tally, nil
}

// writer writes one chunk into a batch.
type writer struct {
	ctx     context.Context
	batch   *sessions.Batch
	tx      kv.KVStorage
	force   bool
	tally   *tally
	records map[string]*source // by name
	noted   map[string]*note   // by handle
	seen    map[string]bool    // of planning: keys of messages of chunks before; else nil
}

func newWriter(ctx context.Context, b *sessions.Batch, force bool) *writer {
	return &writer{
		ctx: ctx, batch: b, tx: b.Store(), force: force, tally: newTally(),
		records: map[string]*source{}, noted: map[string]*note{},
	}
}

func (w *writer) chunk(c *chunk) error {
	for i := range c.pieces {
		if c.pieces[i].ended {
			continue
		}
		if err := w.piece(&c.pieces[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) piece(p *piece) error {
	rec, err := w.record(p.unit)
	if err != nil {
		return err
	}
	if p.first || p.batch.Restarted {
		rec.Messages, rec.Waiting = 0, nil
	}
	for i := range p.batch.Sessions {
		if err := w.session(rec, &p.batch.Sessions[i]); err != nil {
			return err
		}
	}
	for i := range p.batch.Messages {
		m := &p.batch.Messages[i]
		if !m.Amends || p.batch.Restarted {
			rec.Messages++
		}
		if err := w.message(rec, m); err != nil {
			return err
		}
	}
	rec.Cursor = p.batch.Cursor
	return nil
}

// record returns what is remembered of a source, to be changed.
func (w *writer) record(u *unit) (*source, error) {
	rec := w.records[u.name]
	if rec == nil {
		loaded, err := loadSource(w.ctx, w.tx, u.name)
		if err != nil {
			return nil, err
		}
		rec = &loaded
		rec.Name, rec.Format = u.name, string(u.Format)
		w.records[u.name] = rec
	}
	return rec, nil
}

// note is what is to be remembered of a session.
type note struct {
	imported
	changed bool
}

// remember writes how far the sources were read and which sessions are in them.
// Where there are no transactions that comes last: a session that is remembered and
// is not there was deleted.
func (w *writer) remember(tx kv.KVStorage) error {
	for handle, n := range w.noted {
		if !n.changed {
			continue
		}
		if err := kv.Store(w.ctx, tx, kv.Config, importedKey(tx, handle), n.imported); err != nil {
			return err
		}
	}
	for name, rec := range w.records {
		if err := kv.Store(w.ctx, tx, kv.Config, sourceKey(tx, name), rec); err != nil {
			return err
		}
	}
	return nil
}

// message stores a message, or what it says beyond the one that is stored.
func (w *writer) message(rec *source, m *transcripts.Message) error {
	format := transcripts.Format(rec.Format)
	key := messageKey(w.tx, rec.Format, m.ID)
	if w.seen != nil {
		if w.seen[string(key)] {
			w.tally.count(format).Unchanged++
			return nil
		}
		w.seen[string(key)] = true
	}
	at, known, err := lookup(w.ctx, w.tx, key)
	if err != nil {
		return err
	}
	if known {
		done, err := w.again(rec, m, at)
		if done || err != nil {
			return err
		}
	}
	return w.append(rec, m, key)
}

// append stores a message that is new.
func (w *writer) append(rec *source, m *transcripts.Message, key []byte) error {
	format := transcripts.Format(rec.Format)
	handle, err := w.open(rec, m)
	if err != nil {
		return err
	}
	if handle == "" {
		w.tally.count(format).LeftOut++
		return nil
	}
	out := messageOf(m)
	meta, err := w.batch.Append(w.ctx, handle, out)
	if refused(err) {
		w.tally.skips = append(w.tally.skips, Skip{Path: rec.Name, Reason: "message " + m.ID + ": " + err.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	w.tally.count(format).New++
	w.tally.session(format, handle).updated = true
	if err := w.openWith(&meta, &out); err != nil {
		return err
	}
	return w.tx.Put(w.ctx, kv.Session, key, place{handle, meta.NextIndex - 1}.value())
}

// refused tells whether an error is about one message, and not about the store.
func refused(err error) bool {
	return errors.Is(err, sessions.ErrInvalid) || errors.Is(err, kv.ErrValueTooLarge) || errors.Is(err, kv.ErrUnstorable)
}

// again takes a message that is stored already, or was once. It returns false when
// what the index has of it is of a session that is no more.
func (w *writer) again(rec *source, m *transcripts.Message, at place) (done bool, err error) {
	counts := w.tally.count(transcripts.Format(rec.Format))
	stored, err := w.batch.Get(w.ctx, at.handle, at.index)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		cut, err := w.truncated(at)
		if cut {
			counts.LeftOut++
		}
		return cut, err
	case errors.Is(err, kv.ErrCorrupt): // stored, and for others to mend
		counts.Unchanged++
		return true, nil
	case err != nil:
		return false, err
	case stored.ID != m.ID:
		return false, nil
	}
	own := handleOf(transcripts.Format(rec.Format), m.SessionID)
	if at.handle != own {
		counts.Unchanged++ // the copy in a fork
		return true, nil
	}
	return true, w.amend(rec, m, stored, own)
}

// truncated tells whether a place is one whose message was truncated: the session
// is there, and gave the index away once.
func (w *writer) truncated(at place) (bool, error) {
	meta, err := w.batch.Load(w.ctx, at.handle)
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	return err == nil && at.index < meta.NextIndex, err
}

// amend replaces a stored message by the same with more in it.
func (w *writer) amend(rec *source, m *transcripts.Message, stored sessions.Message, handle string) error {
	format := transcripts.Format(rec.Format)
	session := w.tally.session(format, handle)
	if err := w.note(rec, handle, m.SessionID); err != nil {
		return err
	}
	out := messageOf(m)
	out.Index = stored.Index
	if out.At.IsZero() {
		out.At = stored.At
	}
	differs := false
	if m.Amends || len(out.Blocks) > len(stored.Blocks) {
		same, err := equal(&out, &stored)
		if err != nil {
			return err
		}
		differs = !same
	}
	if !differs {
		w.tally.count(format).Unchanged++
		return nil
	}
	meta, err := w.batch.Amend(w.ctx, handle, out)
	if refused(err) {
		w.tally.skips = append(w.tally.skips, Skip{Path: rec.Name, Reason: "message " + m.ID + ": " + err.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	w.tally.count(format).Updated++
	session.updated = true
	return w.openWith(&meta, &out)
}

// equal tells whether two messages are stored alike.
func equal(a, b *sessions.Message) (bool, error) {
	x, err := kv.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := kv.Marshal(b)
	return bytes.Equal(x, y), err
}
