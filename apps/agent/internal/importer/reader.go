package importer

import (
	"context"
	"slices"

	"github.com/crabstore/crabstore/apps/agent/internal/transcripts"
	"github.com/crabstore/crabstore/kv"
)

// reader reads sources ahead of the writer.
type reader struct {
	ctx     context.Context
	store   kv.KVStorage
	opts    transcripts.Options
	restart map[string]bool // names of sources to be read from the beginning
	out     chan<- piece
	seen    map[string]bool // handles of sessions that were read of
}

// run reads the sources in their order, but for forks: what a fork has copied is
// the other session's, so that one goes first. A fork of what is not found is
// read when nothing else is left.
func (r *reader) run(units []*unit) error {
	defer close(r.out)
	patient := true
	for len(units) > 0 {
		var later []*unit
		for _, u := range units {
			read, err := r.unit(u, patient)
			if err != nil {
				return err
			}
			if !read {
				later = append(later, u)
			}
		}
		patient = len(later) < len(units)
		units = later
	}
	return nil
}

// unit reads one source. It returns false, having read nothing, when the source
// can wait and its sessions had better.
func (r *reader) unit(u *unit, canWait bool) (read bool, err error) {
	rec, err := loadSource(r.ctx, r.store, u.name)
	if err != nil {
		return false, err
	}
	if r.restart[u.name] {
		rec.Cursor = transcripts.Cursor{}
	}
	fromStart := rec.Cursor.Records == 0
	first := true
	end := piece{unit: u, ended: true, unchanged: true, known: rec.Messages}
	for batch, err := range transcripts.Read(r.ctx, u.Source, rec.Cursor, r.opts) {
		if r.ctx.Err() != nil {
			return false, r.ctx.Err()
		}
		if err != nil {
			end.err, end.unchanged = err, false
			break
		}
		if first && fromStart && canWait {
			wait, err := r.wait(batch.Sessions)
			if wait || err != nil {
				return false, err
			}
		}
		if err := r.send(piece{unit: u, batch: batch, first: first && fromStart}); err != nil {
			return false, err
		}
		for i := range batch.Sessions {
			r.seen[handleOf(u.Format, batch.Sessions[i].ID)] = true
		}
		first, end.unchanged = false, false
	}
	return true, r.send(end)
}

// wait tells whether sessions are forks of one that was not read yet.
func (r *reader) wait(list []transcripts.Session) (bool, error) {
	for i := range list {
		s := &list[i]
		if s.Kind != transcripts.Fork || s.ParentID == "" {
			continue
		}
		parent := handleOf(s.Format, s.ParentID)
		if r.seen[parent] || slices.ContainsFunc(list, func(o transcripts.Session) bool { return o.ID == s.ParentID }) {
			continue
		}
		known, err := kv.Has(r.ctx, r.store, kv.Config, importedKey(r.store, parent))
		if err != nil || !known {
			return err == nil, err
		}
	}
	return false, nil
}

func (r *reader) send(p piece) error {
	select {
	case r.out <- p:
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}
