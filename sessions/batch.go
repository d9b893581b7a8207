package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// Update runs fn as one transaction on s, with a Batch of changes to sessions,
// and commits them when fn returns nil. When it returns an error nothing is
// written and Update returns that error. Like the function of a kv.Update, fn may
// be called again and has no other side effects.
//
// Every function of this package that writes is an Update of one step. Taking
// several steps in one is how they become one commit, and how thousands of
// messages are written fast: metas and the statistics of the text index are
// written once at its end.
func Update(ctx context.Context, s kv.KVStorage, fn func(b *Batch) error) error {
	return update(ctx, s, rankingOf(s), fn)
}

func update(ctx context.Context, s kv.KVStorage, ranking Ranking, fn func(b *Batch) error) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		b := &Batch{tx: tx, ranking: ranking, drafts: map[string]*draft{}, docAt: map[string]int{}}
		if err := fn(b); err != nil {
			return err
		}
		return b.flush(ctx)
	})
}

// commit runs one change as an Update, and returns what it returns.
func commit[T any](ctx context.Context, s kv.KVStorage, change func(b *Batch) (T, error)) (T, error) {
	var result, none T
	err := Update(ctx, s, func(b *Batch) (err error) {
		result, err = change(b)
		return err
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

// Batch is a set of changes to sessions that become one commit. It is for one
// goroutine, and dead when the function it was given to has returned. When a
// change returns an error, part of it may be in the batch: the function returns
// the error as well, or it commits that part.
type Batch struct {
	tx      kv.KVStorage
	ranking Ranking

	drafts map[string]*draft
	order  []*draft // in the order in which they were first touched

	docs  []doc          // to be indexed when the metas are written
	docAt map[string]int // where in docs a document's key is
}

// draft is the meta of a session in the making.
type draft struct {
	stored  *Meta // as the store has it; nil when it has none
	now     Meta
	read    int    // the revision it had before the batch; 0 when it is new
	changed bool   // now differs from stored
	msgs    []byte // prefix of its messages' keys
}

// Store returns the transaction, for what belongs into the same commit and is no
// session's: a cursor, a run. A session that the batch has touched is read and
// written through the batch alone, which holds its meta back until the end.
func (b *Batch) Store() kv.KVStorage { return b.tx }

// Load returns the meta of a session as the batch has it.
func (b *Batch) Load(ctx context.Context, handle string) (Meta, error) {
	d, err := b.open(ctx, handle)
	if err != nil {
		return Meta{}, err
	}
	return d.now, nil
}

// Expect returns kv.ErrConflict when the session was changed by another since it
// had this revision.
func (b *Batch) Expect(ctx context.Context, handle string, revision int) error {
	d, err := b.open(ctx, handle)
	if err != nil {
		return err
	}
	if d.read != revision {
		return fmt.Errorf("%w: session %q is at revision %d, not %d: load it again", kv.ErrConflict, handle, d.read, revision)
	}
	return nil
}

// open returns the draft of a session that exists.
func (b *Batch) open(ctx context.Context, handle string) (*draft, error) {
	if d := b.drafts[handle]; d != nil {
		return d, nil
	}
	m, err := loadMeta(ctx, b.tx, handle)
	if err != nil {
		return nil, err
	}
	return b.hold(m, &m), nil
}

func (b *Batch) hold(now Meta, stored *Meta) *draft {
	d := &draft{stored: stored, now: now, read: now.Revision, msgs: messagePrefix(b.tx, now.Handle)}
	b.drafts[now.Handle] = d
	b.order = append(b.order, d)
	return d
}

// forget takes a session out of the batch: it was deleted.
func (b *Batch) forget(d *draft) {
	delete(b.drafts, d.now.Handle)
	b.order = slices.DeleteFunc(b.order, func(o *draft) bool { return o == d })
}

// touch says that a draft changes. Its revision moves once in a batch, which is
// one commit.
func (d *draft) touch() {
	d.changed = true
	d.now.Revision = d.read + 1
}

// saw moves the time of the last activity, never back.
func (d *draft) saw(at time.Time) {
	if at.After(d.now.UpdatedAt) {
		d.now.UpdatedAt = at
	}
}

// flush writes what the batch holds back: metas with their list entries, then
// the text. Messages were written before: on a store without transactions a crash
// leaves content that nothing reaches.
func (b *Batch) flush(ctx context.Context) error {
	for _, d := range b.order {
		if !d.changed {
			continue
		}
		if err := b.writeMeta(ctx, d); err != nil {
			return err
		}
	}
	return b.flushText(ctx)
}

func (b *Batch) writeMeta(ctx context.Context, d *draft) error {
	if err := kv.Store(ctx, b.tx, kv.Session, metaKey(b.tx, d.now.Handle), &d.now); err != nil {
		return err
	}
	if err := b.moveListEntry(ctx, d); err != nil {
		return err
	}
	b.indexMeta(d)
	written := d.now
	d.stored, d.changed = &written, false
	return nil
}

// moveListEntry puts the entry by which List finds the session where its meta
// wants it.
func (b *Batch) moveListEntry(ctx context.Context, d *draft) error {
	var was []byte
	if d.stored != nil {
		was = listKey(b.tx, d.stored)
	}
	key := listKey(b.tx, &d.now)
	if bytes.Equal(was, key) {
		return nil
	}
	if err := b.tx.Put(ctx, kv.Session, key, []byte(d.now.Handle)); err != nil || was == nil {
		return err
	}
	_, err := b.tx.Delete(ctx, kv.Session, was)
	return err
}

// loadMeta reads a stored meta.
func loadMeta(ctx context.Context, s kv.KVStorage, handle string) (Meta, error) {
	m, err := kv.Load[Meta](ctx, s, kv.Session, metaKey(s, handle))
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return Meta{}, fmt.Errorf("session %.80q: %w", handle, kv.ErrNotFound)
	case err != nil:
		return Meta{}, err
	}
	m.clean()
	m.Handle = handle
	return m, nil
}

// metaOf returns the meta of a draft, or none of none.
func metaOf(d *draft) Meta {
	if d == nil {
		return Meta{}
	}
	return d.now
}
