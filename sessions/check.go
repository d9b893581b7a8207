package sessions

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch"
)

// Fault is one thing in which content and indexes do not agree, or that cannot be
// read.
type Fault struct {
	Handle string `json:"handle,omitempty"` // empty when it is of no session that exists
	What   string `json:"what"`
}

// String returns the fault as a sentence.
func (f Fault) String() string {
	if f.Handle == "" {
		return f.What
	}
	return fmt.Sprintf("session %s: %s", f.Handle, f.What)
}

// Check compares content and indexes of a session, or of all sessions when handle
// is empty, and returns what is wrong: nothing, when all is well. It changes
// nothing. What it finds of indexes and counts, Reindex puts right, and ReindexAll. The error is
// that of a store that could not be read.
//
// Content that nothing reaches, as an interrupted append leaves it on a store
// without transactions, is no fault.
func Check(ctx context.Context, s kv.KVStorage, handle string) ([]Fault, error) {
	c := checker{ctx: ctx, ranking: rankingOf(s)}
	err := kv.View(ctx, s, func(tx kv.KVStorage) error {
		c.s = tx
		if handle != "" {
			if err := c.session(handle); err != nil {
				return err
			}
			return c.text(docsOf(handle), func(yield func(string, error) bool) { yield(handle, nil) })
		}
		return c.all()
	})
	return c.faults, err
}

// checker looks at a store that does not change.
type checker struct {
	ctx     context.Context
	s       kv.KVStorage
	ranking Ranking
	faults  []Fault
}

func (c *checker) fault(handle, format string, args ...any) {
	c.faults = append(c.faults, Fault{handle, fmt.Sprintf(format, args...)})
}

func (c *checker) all() error {
	for handle, err := range allHandles(c.ctx, c.s) {
		if err == nil {
			err = c.session(handle)
		}
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
	}
	if err := c.compare("", func(b *Batch) error { return b.sweep(c.ctx) }); err != nil {
		return err
	}
	return c.text("", allHandles(c.ctx, c.s))
}

// text compares the documents of sessions with what the text index has under a
// prefix.
func (c *checker) text(under string, handles iter.Seq2[string, error]) error {
	report, err := textsearch.Check(c.ctx, c.s, TextIndex, under, c.documents(handles))
	if err != nil {
		return err
	}
	for _, f := range report.Faults {
		c.fault("", "text index: %s", f)
	}
	if report.Stray > 0 {
		c.fault("", "text index: %d values that nothing leads to", report.Stray)
	}
	return nil
}

// documents yields what the text index has to hold of sessions, without those of
// which nobody knows because their meta cannot be read.
func (c *checker) documents(handles iter.Seq2[string, error]) iter.Seq2[textsearch.Document, error] {
	return func(yield func(textsearch.Document, error) bool) {
		b := &Batch{tx: c.s, ranking: c.ranking}
		for handle, err := range handles {
			if err != nil {
				yield(textsearch.Document{}, err)
				return
			}
			meta, err := loadMeta(c.ctx, c.s, handle)
			if err != nil {
				if isUnreadable(err) {
					continue
				}
				yield(textsearch.Document{}, err)
				return
			}
			var counted Meta
			for d, err := range b.contents(c.ctx, meta, &counted) {
				if !yield(textsearch.Document{Key: d.key, Text: d.text, Weight: d.weight}, err) {
					return
				}
			}
		}
	}
}

func (c *checker) session(handle string) error {
	meta, err := loadMeta(c.ctx, c.s, handle)
	if errors.Is(err, kv.ErrCorrupt) {
		c.fault(handle, "%v", err)
		return nil
	}
	if err != nil {
		return err
	}
	for _, step := range []func(*Meta) error{c.messages, c.events, c.marker} {
		if err := step(&meta); err != nil {
			return err
		}
	}
	return c.compare(handle, func(b *Batch) error {
		d, err := b.open(c.ctx, handle)
		if err != nil {
			return err
		}
		return b.rederive(c.ctx, d, func(doc) error { return nil })
	})
}

func (c *checker) messages(meta *Meta) error {
	var failed error
	yieldMessages(c.ctx, c.s, messagePrefix(c.s, meta.Handle), Range{Before: meta.NextIndex}, func(_ Message, err error) bool {
		switch {
		case errors.Is(err, kv.ErrCorrupt):
			c.fault(meta.Handle, "%v", err)
		case err != nil:
			failed = err
		}
		return failed == nil
	})
	return failed
}

func (c *checker) events(meta *Meta) error {
	next := 1
	for e, err := range Events(c.ctx, c.s, meta.Handle, 0) {
		if errors.Is(err, kv.ErrCorrupt) {
			c.fault(meta.Handle, "%v", err)
			return nil
		}
		if err != nil {
			return err
		}
		if e.Seq != next {
			c.fault(meta.Handle, "event %d is followed by event %d", next-1, e.Seq)
		}
		next = e.Seq + 1
	}
	if next != meta.LastSeq+1 {
		c.fault(meta.Handle, "the last event is %d and not %d", next-1, meta.LastSeq)
	}
	return nil
}

func (c *checker) marker(meta *Meta) error {
	if meta.Boundary < 0 || meta.Boundary > meta.NextIndex {
		c.fault(meta.Handle, "the boundary is %d and the next message %d", meta.Boundary, meta.NextIndex)
	}
	marked, err := kv.Has(c.ctx, c.s, kv.Session, archiveKey(c.s, meta.Handle))
	if err == nil && !marked && meta.Boundary > 0 {
		c.fault(meta.Handle, "the boundary is %d and no summary stands for what is before it", meta.Boundary)
	}
	return err
}

// compare does something above the store, and finds a fault wherever that would
// change it: whatever makes an index anew finds nothing to change in a good one.
func (c *checker) compare(handle string, anew func(*Batch) error) error {
	differences, err := kv.Differences(c.ctx, c.s, func(tx kv.KVStorage) error {
		return update(c.ctx, tx, c.ranking, anew)
	})
	if err != nil {
		return err
	}
	for _, d := range differences {
		c.fault(handle, "%s", d)
	}
	return nil
}
