package etcdkv

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crabstore/crabstore/kv"
)

// guard is the key that every commit writes. Its revisions order the commits, and its
// history tells which have been.
type guard struct {
	pending bool   // the commit is in the stage, and not all of it in its place yet
	epoch   uint64 // commits of earlier epochs can no longer arrive
	txid    string // of the commit that wrote it
	mod     int64  // the revision of that commit
}

// The states of a guard. A clean one sorts below a pending one, and by its epoch, so
// that one comparison of values tells both.
const (
	clean   = "clean"
	pending = "pending"
)

func (g guard) String() string {
	state := clean
	if g.pending {
		state = pending
	}
	return fmt.Sprintf("%s %016x %s", state, g.epoch, g.txid)
}

func (s *Store) guardKey() string { return s.prefix + "guard" }

func (s *Store) parseGuard(r *clientv3.GetResponse) (guard, error) {
	if len(r.Kvs) != 1 {
		return guard{}, fmt.Errorf("%w: %s is missing", kv.ErrCorrupt, s.guardKey())
	}
	fields := strings.Split(string(r.Kvs[0].Value), " ")
	if len(fields) != 3 || fields[0] != clean && fields[0] != pending || len(fields[1]) != 16 {
		return guard{}, fmt.Errorf("%w: %s is %.60q", kv.ErrCorrupt, s.guardKey(), r.Kvs[0].Value)
	}
	epoch, err := strconv.ParseUint(fields[1], 16, 64)
	if err != nil {
		return guard{}, fmt.Errorf("%w: %s: %w", kv.ErrCorrupt, s.guardKey(), err)
	}
	return guard{fields[0] == pending, epoch, fields[2], r.Kvs[0].ModRevision}, nil
}

func (s *Store) getGuard() clientv3.Op { return clientv3.OpGet(s.guardKey()) }

func (s *Store) putGuard(g guard) clientv3.Op { return clientv3.OpPut(s.guardKey(), g.String()) }

// isStill is true while nobody has committed after g.
func (s *Store) isStill(g guard) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(s.guardKey()), "=", g.mod)
}

// isCleanIn is true while no commit is pending and the epoch lasts.
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
	if !g.pending && s.kept.Load() != nil {
		s.kept.Store(nil)
	}
	return a, g, nil
}

func (s *Store) saw(epoch uint64, rev int64) { s.seen.Store(&sight{epoch, rev, time.Now()}) }

// readClean reads the guard, and brings a pending commit to its end first. It returns
// the revision at which the guard is what it returns.
func (s *Store) readClean(ctx context.Context) (guard, int64, error) {
	for {
		a, g, err := s.read(ctx)
		if err != nil {
			return guard{}, 0, err
		}
		if !g.pending {
			return g, a.Header.Revision, nil
		}
		if err := s.rollForward(ctx, g, a.Header.Revision); err != nil {
			return guard{}, 0, err
		}
	}
}
