package etcdtest

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Cluster is a cluster of etcd servers. Its methods end the test when they fail and
// are for the test's own goroutine, but Endpoints.
type Cluster struct {
	t       testing.TB
	dir     string // data and logs
	net     *network
	members []*member
	peers   string // every member and where its peers reach it
}

// NewCluster starts a cluster of n members that ends with the test. They write with
// fsync, and elect a leader within a second. Flags of etcd may be added.
func NewCluster(t testing.TB, n int, flags ...string) *Cluster {
	t.Helper()
	c := newCluster(t, n, append([]string{"--heartbeat-interval", "50", "--election-timeout", "500"}, flags...)...)
	t.Cleanup(func() { c.end(t) })
	return c
}

// newCluster starts a cluster that the caller ends, unless this fails.

func newCluster(t testing.TB, n int, flags ...string) *Cluster {
	t.Helper()
	binary(t)
	dir, err := os.MkdirTemp("", "etcdtest-*")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{t: t, dir: dir, net: newNetwork()}
	whole := false
	defer func() {
		if !whole {
			c.end(t)
		}
	}()
	var peers []string
	for i := range n {
		name := "m" + strconv.Itoa(i)
		peer := freeAddress(t)
		advertised := c.net.listen(t, i, peer)
		c.members = append(c.members, newMember(t, dir, name, peer, advertised, flags))
		peers = append(peers, name+"=http://"+advertised)
	}
	c.peers = strings.Join(peers, ",")
	for _, m := range c.members {
		m.start(t, c.peers)
	}
	for i := range c.members {
		c.awaitReady(i)
	}
	c.learnNames()
	whole = true
	return c
}

func (c *Cluster) awaitReady(i int) {
	c.t.Helper()
	if m := c.members[i]; !m.awaitReady(c.t) {
		c.t.Fatalf("etcd member %d does not answer:\n%s", i, m.tail())
	}
}

// learnNames asks under which ids the members send.
func (c *Cluster) learnNames() {
	c.t.Helper()
	for i := range c.members {
		status, err := c.status(i)
		if err != nil {
			c.t.Fatal(err)
		}
		c.net.name(i, strconv.FormatUint(status.self, 16))
	}
}

type status struct{ self, leader uint64 }

func (c *Cluster) status(i int) (status, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client := dial(c.t, c.members[i].client)
	defer client.Close()
	s, err := client.Status(ctx, "http://"+c.members[i].client)
	if err != nil {
		return status{}, err
	}
	return status{s.Header.MemberId, s.Leader}, nil
}

// end kills what runs, and keeps the logs if the test failed.
func (c *Cluster) end(t testing.TB) {
	for _, m := range c.members {
		if m.process != nil {
			_ = m.kill()
		}
		os.RemoveAll(filepath.Join(c.dir, m.name))
	}
	c.net.close()
	if t.Failed() {
		t.Logf("the logs of etcd are kept in %s", c.dir)
		return
	}
	os.RemoveAll(c.dir)
}

// Endpoints returns where the members listen for clients, as host:port.
func (c *Cluster) Endpoints() []string {
	var all []string
	for _, m := range c.members {
		all = append(all, m.client)
	}
	return all
}

// Kill ends member i as kill -9 does.
func (c *Cluster) Kill(i int) {
	c.t.Helper()
	if err := c.members[i].kill(); err != nil {
		c.t.Fatal(err)
	}
}

// Start starts member i again and waits until it answers, in step with the cluster.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	c.members[i].start(c.t, c.peers)
	c.awaitReady(i)
}

// Cut cuts member i off from the others. Clients still reach it.
func (c *Cluster) Cut(i int) { c.net.setCut(i, true) }

// Heal undoes Cut and waits until the member is in step with the cluster.
func (c *Cluster) Heal(i int) {
	c.t.Helper()
	c.net.setCut(i, false)
	c.awaitReady(i)
}

// Leader waits until a majority of the members that are neither down nor cut off
// names one of them as leader, and returns which.
func (c *Cluster) Leader() int {
	c.t.Helper()
	for limit := time.Now().Add(patience); time.Now().Before(limit); {
		if leader, ok := c.leader(); ok {
			return leader
		}
	}
	c.t.Fatal("the cluster has no leader")
	return 0
}

func (c *Cluster) leader() (int, bool) {
	byID, votes := map[uint64]int{}, map[uint64]int{}
	for i, m := range c.members {
		if !m.running() || c.net.isCut(i) {
			continue
		}
		if s, err := c.status(i); err == nil {
			byID[s.self] = i
			votes[s.leader]++
		}
	}
	for id, n := range votes {
		if leader, known := byID[id]; known && 2*n > len(c.members) {
			return leader, true
		}
	}
	return 0, false
}

// nextPort returns the next of 20,000 ports, from one at random on.
var nextPort = func() func() int {
	var mu sync.Mutex
	next := rand.IntN(20_000)
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		next = (next + 1) % 20_000
		return next
	}
}()
