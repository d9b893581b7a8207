package etcdkv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/etcdkv/etcdtest"
)

// trial is a cluster that members fail of while clients write and read.
type trial struct {
	*testing.T
	cluster *etcdtest.Cluster
	place   string
	writers []*clusterWriter
	wrote   chan struct{} // has something in it when there is something to look at
	stop    chan struct{}
	group   sync.WaitGroup
}

// clusterWriter writes numbers, one after the other. Of each it writes, in one
// transaction, two keys that are equal, a line of a log, and 1 more on the counter of
// all; and then a key by a plain Put. Every tenth transaction goes through the stage.
type clusterWriter struct {
	id           string
	store        *Store
	acknowledged atomic.Int64 // transactions
	put          atomic.Int64 // the number that was put last
	unknown      int64        // transactions of unknown outcome
}

func (w *clusterWriter) key(format string, args ...any) []byte {
	return fmt.Appendf(nil, w.id+"/"+format, args...)
}

const wide = 150

func (w *clusterWriter) transact(n int64) error {
	value := strconv.AppendInt(nil, n, 10)
	return w.store.Update(ctx, func(tx kv.KVStorage) error {
		keys := [][]byte{w.key("a"), w.key("b"), w.key("log/%06d", n)}
		for i := range wide {
			if n%10 == 0 {
				keys = append(keys, w.key("wide/%03d", i))
			}
		}
		for _, key := range keys {
			if err := tx.Put(ctx, col, key, value); err != nil {
				return err
			}
		}
		return increment(ctx, tx, "total")
	})
}

// write writes the next numbers until it is stopped.
func (c *trial) write(w *clusterWriter) error {
	for n := int64(1); ; n++ {
		select {
		case <-c.stop:
			return nil
		case c.wrote <- struct{}{}:
		default:
		}
		err := w.transact(n)
		switch {
		case err == nil:
			w.acknowledged.Add(1)
		case !errors.Is(err, kv.ErrOutcomeUnknown):
			return fmt.Errorf("transaction %d: %w", n, err)
		default:
			w.unknown++
		}
		err = w.store.Put(ctx, col, w.key("put"), strconv.AppendInt(nil, n, 10))
		if err == nil {
			w.put.Store(n)
		} else if !errors.Is(err, kv.ErrOutcomeUnknown) {
			return fmt.Errorf("put %d: %w", n, err)
		}
	}
}

// read looks, over and over, at all that the writers write.
func (c *trial) read(s *Store) error {
	seen := map[string]int{}
	for {
		select {
		case <-c.stop:
			return nil
		case <-c.wrote:
		}
		if err := c.look(s, seen); err != nil {
			return err
		}
	}
}

// look looks once: what is written together is there together, no number is less than
// one that was seen, or acknowledged before.
func (c *trial) look(s kv.KVStorage, seen map[string]int) error {
	least := map[string]int64{}
	for _, w := range c.writers {
		least[w.id+"/put"] = w.put.Load()
	}
	found := map[string]int{}
	err := kv.View(ctx, s, func(tx kv.KVStorage) error {
		clear(found)
		for e, err := range tx.Scan(ctx, col, nil) {
			if err != nil {
				return err
			}
			if n, err := strconv.Atoi(string(e.Value)); err != nil {
				return err
			} else if !strings.Contains(string(e.Key), "/log/") {
				found[string(e.Key)] = n
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, n := range found {
		if n < seen[key] || int64(n) < least[key] {
			return fmt.Errorf("%s is %d; it was %d, and %d was acknowledged", key, n, seen[key], least[key])
		}
		seen[key] = n
	}
	for _, w := range c.writers {
		if a, b := found[w.id+"/a"], found[w.id+"/b"]; a != b {
			return fmt.Errorf("half a transaction of %s: %d and %d", w.id, a, b)
		}
		for i := range wide {
			if n := found[string(w.key("wide/%03d", i))]; n != found[string(w.key("wide/000"))] {
				return fmt.Errorf("half a transaction of %s: %d is %d and 0 is %d", w.id, i, n, found[string(w.key("wide/000"))])
			}
		}
	}
	return nil
}

// run starts a goroutine that may not fail.
func (c *trial) run(name string, fn func() error) {
	c.group.Go(func() {
		if err := fn(); err != nil {
			c.Errorf("%s: %v", name, err)
		}
	})
}

// progress waits until each writer has made some transactions more.
func (c *trial) progress(during string) {
	c.Helper()
	begun := time.Now()
	for _, w := range c.writers {
		from := w.acknowledged.Load()
		for w.acknowledged.Load() < from+3 && !c.Failed() {
			if time.Since(begun) > time.Minute {
				c.Fatalf("%s: %s makes no progress", during, w.id)
			}
			time.Sleep(time.Millisecond)
		}
	}
	c.Logf("%6.2f s for progress of all %s", time.Since(begun).Seconds(), during)
}

// fail lets one member after the other fail, and come back.
func (c *trial) fail() {
	c.progress("at first")
	for _, f := range []struct {
		name      string
		leader    bool
		out, back func(int)
	}{
		{"killed", true, c.cluster.Kill, c.cluster.Start},
		{"cut off", true, c.cluster.Cut, c.cluster.Heal},
		{"killed", false, c.cluster.Kill, c.cluster.Start},
		{"cut off", false, c.cluster.Cut, c.cluster.Heal},
	} {
		if c.Failed() || testing.Short() && !f.leader {
			return
		}
		member, role := c.cluster.Leader(), "leader"
		if !f.leader {
			member, role = (member+1)%3, "follower"
		}
		f.out(member)
		c.progress(fmt.Sprintf("while the %s, member %d, is %s", role, member, f.name))
		f.back(member)
		c.progress("when it is back")
	}
}

// checkEnd wants all that was acknowledged, whole, and the same of every member.
func (c *trial) checkEnd() {
	all := content(c, openWith(c, c.place, nil))
	acknowledged, unknown := int64(0), int64(0)
	for _, w := range c.writers {
		lines := int64(0)
		for key := range all {
			if strings.HasPrefix(key, w.id+"/log/") {
				lines++
			}
		}
		if n := w.acknowledged.Load(); lines < n || lines > n+w.unknown {
			c.Errorf("%s made %d transactions and %d of unknown outcome; %d are there", w.id, n, w.unknown, lines)
		}
		acknowledged += w.acknowledged.Load()
		unknown += w.unknown
	}
	c.Logf("%d transactions, and %d of unknown outcome", acknowledged, unknown)
	if total, err := strconv.ParseInt(all["total"], 10, 64); err != nil || total < acknowledged || total > acknowledged+unknown {
		c.Errorf("counted %d, %v; want %d to %d", total, err, acknowledged, acknowledged+unknown)
	}
	if err := c.look(openWith(c, c.place, nil), map[string]int{}); err != nil {
		c.Error(err)
	}
	c.checkMembers()
}

// checkMembers asks each member alone, when it has come so far as the others, for all
// that it has.
func (c *trial) checkMembers() {
	var first map[string]string
	for i, endpoint := range c.cluster.Endpoints() {
		s := openWith(c, "etcd://"+endpoint, nil)
		if _, _, err := s.look(ctx); err != nil { // linearizable: it has caught up
			c.Fatal(err)
		}
		r, err := s.client.Get(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithSerializable())
		if err != nil {
			c.Fatal(err)
		}
		has := map[string]string{}
		for _, e := range r.Kvs {
			has[string(e.Key)] = e.String()
		}
		if first == nil {
			first = has
		}
		if len(has) == 0 || !maps.Equal(has, first) {
			c.Errorf("member %d has other keys than member 0: %d and %d", i, len(has), len(first))
		}
	}
}

// A cluster of three loses members, killed and cut off, leaders and others, in the
// middle of writes. Nothing that was acknowledged is lost, what was written together is
// seen together at all times, nothing that was seen goes back, and in the end the
// members agree.
func TestClusterWithFailures(t *testing.T) {
	c := &trial{T: t, cluster: etcdtest.NewCluster(t, 3), wrote: make(chan struct{}, 1), stop: make(chan struct{})}
	c.place = "etcd://" + strings.Join(c.cluster.Endpoints(), ",")
	for i := range 4 {
		c.writers = append(c.writers, &clusterWriter{id: fmt.Sprint("w", i), store: openWith(t, c.place, nil)})
	}
	for _, w := range c.writers {
		c.run("writer "+w.id, func() error { return c.write(w) })
	}
	for i := range 2 {
		s := openWith(t, c.place, nil)
		c.run(fmt.Sprint("reader ", i), func() error { return c.read(s) })
	}
	func() {
		defer c.group.Wait()
		defer close(c.stop)
		c.fail()
	}()
	c.checkEnd()
}

// A member that is cut off and takes clients all the same does not serve them what is
// old, and a client of it alone is told within the time that it gave.
func TestClientsOfAMemberThatIsCutOff(t *testing.T) {
	cluster := etcdtest.NewCluster(t, 3)
	out := cluster.Leader()
	s, err := Open(context.Background(), "etcd://"+cluster.Endpoints()[out], Options{Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put(t, s, "k", "old")
	cluster.Cut(out)
	others := openWith(t, "etcd://"+cluster.Endpoints()[cluster.Leader()], nil)
	put(t, others, "k", "new")
	if value, err := s.Get(ctx, col, []byte("k")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a member that is cut off says %q, %v; want ErrUnavailable", value, err)
	}
	if err := s.Put(ctx, col, []byte("k"), []byte("lost")); !errors.Is(err, kv.ErrOutcomeUnknown) && !errors.Is(err, ErrUnavailable) {
		t.Errorf("a member that is cut off takes a Put: %v", err)
	}
	cluster.Heal(out)
	if got := content(t, s)["k"]; got != "new" {
		t.Errorf("when it is back there is %q, want new", got)
	}
}
