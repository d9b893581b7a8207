package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

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
