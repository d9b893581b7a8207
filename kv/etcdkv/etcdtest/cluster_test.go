package etcdtest

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestSharedServerIsOne(t *testing.T) {
	first, second := Place(t), Place(t)
	if first == second {
		t.Errorf("two places are both %s", first)
	}
	client := dial(t, Endpoint(t))
	defer client.Close()
	if _, err := client.Put(context.Background(), "k", "v"); err != nil {
		t.Fatal(err)
	}
	again := dial(t, Endpoint(t))
	defer again.Close()
	if got, err := again.Get(context.Background(), "k"); err != nil || got.Count != 1 {
		t.Errorf("asked for again, the server is another one: %v, %v", got, err)
	}
}

// A cluster loses its leader, by a kill and by a cut, and goes on with the other two.
func TestClusterOutlivesItsLeader(t *testing.T) {
	c := NewCluster(t, 3)
	put := func(i int) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		client := dial(t, c.Endpoints()[i])
		defer client.Close()
		_, err := client.Put(clientv3.WithRequireLeader(ctx), "k", "v")
		return err
	}
	for name, out := range map[string][2]func(int){"killed": {c.Kill, c.Start}, "cut off": {c.Cut, c.Heal}} {
		was := c.Leader()
		out[0](was)
		now := c.Leader()
		if now == was {
			t.Fatalf("member %d is leader while it is %s", was, name)
		}
		if err := put(now); err != nil {
			t.Errorf("writing while a member is %s: %v", name, err)
		}
		if err := put(was); err == nil {
			t.Errorf("a member that is %s takes a write", name)
		}
		out[1](was)
		if err := put(was); err != nil {
			t.Errorf("writing through a member that was %s: %v", name, err)
		}
	}
}
