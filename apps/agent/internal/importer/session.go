package importer

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/crabstore/crabstore/apps/agent/internal/transcripts"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/sessions"
)

func isStored(ctx context.Context, s kv.KVStorage, handle string) (bool, error) {
	_, err := sessions.Load(ctx, s, handle)
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	return err == nil || errors.Is(err, kv.ErrCorrupt), ignoreCorrupt(err)
}

// ignoreCorrupt is for one entry that cannot be read: it is there, and no reason
// to leave the rest undone.
func ignoreCorrupt(err error) error {
	if errors.Is(err, kv.ErrCorrupt) {
		return nil
	}
	return err
}

// session takes what is announced of a session. One that is not stored waits for
// its first message.
func (w *writer) session(rec *source, s *transcripts.Session) error {
	handle := handleOf(s.Format, s.ID)
	s.Source = rec.Name // by which it can be found again
	meta, err := w.batch.Load(w.ctx, handle)
	if errors.Is(err, kv.ErrNotFound) {
		rec.announce(*s)
		return nil
	}
	if err != nil {
		return err
	}
	want := meta
	describe(&want, s)
	if reflect.DeepEqual(meta, want) {
		return nil
	}
	w.tally.session(s.Format, handle).updated = true
	_, err = w.batch.UpdateMeta(w.ctx, handle, func(m *sessions.Meta) error {
		describe(m, s)
		return nil
	})
	return err
}

// open returns the handle of the session that a new message is of, which it
// creates when it has to. It returns none for a session that was deleted here.
func (w *writer) open(rec *source, m *transcripts.Message) (string, error) {
	format := transcripts.Format(rec.Format)
	handle := handleOf(format, m.SessionID)
	switch _, err := w.batch.Load(w.ctx, handle); {
	case err == nil:
		return handle, w.note(rec, handle, m.SessionID)
	case !errors.Is(err, kv.ErrNotFound):
		return "", err
	}
	if !w.force {
		was, err := kv.Has(w.ctx, w.tx, kv.Config, importedKey(w.tx, handle))
		if err != nil {
			return "", err
		}
		if was {
			w.tally.leftOut[handle] = Deleted{handle, rec.Format, m.SessionID}
			return "", nil
		}
	}
	return handle, w.create(rec, handle, m)
}

func (w *writer) create(rec *source, handle string, m *transcripts.Message) error {
	s := rec.begin(m.SessionID)
	meta := sessions.Meta{Handle: handle, CreatedAt: firstAt(&s, m)}
	describe(&meta, &s)
	if err := w.leftAt(&meta, rec.Format, m); err != nil {
		return err
	}
	if _, err := w.batch.Create(w.ctx, meta); err != nil {
		return err
	}
	w.tally.session(s.Format, handle).new = true
	return w.note(rec, handle, m.SessionID)
}

// leftAt finds at which message of its parent a session left it: its first own
// message answers that one.
func (w *writer) leftAt(meta *sessions.Meta, format string, m *transcripts.Message) error {
	if meta.Parent == nil || m.ParentID == "" {
		return nil
	}
	at, known, err := lookup(w.ctx, w.tx, messageKey(w.tx, format, m.ParentID))
	if known && at.handle == meta.Parent.Handle {
		meta.Parent.Index = at.index
	}
	return err
}

// note remembers that a session is in a source.
func (w *writer) note(rec *source, handle, id string) error {
	was := w.noted[handle]
	if was == nil {
		stored, err := kv.Load[imported](w.ctx, w.tx, kv.Config, importedKey(w.tx, handle))
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		was = &note{imported: stored}
		w.noted[handle] = was
	}
	if !slices.Contains(was.Sources, rec.Name) {
		was.Format, was.ID, was.Sources, was.changed = rec.Format, id, append(was.Sources, rec.Name), true
	}
	return nil
}

// openWith keeps the first words that a user said in a session.
func (w *writer) openWith(meta *sessions.Meta, m *sessions.Message) error {
	if meta.Extra[ExtraOpening] != nil {
		return nil
	}
	words := opening(m)
	if words == "" {
		return nil
	}
	_, err := w.batch.UpdateMeta(w.ctx, meta.Handle, func(m *sessions.Meta) error {
		setExtra(m, ExtraOpening, words)
		return nil
	})
	return err
}
