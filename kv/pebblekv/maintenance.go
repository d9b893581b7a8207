package pebblekv

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/crabstore/crabstore/kv"
)

// Checkpoint flushes what is in memory into tables: it returns when every write that
// was acknowledged before is safe from a power loss, and opening has nothing of it to
// replay. When nothing was written since the last one it does nothing.
func (s *Store) Checkpoint(ctx context.Context) error {
	leave, err := s.maintain(ctx)
	if err != nil {
		return err
	}
	defer leave()
	begun := s.commits.Load()
	if s.safe.Load() >= begun {
		return nil
	}
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return translate(err)
	}
	select {
	case <-flushed:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.disk.failed(); err != nil {
		return err
	}
	for was := s.safe.Load(); was < begun && !s.safe.CompareAndSwap(was, begun); {
		was = s.safe.Load()
	}
	return nil
}

// Compact rewrites all that holds something overwritten or deleted, which gives its
// space back. It returns when it is done, when ctx has ended, with kv.ErrClosed, or with
// the first failure of any compaction: pebble tries again what failed before it does
// what it is asked for.
func (s *Store) Compact(ctx context.Context) error {
	leave, err := s.maintain(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	failure, _ := s.news.background()
	go func() {
		select {
		case <-failure:
			_, err := s.news.background()
			cancel(err)
		case <-s.gate.Closing(): // which does not wait for what may take minutes
			cancel(kv.ErrClosed)
		case <-ctx.Done():
		}
	}()
	behindAll := bytes.Repeat([]byte{0xFF}, 1+kv.MaxKeySize+1)
	err = s.db.Compact(ctx, []byte{0}, behindAll, true)
	if failed := s.disk.failed(); failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("pebblekv: compacting %s: %w", s.dir, translate(cmp.Or(context.Cause(ctx), err)))
	}
	// Files are deleted by a goroutine of pebble's. It takes its time only where
	// deletions are paced, which is why the name warns; here they are not.
	s.db.TestOnlyWaitForCleaning()
	return nil
}

// maintain is how maintenance begins: as a write does, but without the turn.
func (s *Store) maintain(ctx context.Context) (leave func(), err error) {
	if err := s.writable(ctx); err != nil {
		return nil, err
	}
	return s.gate.Call(ctx)
}

// Stats tells how the store is. Keys and DeadBytes are 0, unknown: pebble counts
// neither, and reading all keys of a large store takes seconds.
func (s *Store) Stats(ctx context.Context) (kv.Stats, error) {
	leave, err := s.gate.Call(ctx)
	if err != nil {
		return kv.Stats{}, err
	}
	defer leave()
	m := s.db.Metrics()
	tables := m.Total()
	st := kv.Stats{
		Engine: "pebble", Location: s.dir,
		Bytes:  int64(m.DiskSpaceUsage()),
		Memory: int64(m.MemTable.Size) + m.BlockCache.Size,
		Detail: map[string]any{
			"format":          int(s.db.FormatMajorVersion()),
			"read_only":       s.disk == nil,
			"sync_writes":     s.disk != nil && s.disk.syncWrites,
			"tables":          tables.TablesCount,
			"table_bytes":     tables.TablesSize,
			"log_bytes":       int64(m.WAL.PhysicalSize),
			"compactions":     m.Compact.Count,
			"compaction_debt": int64(m.Compact.EstimatedDebt),
		},
	}
	if s.disk != nil && s.disk.failed() != nil {
		st.Detail["poisoned"] = s.disk.failed().Error()
	}
	if _, err := s.news.background(); err != nil {
		st.Detail["background_failure"] = err.Error()
	}
	return st, nil
}
