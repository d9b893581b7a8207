package pgkv_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/pgkv"
	"github.com/crabstore/crabstore/kv/pgkv/pgtest"
)

// brittle opens a store behind a proxy, with the keys k and l in it.
func brittle(t *testing.T) (*proxy, *pgkv.Store) {
	t.Helper()
	p, address := newProxy(t, pgtest.Shared(t).URL(t))
	s := open(t, address, pgkv.Options{})
	for _, key := range []string{"k", "l"} {
		mustPut(t, s, key, "old")
	}
	return p, s
}

func mustPut(t testing.TB, s kv.KVStorage, key, value string) {
	t.Helper()
	if err := s.Put(ctx, col, []byte(key), []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func wantValue(t testing.TB, s kv.KVStorage, key, want string) {
	t.Helper()
	if got, err := s.Get(ctx, col, []byte(key)); err != nil || string(got) != want {
		t.Errorf("%q is %q, %v; want %q", key, got, err, want)
	}
}

func happened(event <-chan struct{}) bool {
	select {
	case <-event:
		return true
	default:
		return false
	}
}

// Whether or not a commit reached the server, its writer cannot know.
func TestAConnectionLostAtACommit(t *testing.T) {
	ways := map[string]func(s kv.KVStorage, value string) error{
		"Put":    func(s kv.KVStorage, value string) error { return s.Put(ctx, col, []byte("k"), []byte(value)) },
		"Delete": func(s kv.KVStorage, _ string) error { _, err := s.Delete(ctx, col, []byte("k")); return err },
		"Update": func(s kv.KVStorage, value string) error {
			return kv.Update(ctx, s, func(tx kv.KVStorage) error {
				if _, err := tx.Get(ctx, col, []byte("k")); err != nil {
					return err
				}
				return errors.Join(tx.Put(ctx, col, []byte("k"), []byte(value)), tx.Put(ctx, col, []byte("l"), []byte(value)))
			})
		},
	}
	for name, write := range ways {
		for _, delivered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/delivered=%v", name, delivered), func(t *testing.T) {
				p, s := brittle(t)
				done := p.cut("commit", 0, delivered)
				err := write(s, "new")
				if !errors.Is(err, kv.ErrOutcomeUnknown) || !happened(done) {
					t.Fatalf("%v, cut %v; want ErrOutcomeUnknown", err, happened(done))
				}
				var want []string
				for _, key := range []string{"k", "l"} {
					switch {
					case !delivered || name != "Update" && key == "l":
						want = append(want, key+"=old")
					case name != "Delete":
						want = append(want, key+"=new")
					}
				}
				var got []string
				for e, err := range s.Scan(ctx, col, nil) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, string(e.Key)+"="+string(e.Value))
				}
				if !slices.Equal(got, want) {
					t.Errorf("the store holds %q, want %q", got, want)
				}
				mustPut(t, s, "k", "after it")
			})
		}
	}
}

// A context that ends while the commit is on its way gives both errors, or the one that
// is known.
func TestAContextThatEndsAtALostCommit(t *testing.T) {
	p, s := brittle(t)
	ending, end := context.WithCancel(ctx)
	done := p.cut("commit", 0, true)
	go func() {
		<-done
		end()
	}()
	err := s.Put(ending, col, []byte("k"), []byte("new"))
	if !errors.Is(err, kv.ErrOutcomeUnknown) {
		t.Errorf("Put: %v", err)
	}
}

// A writer whose context ends while it waits for a lock of somebody else's knows that
// nothing was written.
func TestAContextThatEndsAtALockedRow(t *testing.T) {
	address := pgtest.Shared(t).URL(t)
	s := open(t, address, pgkv.Options{})
	mustPut(t, s, "k", "old")
	other, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(ctx)
	if _, err := other.Exec(ctx, "begin; update crabstore set value = 'locked' where col >= 0"); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(context.Context) error{
		"Put": func(ctx context.Context) error { return s.Put(ctx, col, []byte("k"), []byte("new")) },
		"Update": func(ctx context.Context) error {
			return s.Update(ctx, func(tx kv.KVStorage) error { return tx.Put(ctx, col, []byte("k"), []byte("new")) })
		},
	} {
		ending, stop := context.WithTimeout(ctx, 50*time.Millisecond)
		err := write(ending)
		stop()
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, kv.ErrOutcomeUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := other.Exec(ctx, "rollback"); err != nil {
		t.Fatal(err)
	}
	wantValue(t, s, "k", "old")
	mustPut(t, s, "k", "new")
}

// Before the commit is sent an Update runs again, whatever its function made of the
// error that it got.
func TestAConnectionLostInAnUpdate(t *testing.T) {
	for name, c := range map[string]struct {
		words   string
		skip    int
		swallow bool
	}{
		"at its beginning":              {"serializable", 0, false},
		"at a read":                     {"octet_length", 1, false},
		"at a read, error swallowed":    {"octet_length", 1, true},
		"at its first part":             {"insert into", 0, false},
		"at its second part":            {"insert into", 2, false},
		"when there is nothing of it":   {"commit", 0, true},
		"at its second part, delivered": {"insert into", 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := brittle(t)
			done := p.cut(c.words, c.skip, name == "at its second part, delivered")
			runs := 0
			err := s.Update(ctx, func(tx kv.KVStorage) error {
				runs++
				for _, key := range []string{"k", "l"} {
					if v, err := tx.Get(ctx, col, []byte(key)); err != nil && !c.swallow {
						return fmt.Errorf("in the function: %w", err)
					} else if err == nil && string(v) != "old" {
						t.Errorf("run %d reads %q", runs, v)
					}
				}
				if name == "when there is nothing of it" {
					return nil
				}
				for _, key := range []string{"k", "l", "m", "n", "o"} { // 4 MiB: in three parts
					if err := tx.Put(ctx, col, []byte(key), make([]byte, 800<<10)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil || !happened(done) {
				t.Fatalf("Update: %v, cut %v", err, happened(done))
			}
			if want := 2; runs != want && name != "at its beginning" {
				t.Errorf("the function ran %d times, want %d", runs, want)
			}
			if name != "when there is nothing of it" {
				wantValue(t, s, "m", string(make([]byte, 800<<10)))
			}
			if n := s.Held(); n != 0 {
				t.Errorf("%d connections are held", n)
			}
		})
	}
}

func TestAConnectionLostInARead(t *testing.T) {
	p, s := brittle(t)
	reads := map[string]func() error{
		"Get":      func() error { _, err := s.Get(ctx, col, []byte("k")); return err },
		"ScanKeys": func() error { return walk(s, nil) },
		"Stats":    func() error { _, err := s.Stats(ctx); return err },
		"View": func() error {
			return s.View(ctx, func(tx kv.KVStorage) error { _, err := tx.Get(ctx, col, []byte("k")); return err })
		},
	}
	words := map[string]string{"Get": "octet_length", "ScanKeys": "order by", "Stats": "count", "View": "repeatable read"}
	for name, read := range reads {
		for _, delivered := range []bool{false, true} {
			done := p.cut(words[name], 0, delivered)
			if err := read(); err != nil || !happened(done) {
				t.Errorf("%s, delivered %v: %v, cut %v", name, delivered, err, happened(done))
			}
		}
	}
	done := p.cut("octet_length", 0, false)
	if err := reads["View"](); !errors.Is(err, pgkv.ErrUnreachable) || !happened(done) {
		t.Errorf("a View whose moment is gone: %v", err)
	}
}

func walk(s kv.KVStorage, each func(n int)) error {
	n := 0
	for _, err := range s.ScanKeys(ctx, col, nil) {
		if err != nil {
			return err
		}
		if n++; each != nil {
			each(n)
		}
	}
	return nil
}

// A scan that has yielded ends with an error and does not go on at another moment.
func TestAConnectionLostInAScan(t *testing.T) {
	p, s := brittle(t)
	fill(t, s, 3*pgkv.PageRows)
	done := p.cut("order by", 3, false) // the first look, two pages, and then
	seen := 0
	err := walk(s, func(n int) { seen = n })
	if !errors.Is(err, pgkv.ErrUnreachable) || !happened(done) || seen != 2*pgkv.PageRows {
		t.Errorf("after %d keys: %v, cut %v", seen, err, happened(done))
	}
	if err := walk(s, nil); err != nil || s.Held() != 0 {
		t.Errorf("a scan anew: %v, %d connections held", err, s.Held())
	}
}

// fill puts numbered keys.
func fill(t testing.TB, s kv.KVStorage, n int) {
	t.Helper()
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		for i := range n {
			if err := tx.Put(ctx, col, fmt.Appendf(nil, "n/%06d", i), fmt.Append(nil, i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// connect makes n connections, which are then idle.
func connect(t testing.TB, s kv.KVStorage, n int) {
	t.Helper()
	if n == 0 {
		return
	}
	if err := kv.View(ctx, s, func(kv.KVStorage) error { connect(t, s, n-1); return nil }); err != nil {
		t.Fatal(err)
	}
}

// That a server is gone is learned by one call: the idle connections to it are not found
// to be broken by one commit after the other, whose outcome would be in doubt.
func TestALossIsLearnedOnce(t *testing.T) {
	p, s := brittle(t)
	connect(t, s, 8)
	s.Wait(time.Nanosecond, time.Second) // one attempt for each
	p.hangUp()
	_, got := s.Get(ctx, col, []byte("k"))
	put := s.Put(ctx, col, []byte("k"), nil)
	updated := s.Update(ctx, func(tx kv.KVStorage) error { return tx.Put(ctx, col, []byte("k"), nil) })
	for name, err := range map[string]error{"Get": got, "Put": put, "Update": updated, "scan": walk(s, nil)} {
		if !errors.Is(err, pgkv.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAServerThatIsGone(t *testing.T) {
	server := pgtest.Own(t)
	s := open(t, server.URL(t), pgkv.Options{})
	mustPut(t, s, "k", "old")
	server.Stop(t, true)
	s.Wait(time.Minute, time.Second)
	ending, stop := context.WithTimeout(ctx, 20*time.Millisecond)
	defer stop()
	if _, err := s.Get(ending, col, []byte("k")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Get with a context that ends: %v", err)
	}
	server.Start(t)
	wantValue(t, s, "k", "old")
}

// Close does not wait for those who wait for a server.
func TestCloseOfAStoreWhoseServerIsGone(t *testing.T) {
	server := pgtest.Own(t)
	s := open(t, server.URL(t), pgkv.Options{})
	s.Wait(time.Hour, time.Hour)
	server.Stop(t, false)
	result := make(chan error, 1)
	go func() { result <- s.Put(ctx, col, []byte("k"), nil) }()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, kv.ErrClosed) {
		t.Errorf("Put under way: %v", err)
	}
}

func TestConnectionsAreNotExhausted(t *testing.T) {
	address := pgtest.Shared(t).URL(t)
	s := open(t, with(address, "pool_max_conns", "2"), pgkv.Options{}) // one of them to hold
	fill(t, s, 2*pgkv.PageRows)
	s.Wait(time.Second, 20*time.Millisecond)
	err := walk(s, func(n int) {
		if n%100 != 1 {
			return
		}
		mustPut(t, s, "k", "in a scan")
		wantValue(t, s, "k", "in a scan")
		if n := len(keysIn(t, s, "n/00001")); n != 10 {
			t.Errorf("a short scan in a scan: %d keys", n)
		}
		nothing := func(kv.KVStorage) error { return nil }
		for name, err := range map[string]error{"scan": walk(s, nil), "Update": s.Update(ctx, nothing), "View": s.View(ctx, nothing)} {
			if !errors.Is(err, kv.ErrBusy) || !errorSays(err, "pool_max_conns") {
				t.Errorf("%s in a scan that holds the last connection: %v", name, err)
			}
		}
	})
	if err != nil || s.Held() != 0 {
		t.Fatalf("%v, %d connections held", err, s.Held())
	}
	st, err := s.Stats(ctx)
	if err != nil || st.Detail["connections"].(int64) > 2 || st.Detail["connections_max"] != int64(2) {
		t.Errorf("%+v, %v", st, err)
	}
}

// As many as there are connections to hold are nested in each other.
func TestScansInScansInScans(t *testing.T) {
	address := pgtest.Shared(t).URL(t)
	s := open(t, address, pgkv.Options{})
	fill(t, s, pgkv.PageRows+1)
	deepest := 0
	var nest func(depth int)
	nest = func(depth int) {
		deepest = max(deepest, depth)
		if depth == 12 {
			mustPut(t, s, "k", "deep down")
			return
		}
		err := walk(s, func(n int) {
			if n == 1 {
				nest(depth + 1)
			}
		})
		if err != nil {
			t.Errorf("at depth %d: %v", depth, err)
		}
	}
	nest(0)
	if deepest != 12 || s.Held() != 0 {
		t.Errorf("%d deep, %d connections held", deepest, s.Held())
	}
}

// A large value is sent before the commit: what is lost on its way is sent again.
func TestAConnectionLostInALargePut(t *testing.T) {
	p, s := brittle(t)
	for _, delivered := range []bool{false, true} {
		done := p.cut("insert into", 0, delivered)
		value := make([]byte, pgkv.PageBytes)
		if err := s.Put(ctx, col, []byte("k"), value); err != nil || !happened(done) {
			t.Errorf("delivered %v: %v, cut %v", delivered, err, happened(done))
		}
		wantValue(t, s, "k", string(value))
	}
}
