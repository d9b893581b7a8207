package etcdkv

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crabstore/crabstore/kv"
)

// attempts is how often a write is tried that others are faster than.
const attempts = 64

// proposal is a commit before it is one.
type proposal struct {
	guard   guard // what it makes of the guard
	since   int64 // a revision from before it was made
	compare []clientv3.Cmp
	ops     []clientv3.Op
}

// outcome is what came of a proposal.
type outcome struct {
	committed bool
	rev       int64   // of the commit
	answer    *answer // nil where it was lost
	found     guard   // where it did not commit: what it found instead
}

// propose makes a commit. What cannot be told of it is found out, and it is never
// asked for again, since a request whose answer is lost may still arrive. The end of the
// context does not take it back, so that there is an outcome to tell.
func (s *Store) propose(ctx context.Context, p proposal) (outcome, error) {
	ctx = context.WithoutCancel(ctx)
	a, err := s.until(ctx, request{
		compare: p.compare,
		then:    append([]clientv3.Op{s.putGuard(p.guard)}, p.ops...),
		orIs:    []clientv3.Op{s.getGuard()},
	}, refused)
	switch {
	case err == nil && a.Succeeded:
		s.saw(p.guard.epoch, a.Header.Revision)
		return outcome{committed: true, rev: a.Header.Revision, answer: a}, nil
	case err == nil:
		g, err := s.parseGuard(got(a, 0))
		if err == nil {
			s.saw(g.epoch, a.Header.Revision)
		}
		return outcome{found: g}, err
	case !lost(err) || errors.Is(err, ErrUnavailable): // of which the latter says that all refused it
		return outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*s.timeout) // each of its requests has that once
	defer cancel()
	o, settling := s.settle(ctx, p)
	if settling != nil {
		s.doubt.Store(&p)
		return outcome{}, fmt.Errorf("%w: %w; %w", kv.ErrOutcomeUnknown, err, settling)
	}
	return o, nil
}

// dispel sees to it, before anything else is asked of etcd, that a commit of unknown
// outcome has an outcome: what is read then stays so.
func (s *Store) dispel(ctx context.Context) error {
	p := s.doubt.Load()
	if p == nil || s.readOnly {
		return nil
	}
	if _, _, err := s.endEpoch(ctx, *p); err != nil {
		return err
	}
	s.doubt.CompareAndSwap(p, nil)
	return nil
}

// settle finds out what became of a proposal whose answer is lost. First it begins
// another epoch, with which the request, should it still be on its way, fails; then
// the guard's history tells whether it had come through before.
func (s *Store) settle(ctx context.Context, p proposal) (outcome, error) {
	found, until, err := s.endEpoch(ctx, p)
	if err != nil {
		return outcome{}, err
	}
	rev, err := s.historyOf(ctx, p.guard.txid, p.since, until)
	return outcome{committed: rev > 0, rev: rev, found: found}, err
}

// endEpoch returns a guard of a later epoch than that of a proposal, or the guard
// that the proposal wrote, and a revision at which it was that.
func (s *Store) endEpoch(ctx context.Context, p proposal) (guard, int64, error) {
	for {
		a, g, err := s.look(ctx)
		switch {
		case err != nil:
			return guard{}, 0, err
		case g.txid == p.guard.txid || g.epoch > p.guard.epoch:
			return g, a.Header.Revision, nil
		case g.state == pending:
			if err := s.rollForward(ctx, g, a.Header.Revision); err != nil {
				return guard{}, 0, err
			}
			continue
		}
		next := g.next(clean)
		next.epoch++
		_, err = s.again(ctx, request{compare: []clientv3.Cmp{s.isStill(g)}, then: []clientv3.Op{s.putGuard(next)}})
		if err != nil {
			return guard{}, 0, err
		}
	}
}

// historyOf returns the revision at which a commit wrote the guard, or 0 if that was
// none of those after since and not after until.
func (s *Store) historyOf(ctx context.Context, txid string, since, until int64) (int64, error) {
	for rev := since + 1; rev <= until; {
		r := request{} // not local: these are a few, and this is no time to be served by one that lags
		for ; rev <= until && len(r.then) < maxOps; rev++ {
			r.then = append(r.then, clientv3.OpGet(s.guardKey(), clientv3.WithRev(rev)))
		}
		a, err := s.again(ctx, r)
		if err != nil {
			return 0, err
		}
		for i := range r.then {
			g, err := s.parseGuard(got(a, i))
			if err != nil {
				return 0, err
			}
			if g.txid == txid {
				return g.mod, nil
			}
		}
	}
	return 0, nil
}

// commit commits what a transaction wrote that read at rev, where the guard was g. It
// tells whether it did: if not, another commit came between.
func (s *Store) commit(ctx context.Context, g guard, rev int64, changes []kv.Change) (bool, error) {
	if err := check(changes); err != nil {
		return false, err
	}
	records := make([]record, len(changes))
	for i, c := range changes {
		records[i].key = columnKey(c.Column, c.Key)
		if c.Delete {
			continue
		}
		var err error
		if records[i].stored, err = s.store(ctx, records[i].key, c.Value); err != nil {
			return false, err
		}
	}
	p := proposal{
		guard:   g.next(clean),
		since:   rev,
		compare: []clientv3.Cmp{s.isStill(g)},
	}
	if batches := s.inBatches(records); len(batches) == 1 {
		p.ops = batches[0]
		o, err := s.propose(ctx, p)
		return o.committed, err
	}
	return s.commitStaged(ctx, p, records)
}

// commitStaged commits what is too large for one request of etcd. It is committed
// with the guard's becoming pending; who reads from then on reads the stage too.
func (s *Store) commitStaged(ctx context.Context, p proposal, records []record) (bool, error) {
	p.guard.state = pending
	last, err := s.stage(ctx, p.guard.txid, records)
	if err != nil {
		return false, err
	}
	p.ops = []clientv3.Op{last}
	o, err := s.propose(ctx, p)
	if err != nil || !o.committed {
		return false, err
	}
	p.guard.mod = o.rev
	// From here on it is there. If it cannot be brought to its end now, the next writer does.
	_ = s.apply(context.WithoutCancel(ctx), p.guard, records)
	return true, nil
}

// check tells before anything is written whether changes can be committed at once.
func check(changes []kv.Change) error {
	total := 0
	for _, c := range changes {
		if err := kv.CheckValue(c.Value, MaxValue); err != nil {
			return fmt.Errorf("%.60q: %w", c.Key, err)
		}
		total += len(c.Key) + len(c.Value)
	}
	if total > MaxTransaction {
		return fmt.Errorf("%w: keys and values of %d bytes, the limit of etcdkv is %d", kv.ErrTxTooLarge, total, MaxTransaction)
	}
	return nil
}

// write commits one record without having read, on conditions of its own besides. It
// fails on no other commit, so any number of them goes on at once; they only see to
// it that none comes between the parts of a pending one, nor before one that has
// claimed the guard. It tells whether the conditions held.
func (s *Store) write(ctx context.Context, compare []clientv3.Cmp, ops []clientv3.Op) (outcome, error) {
	for n := range attempts {
		seen, err := s.recent(ctx)
		if err != nil {
			return outcome{}, err
		}
		o, err := s.propose(ctx, proposal{
			guard:   guard{epoch: seen.epoch}.next(clean),
			since:   seen.rev,
			compare: append(s.isCleanIn(seen.epoch), compare...),
			ops:     ops,
		})
		if err != nil || o.committed || o.found.state == clean && o.found.epoch == seen.epoch {
			return o, err
		}
		if o.found.state != clean {
			if _, _, err := s.readClean(ctx); err != nil {
				return outcome{}, err
			}
		}
		if err := pause(ctx, n); err != nil {
			return outcome{}, err
		}
	}
	return outcome{}, errContended
}

// errContended is what a write returns that was tried as often as it is.
var errContended = fmt.Errorf("%w: %w", kv.ErrBusy, errors.New("etcdkv: other writers were faster every time"))

// fresh is how old what was seen last may be for a write to go by it. The guard's
// history since then is what may have to be read.
const fresh = 10 * time.Second

// recent returns what was seen last of the store, and looks if that is long ago.
func (s *Store) recent(ctx context.Context) (sight, error) {
	if err := s.dispel(ctx); err != nil {
		return sight{}, err
	}
	if seen := s.seen.Load(); time.Since(seen.at) < fresh {
		return *seen, nil
	}
	_, _, err := s.read(ctx)
	return *s.seen.Load(), err
}
