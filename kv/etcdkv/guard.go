package etcdkv

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crabstore/crabstore/kv"
)

// guard is the key that every commit writes. Its revisions order the commits, and its
// history tells which have been.
type guard struct {
	state string
	epoch uint64 // commits of earlier epochs can no longer arrive
	txid  string // of the commit that wrote it
	mod   int64  // the revision of that commit
}

// The states of a guard. Clean ones sort by their epoch, and apart from the others, so
// that comparing values tells both.
const (
	clean   = "clean"
	claimed = "claimed" // by a transaction that others were faster than: they wait, for a while
	pending = "pending" // the commit is in the stage, and not all of it in its place yet
)

func (g guard) String() string { return fmt.Sprintf("%s %016x %s", g.state, g.epoch, g.txid) }

// next returns what a commit makes of g.
func (g guard) next(state string) guard { return guard{state: state, epoch: g.epoch, txid: kv.NewID()} }

func (s *Store) guardKey() string { return s.prefix + "guard" }

func (s *Store) parseGuard(r *clientv3.GetResponse) (guard, error) {
	if len(r.Kvs) != 1 {
		return guard{}, fmt.Errorf("%w: %s is missing", kv.ErrCorrupt, s.guardKey())
	}
	fields := strings.Split(string(r.Kvs[0].Value), " ")
	if len(fields) != 3 || !slices.Contains([]string{clean, claimed, pending}, fields[0]) || len(fields[1]) != 16 {
		return guard{}, fmt.Errorf("%w: %s is %.60q", kv.ErrCorrupt, s.guardKey(), r.Kvs[0].Value)
	}
	epoch, err := strconv.ParseUint(fields[1], 16, 64)
	if err != nil {
		return guard{}, fmt.Errorf("%w: %s: %w", kv.ErrCorrupt, s.guardKey(), err)
	}
	return guard{fields[0], epoch, fields[2], r.Kvs[0].ModRevision}, nil
}

func (s *Store) getGuard() clientv3.Op { return clientv3.OpGet(s.guardKey()) }

func (s *Store) putGuard(g guard) clientv3.Op { return clientv3.OpPut(s.guardKey(), g.String()) }

// isStill is true while nobody has committed after g.
func (s *Store) isStill(g guard) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(s.guardKey()), "=", g.mod)
}

// isCleanIn is true while the guard is clean and the epoch lasts.
func (s *Store) isCleanIn(epoch uint64) []clientv3.Cmp {
	from := fmt.Sprintf("%s %016x ", clean, epoch)
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.Value(s.guardKey()), ">", from),
		clientv3.Compare(clientv3.Value(s.guardKey()), "<", from[:len(from)-1]+"!"), // the byte after the space
	}
}

// sight is what was last seen of the store.
type sight struct {
	epoch uint64
	rev   int64
	at    time.Time
}

// read reads the guard, and what else is asked, as it is now, when no commit of ours
// can come late.
func (s *Store) read(ctx context.Context, ops ...clientv3.Op) (*answer, guard, error) {
	if err := s.dispel(ctx); err != nil {
		return nil, guard{}, err
	}
	return s.look(ctx, ops...)
}

// look reads the guard, and what else is asked, as it is now.
func (s *Store) look(ctx context.Context, ops ...clientv3.Op) (*answer, guard, error) {
	a, err := s.again(ctx, request{then: append([]clientv3.Op{s.getGuard()}, ops...)})
	if err != nil {
		return nil, guard{}, err
	}
	g, err := s.parseGuard(got(a, 0))
	if err != nil {
		return nil, guard{}, err
	}
	s.saw(g.epoch, a.Header.Revision)
	if g.state != pending && s.kept.Load() != nil {
		s.kept.Store(nil)
	}
	return a, g, nil
}

func (s *Store) saw(epoch uint64, rev int64) { s.seen.Store(&sight{epoch, rev, time.Now()}) }

// readClean reads the guard when it is clean, and returns the revision at which it is.
// A commit that is pending, and a transaction that has claimed the guard, are let come
// to their end; if they do not, it sees to that itself.
func (s *Store) readClean(ctx context.Context) (guard, int64, error) {
	var first guard // that is not clean
	var since time.Time
	for {
		a, g, err := s.read(ctx)
		switch waited := time.Since(since); {
		case err != nil:
			return guard{}, 0, err
		case g.state == clean:
			return g, a.Header.Revision, nil
		case g != first:
			first, since = g, time.Now()
		case g.state == pending && waited > s.patience/10: // it is there: whoever is at it has a few requests to make
			err = s.rollForward(ctx, g, a.Header.Revision)
		case g.state == claimed && waited > s.patience:
			err = s.release(ctx, g)
		default:
			err = pause(ctx, 0)
		}
		if err != nil {
			return guard{}, 0, err
		}
	}
}

// claim makes a clean guard a claimed one, if nobody has committed since.
func (s *Store) claim(ctx context.Context, g guard, rev int64) (guard, bool, error) {
	mine := g.next(claimed)
	o, err := s.propose(ctx, proposal{guard: mine, since: rev, compare: []clientv3.Cmp{s.isStill(g)}})
	mine.mod = o.rev
	return mine, o.committed, err
}

// release makes a claimed guard clean, if it is still that one.
func (s *Store) release(ctx context.Context, g guard) error {
	_, err := s.again(ctx, request{compare: []clientv3.Cmp{s.isStill(g)}, then: []clientv3.Op{s.putGuard(g.next(clean))}})
	return err
}
