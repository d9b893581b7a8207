package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crabstore/crabstore/kv"
)

var ctx = context.Background()

func pass(t *testing.T, through func(context.Context) (func(), error)) (leave func()) {
	t.Helper()
	leave, err := through(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

func TestCloseReleasesOnce(t *testing.T) {
	var g Gate
	released := 0
	failure := errors.New("the engine's")
	pass(t, g.Call)()
	pass(t, g.Hold)()
	release := func() error { released++; return failure }
	if err := g.Close(release); err != failure || released != 1 {
		t.Errorf("Close: %v, released %d times", err, released)
	}
	if err := g.Close(release); err != nil || released != 1 {
		t.Errorf("Close again: %v, released %d times", err, released)
	}
	for name, through := range map[string]func(context.Context) (func(), error){"Call": g.Call, "Hold": g.Hold} {
		if _, err := through(ctx); !errors.Is(err, kv.ErrClosed) {
			t.Errorf("%s of a closed gate: %v", name, err)
		}
	}
	if err := g.Check(ctx); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("Check of a closed gate: %v", err)
	}
}

func TestTheContextIsAskedFirst(t *testing.T) {
	var g Gate
	ended, stop := context.WithCancel(ctx)
	stop()
	if _, err := g.Call(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Call: %v", err)
	}
	released := false
	if err := g.Close(func() error { released = true; return nil }); err != nil || !released {
		t.Errorf("Close after a call that did not pass: %v, released %v", err, released)
	}
}

// A28: a scan whose body closes the store goes on with what it has, and the last who
// leaves releases.
func TestA28_CloseDoesNotWaitForTheCallersCode(t *testing.T) {
	var g Gate
	released := false
	leave, other := pass(t, g.Hold), pass(t, g.Hold)
	if err := g.Close(func() error { released = true; return nil }); err != nil || released {
		t.Fatalf("Close inside a scan: %v, released %v", err, released)
	}
	leave()
	if released {
		t.Fatal("released under another scan")
	}
	other()
	if !released {
		t.Fatal("nobody released")
	}
}

func TestCloseWaitsForCalls(t *testing.T) {
	for _, held := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var g Gate
			released, closed := 0, false
			first, second := pass(t, g.Call), pass(t, g.Call)
			var scan func()
			if held {
				scan = pass(t, g.Hold)
			}
			go func() {
				if err := g.Close(func() error { released++; return nil }); err != nil {
					t.Error(err)
				}
				closed = true
			}()
			synctest.Wait()
			first()
			synctest.Wait()
			if closed || released > 0 {
				t.Fatal("Close did not wait for the second call")
			}
			second()
			synctest.Wait()
			if !closed || released != 1 && !held {
				t.Fatalf("closed %v, released %d times", closed, released)
			}
			if held {
				if released > 0 {
					t.Fatal("released under a scan")
				}
				scan()
				if released != 1 {
					t.Fatalf("released %d times", released)
				}
			}
		})
	}
}

// Whoever waits is let go when Close begins, before what it waits for has ended.
func TestClosingEndsEveryWait(t *testing.T) {
	for name, wait := range map[string]func(g *Gate, turn Turn) error{
		"Take":  func(g *Gate, turn Turn) error { return turn.Take(ctx, g) },
		"Sleep": func(g *Gate, _ Turn) error { return g.Sleep(ctx, time.Hour) },
		"Closing": func(g *Gate, _ Turn) error {
			<-g.Closing()
			return g.Check(ctx)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var g Gate
			turn, call := NewTurn(), pass(t, g.Call)
			if err := turn.Take(ctx, &g); err != nil {
				t.Fatal(err)
			}
			waited := make(chan error, 1)
			go func() { waited <- wait(&g, turn) }()
			synctest.Wait()
			if len(waited) > 0 {
				t.Errorf("%s of an open gate does not wait", name)
			}
			closed := make(chan error, 1)
			go func() { closed <- g.Close(func() error { return nil }) }()
			synctest.Wait()
			if len(closed) > 0 || len(waited) == 0 {
				t.Fatalf("%s still waits while Close waits for a call", name)
			}
			if err := <-waited; !errors.Is(err, kv.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
			call()
			if err := <-closed; err != nil {
				t.Error(err)
			}
			if err := wait(&g, turn); !errors.Is(err, kv.ErrClosed) {
				t.Errorf("%s of a closed gate: %v", name, err)
			}
		})
	}
}

func TestWaitsEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		turn := NewTurn()
		if err := turn.Take(ctx, &g); err != nil {
			t.Fatal(err)
		}
		short, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		for name, err := range map[string]error{"Take": turn.Take(short, &g), "Sleep": g.Sleep(short, time.Hour)} {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
		}
		turn.Pass()
		if err := errors.Join(turn.Take(ctx, &g), g.Sleep(ctx, time.Hour)); err != nil {
			t.Error(err)
		}
	})
}
