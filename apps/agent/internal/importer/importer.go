package importer

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/crabstore/crabstore/apps/agent/internal/transcripts"
	"github.com/crabstore/crabstore/kv"
)

// Options says how Run goes about it. The zero value is right.
type Options struct {
	Force    bool // bring back sessions that were deleted here
	DryRun   bool // write nothing; the store need only be readable
	Read     transcripts.Options
	Progress func(Progress) // called now and then, by the goroutine of Run; nil is fine

	// Name gives the name under which a source is remembered. Nil means its Key,
	// which for files is their path and had better be absolute.
	Name func(transcripts.Source) string

	chunk int // messages in a commit, for tests; 0 means chunkMessages
}

// Progress says how far a run is.
type Progress struct {
	Bytes, BytesTotal     int64
	Sources, SourcesTotal int
	Messages              int // written, or known
}

// readAhead is how many batches are read and not yet written, each of 512 messages
// or a MiB at most, and a single message more.
const readAhead = 4

// Run imports what was found. It returns a report of what it did also beside an
// error, which is one of the store. When ctx ends it stops at the next border of
// a commit, says so in the report, and returns no error.
func Run(ctx context.Context, s kv.KVStorage, found []transcripts.Finding, opts Options) (*Report, error) {
	began := time.Now()
	r := &run{store: s, opts: opts, account: newAccount()}
	r.account.DryRun = opts.DryRun
	err := r.run(ctx, found)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		r.account.Interrupted, err = true, nil
	}
	r.account.Duration = time.Since(began)
	return r.account.close(), err
}

// run is one call of Run.
type run struct {
	store    kv.KVStorage
	opts     Options
	account  *account
	progress Progress
	sink     sink
}

func (r *run) run(ctx context.Context, found []transcripts.Finding) error {
	units := r.queue(found)
	restart, err := r.deleted(ctx, units)
	if err != nil {
		return err
	}
	if r.opts.DryRun {
		r.sink = &planning{store: r.store, force: r.opts.Force, seen: map[string]bool{}}
	} else {
		r.sink = newStoring(r.store, r.opts.Force)
	}
	if err := r.sink.begin(ctx); err != nil {
		return err
	}
	err = r.pipe(ctx, units, restart)
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = errors.Join(err, r.sink.end(context.WithoutCancel(ctx)))
	}
	return err
}

// pipe has the units read and written.
func (r *run) pipe(ctx context.Context, units []*unit, restart map[string]bool) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	pieces := make(chan piece, readAhead)
	ahead := &reader{ctx: reading, store: r.store, opts: r.opts.Read, restart: restart, out: pieces, seen: map[string]bool{}}
	failed := make(chan error, 1)
	go func() { failed <- ahead.run(units) }()

	err := r.write(ctx, pieces)
	stop()
	for range pieces { // what was read and is not wanted
	}
	return errors.Join(err, unlessStopped(<-failed, err))
}

// unlessStopped is the reader's error, unless it is only that the writer stopped it.
func unlessStopped(reader, writer error) error {
	if writer != nil && errors.Is(reader, context.Canceled) {
		return nil
	}
	return reader
}

// queue returns the sources that were found, and takes account of the rest.
func (r *run) queue(found []transcripts.Finding) []*unit {
	var units []*unit
	for _, f := range found {
		if f.Status != transcripts.Found {
			r.account.find(f)
			continue
		}
		u := &unit{Source: f.Source, name: f.Source.Key()}
		if r.opts.Name != nil {
			u.name = r.opts.Name(f.Source)
		}
		if info, err := os.Stat(f.Source.Path); err == nil { // else reading it will say so
			u.size = info.Size()
		}
		r.progress.BytesTotal += u.size
		units = append(units, u)
	}
	r.progress.SourcesTotal = len(units)
	return units
}

// write commits the pieces, chunk by chunk.
func (r *run) write(ctx context.Context, pieces <-chan piece) error {
	limit := cmp.Or(r.opts.chunk, chunkMessages)
	c := chunk{limit: limit}
	for p := range pieces {
		c.add(p)
		if !c.full() {
			continue
		}
		if err := r.commit(ctx, &c); err != nil {
			return err
		}
		c = chunk{limit: limit}
	}
	return r.commit(ctx, &c)
}

// commit writes a chunk, unless the context has ended. Once begun, it is finished.
func (r *run) commit(ctx context.Context, c *chunk) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t, err := r.sink.write(context.WithoutCancel(ctx), c)
	if err != nil {
		return err
	}
	r.account.merge(t)
	for i := range c.pieces {
		r.account.read(&c.pieces[i])
		r.advance(&c.pieces[i])
	}
	if r.opts.Progress != nil {
		r.opts.Progress(r.progress)
	}
	return nil
}

func (r *run) advance(p *piece) {
	r.progress.Messages += len(p.batch.Messages)
	p.unit.size -= p.batch.Bytes
	r.progress.Bytes += p.batch.Bytes
	if p.ended { // what was not counted, since it had been read, or is not read in bytes
		r.progress.Bytes += p.unit.size
		r.progress.Sources++
		r.progress.Messages += p.known
	}
}

// deleted takes account of the sessions of the sources that were deleted here. With
// Options.Force it returns the names of those sources instead, to be read anew.
func (r *run) deleted(ctx context.Context, units []*unit) (restart map[string]bool, err error) {
	names := map[string]bool{}
	for _, u := range units {
		names[u.name] = true
	}
	restart = map[string]bool{}
	for e, err := range r.store.Scan(ctx, kv.Config, kv.Prefix(r.store, "import", "session")) {
		if err != nil {
			return nil, err
		}
		if err := r.deletedOne(ctx, e, names, restart); err != nil {
			return nil, err
		}
	}
	return restart, nil
}

func (r *run) deletedOne(ctx context.Context, e kv.Entry, names, restart map[string]bool) error {
	_, parts, err := kv.Split(e.Key)
	if err != nil {
		return err
	}
	handle := parts[len(parts)-1]
	there, err := isStored(ctx, r.store, handle)
	if err != nil || there {
		return err
	}
	var was imported
	if err := kv.Unmarshal(e.Value, &was); err != nil {
		return err
	}
	for _, name := range was.Sources {
		if !names[name] {
			continue
		}
		if r.opts.Force {
			restart[name] = true
		} else {
			r.account.leftOut[handle] = Deleted{handle, was.Format, was.ID}
		}
	}
	return nil
}
