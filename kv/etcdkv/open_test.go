package etcdkv

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/etcdkv/etcdtest"
)

// raw is a client of the shared server beside the adapter, and the prefix of the keys
// of a place.
func raw(t testing.TB, at string) (client *clientv3.Client, prefix string) {
	t.Helper()
	a, err := parse(at)
	if err != nil {
		t.Fatal(err)
	}
	if client, err = connect(a, time.Minute); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client, a.name + "/"
}

func everything(t testing.TB, client *clientv3.Client, prefix string) string {
	t.Helper()
	r, err := client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range r.Kvs {
		b.WriteString(e.String() + "\n")
	}
	return b.String()
}

// What is no store, or one of a newer format, is refused and left as it is.
func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		content map[string]string
		want    error
		say     string
	}{
		"foreign keys":    {map[string]string{"some/thing": "x"}, ErrNotStore, "take another name"},
		"a foreign guard": {map[string]string{"guard": "x"}, ErrNotStore, "take another name"},
		"no format":       {map[string]string{"format": "x"}, ErrNotStore, `"x"`},
		"a newer format":  {map[string]string{"format": "2", "guard": "whatever that one has"}, nil, "format 2 and this program knows formats up to 1"},
		"no guard":        {map[string]string{"format": "1"}, kv.ErrCorrupt, "guard is missing"},
		"a wrong guard":   {map[string]string{"format": "1", "guard": "clean 1 x"}, kv.ErrCorrupt, `"clean 1 x"`},
	} {
		at := etcdtest.Place(t)
		client, prefix := raw(t, at)
		for key, value := range c.content {
			if _, err := client.Put(ctx, prefix+key, value); err != nil {
				t.Fatal(err)
			}
		}
		before := everything(t, client, prefix)
		for _, opts := range []Options{{}, {ReadOnly: true}} {
			s, err := Open(ctx, at, opts)
			if err == nil {
				s.Close()
			}
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) {
				t.Errorf("%s: Open(%+v): %v; want %v, and %q", name, opts, err, c.want, c.say)
			}
		}
		if after := everything(t, client, prefix); after != before {
			t.Errorf("%s: Open changed it from\n%s to\n%s", name, before, after)
		}
	}
}

func TestReadOnlyCreatesNothing(t *testing.T) {
	at := etcdtest.Place(t)
	client, prefix := raw(t, at)
	if _, err := Open(ctx, at, Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of no store: %v; want fs.ErrNotExist", err)
	}
	if found := everything(t, client, prefix); found != "" {
		t.Errorf("Open for reading made %s", found)
	}
}

func TestReadOnlyWritesNothing(t *testing.T) {
	at := etcdtest.Place(t)
	writer := openWith(t, at, nil)
	put(t, writer, "k", "v")
	s := openReadOnly(t, at)
	client, prefix := raw(t, at)
	before := everything(t, client, prefix)
	for name, write := range map[string]func() error{
		"Put":       func() error { return s.Put(ctx, col, []byte("k"), nil) },
		"large Put": func() error { return s.Put(ctx, col, []byte("k"), make([]byte, inlineLimit+1)) },
		"Delete":    func() error { _, err := s.Delete(ctx, col, []byte("k")); return err },
		"Update": func() error {
			return s.Update(ctx, func(tx kv.KVStorage) error { return tx.Put(ctx, col, []byte("k"), nil) })
		},
		"Checkpoint": func() error { return s.Checkpoint(ctx) },
		"Compact":    func() error { return s.Compact(ctx) },
	} {
		if err := write(); !errors.Is(err, kv.ErrReadOnly) {
			t.Errorf("%s: %v; want ErrReadOnly", name, err)
		}
	}
	if after := everything(t, client, prefix); after != before {
		t.Errorf("a store opened for reading changed\n%s to\n%s", before, after)
	}
	put(t, writer, "k", "w")
	if got := content(t, s)["k"]; got != "w" {
		t.Errorf("a reader beside a writer sees %q, want w", got)
	}
}

// Two processes open a new store at once: it is made once.
func TestOpenAtOnce(t *testing.T) {
	at := etcdtest.Place(t)
	const n = 8
	done := make(chan error)
	for range n {
		go func() {
			s, err := Open(ctx, at, Options{})
			if err == nil {
				err = s.Update(ctx, func(tx kv.KVStorage) error { return increment(ctx, tx, "n") })
				s.Close()
			}
			done <- err
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := content(t, openWith(t, at, nil))["n"]; got != "8" {
		t.Errorf("%s of %d writes are there", got, n)
	}
}

// Nobody listens, or somebody who never answers: Open says so after the time that it
// was given, and what to do.
func TestNobodyAnswers(t *testing.T) {
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	for name, host := range map[string]string{"nobody": "127.0.0.1:1", "somebody deaf": deaf.Addr().String()} {
		_, err := Open(ctx, "etcd://root:secret@"+host+",127.0.0.1:2", Options{Timeout: 200 * time.Millisecond})
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s, asked for a token: %v; want ErrUnavailable", name, err)
			continue
		}
		if !strings.Contains(err.Error(), host) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want the endpoints in it and not the password", name, err)
		}
		_, err = Open(ctx, "etcd://"+host, Options{Timeout: 200 * time.Millisecond})
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v; want ErrUnavailable", name, err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Open(ended, "etcd://127.0.0.1:1", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// etcd forgets the moment that a View reads.
func TestHistoryIsGone(t *testing.T) {
	at := etcdtest.Place(t)
	s := openWith(t, at, nil)
	client, _ := raw(t, at)
	put(t, s, "k", "v")
	err := s.View(ctx, func(tx kv.KVStorage) error {
		put(t, s, "k", "w")
		now, err := client.Get(ctx, "any")
		if err != nil {
			return err
		}
		if _, err := client.Compact(ctx, now.Header.Revision); err != nil {
			return err
		}
		_, err = tx.Get(ctx, col, []byte("k"))
		if !errors.Is(err, ErrHistoryGone) {
			t.Errorf("Get: %v; want ErrHistoryGone", err)
		}
		for _, err = range tx.Scan(ctx, col, nil) {
		}
		return err
	})
	if !errors.Is(err, ErrHistoryGone) {
		t.Errorf("View: %v; want ErrHistoryGone", err)
	}
	put(t, s, "k", "x")
}

// The quota is used up in the middle of a transaction: nothing of it is there, and
// reading goes on.
func TestNoSpace(t *testing.T) {
	c := etcdtest.NewCluster(t, 1, "--quota-backend-bytes", "8000000")
	at := "etcd://" + c.Endpoints()[0]
	s := openWith(t, at, nil)
	put(t, s, "k", "v")
	fill := func(size, n int) error {
		return s.Update(ctx, func(tx kv.KVStorage) error {
			for i := range n {
				if err := tx.Put(ctx, col, []byte{byte(i)}, make([]byte, size)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"large values", func() error { return fill(MaxValue, 2) }}, // uses it up
		{"a stage", func() error { return fill(inlineLimit, 400) }},
		{"a Put", func() error { return s.Put(ctx, col, []byte("k"), []byte("w")) }},
		{"a Delete", func() error { _, err := s.Delete(ctx, col, []byte("k")); return err }},
		{"an Update", func() error { return fill(1, 1) }},
		{"Open of another", func() error { _, err := Open(ctx, at+"/other", Options{}); return err }},
	} {
		if err := c.run(); !errors.Is(err, ErrNoSpace) {
			t.Errorf("%s: %v; want ErrNoSpace", c.name, err)
		}
	}
	if got := content(t, s); len(got) != 1 || got["k"] != "v" {
		t.Errorf("there is %s", brief(got))
	}
}
