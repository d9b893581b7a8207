package sessions

import (
	"context"
	"errors"
	"fmt"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/memory"
)

// Compaction says what Compact records.
type Compaction struct {
	Summary string // of the conversation up to the messages that are kept
	Keep    int    // how many of the last messages stay in the context, at least
}

// Compact records that a summary stands for the messages before a boundary, from
// where on LoadContext reads them, and returns the session's meta. The summary
// becomes a memory entry of kind archive, the marker in the session holds its
// name, and Meta.Summary says it too; all in one commit. The messages before the
// boundary stay, as history. Of two compactions the later one counts.
//
// No tool call is parted from its result: where Keep would do that, also to a call
// whose result is still to come, the boundary lies further back and more is kept.
func Compact(ctx context.Context, s kv.KVStorage, handle string, c Compaction) (Meta, error) {
	return commit(ctx, s, func(b *Batch) (Meta, error) { return b.Compact(ctx, handle, c) })
}

// Compact is the function of that name, in the batch.
func (b *Batch) Compact(ctx context.Context, handle string, c Compaction) (Meta, error) {
	d, err := b.open(ctx, handle)
	if err != nil {
		return Meta{}, err
	}
	live, err := liveMessages(ctx, b.tx, &d.now)
	if err != nil {
		return Meta{}, err
	}
	d.touch()
	d.now.Boundary = boundary(live, c.Keep, d.now.NextIndex)
	d.now.Summary = cleanText(c.Summary)
	// A revision is used once, so the name is new, and the last compaction's the
	// last by name too.
	name := kv.Join(memory.Archive, handle, string(numbered(nil, d.now.Revision)))
	_, err = memory.Put(ctx, b.tx, memory.Entry{Name: name, Kind: memory.Archive, Content: c.Summary, Session: handle})
	if err != nil {
		return Meta{}, fmt.Errorf("summary of session %q: %w", handle, err)
	}
	return d.now, b.tx.Put(ctx, kv.Session, archiveKey(b.tx, handle), []byte(name))
}

// undoCompaction makes all messages live again. The meta is written first: what it
// does not speak of, nothing reaches.
func (b *Batch) undoCompaction(ctx context.Context, d *draft) error {
	d.now.Boundary, d.now.Summary = 0, ""
	if err := b.writeMeta(ctx, d); err != nil {
		return err
	}
	if _, err := b.tx.Delete(ctx, kv.Session, archiveKey(b.tx, d.now.Handle)); err != nil {
		return err
	}
	return b.deleteSummaries(ctx, d.now.Handle)
}

// Context is what a model is shown of a session: in place of its history a
// summary, and then the messages since.
type Context struct {
	Summary  string    `json:"summary,omitempty"` // of what is before the boundary; empty when nothing is
	Archive  string    `json:"archive,omitempty"` // name of the memory entry with the summary
	Messages []Message `json:"messages"`
}

// LoadContext returns the context of a session. A provider takes it: what cannot
// be paired is left out of it, that is results of calls that are not in it and
// calls that were never answered though the conversation went on. The calls of
// the last turn stay, for their results are still to come.
func LoadContext(ctx context.Context, s kv.KVStorage, handle string) (Context, error) {
	return view(ctx, s, func(s kv.KVStorage) (Context, error) { return loadContext(ctx, s, handle) })
}

func loadContext(ctx context.Context, s kv.KVStorage, handle string) (Context, error) {
	meta, err := loadMeta(ctx, s, handle)
	if err != nil {
		return Context{}, err
	}
	live, err := liveMessages(ctx, s, &meta)
	if err != nil {
		return Context{}, err
	}
	c := Context{Messages: paired(live)}
	if meta.Boundary == 0 { // no message has a summary in its place
		return c, nil
	}
	name, err := s.Get(ctx, kv.Session, archiveKey(s, handle))
	if err == nil {
		c.Archive = string(name)
		var e memory.Entry
		e, err = memory.Get(ctx, s, c.Archive)
		c.Summary = e.Content
	}
	if errors.Is(err, kv.ErrNotFound) { // someone forgot the entry: the meta says it too
		c.Summary, err = meta.Summary, nil
	}
	return c, err
}

// liveMessages returns the messages from the boundary on. One that cannot be read
// is an error: a context with a hole in it is another conversation.
func liveMessages(ctx context.Context, s kv.KVStorage, meta *Meta) (live []Message, err error) {
	r := Range{From: meta.Boundary, Before: meta.NextIndex}
	yieldMessages(ctx, s, messagePrefix(s, meta.Handle), r, func(m Message, e error) bool {
		live, err = append(live, m), e
		return e == nil
	})
	return live, err
}
