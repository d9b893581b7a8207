// Package gate keeps what a store rests on open for as long as somebody uses it.
//
// A store may be closed at any time, also in the body of a scan. Whoever uses the
// engine below passes the gate; after Close nobody passes, and the engine is let go
// of when the last one who is in has left. Close waits for the calls of the store,
// which are short, and not for code of the caller, which may be what called Close.
package gate

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// Gate is open until it is closed. The zero value is an open one, for concurrent
// use.
type Gate struct {
	shut atomic.Bool // set once, under mu

	mu      sync.Mutex
	closing chan struct{} // made when it is asked for, closed when the gate is shut
	inside  int           // all who are in
	calls   int           // of these, those that Close waits for
	drained chan struct{} // closed when calls falls to 0 behind a shut gate
	release func() error
}

// Call passes the gate for one call of the store, in which none of the caller's
// code runs. It returns kv.ErrClosed, or the error of a context that has ended; if
// not, leave is called once, at the end.
func (g *Gate) Call(ctx context.Context) (leave func(), err error) {
	if err := g.enter(ctx, 1); err != nil {
		return nil, err
	}
	return func() { g.leave(1) }, nil
}

// Hold is Call for what runs code of the caller: scans and transactions. Close does
// not wait for it.
func (g *Gate) Hold(ctx context.Context) (leave func(), err error) {
	if err := g.enter(ctx, 0); err != nil {
		return nil, err
	}
	return func() { g.leave(0) }, nil
}

// Check returns the error that Call would.
func (g *Gate) Check(ctx context.Context) error {
	if g.shut.Load() {
		return kv.ErrClosed
	}
	return ctx.Err()
}

// Closing returns a channel that is closed when Close begins: nobody has to wait for
// anything any more.
func (g *Gate) Closing() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing == nil {
		g.closing = make(chan struct{})
		if g.shut.Load() {
			close(g.closing)
		}
	}
	return g.closing
}

// Sleep returns nil after a while, or earlier the error of the context or kv.ErrClosed.
func (g *Gate) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-g.Closing():
		return kv.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *Gate) enter(ctx context.Context, calls int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.Check(ctx); err != nil {
		return err
	}
	g.inside++
	g.calls += calls
	return nil
}

func (g *Gate) leave(calls int) {
	g.mu.Lock()
	g.inside--
	g.calls -= calls
	if g.shut.Load() && g.calls == 0 && calls > 0 {
		close(g.drained)
	}
	var last func() error
	if g.shut.Load() && g.inside == 0 {
		last, g.release = g.release, nil
	}
	g.mu.Unlock()
	if last != nil {
		_ = last() // Close has returned, or waits for no more than calls: there is nobody to tell
	}
}

// Close lets nobody pass any more and waits for the calls that are in. The engine is
// released, once, when nobody is in: by Close itself, whose error is then that of
// release, or by the last one who leaves. Closing again does nothing.
func (g *Gate) Close(release func() error) error {
	g.mu.Lock()
	if g.shut.Swap(true) {
		g.mu.Unlock()
		return nil
	}
	if g.closing != nil {
		close(g.closing)
	}
	g.release = release
	if g.calls > 0 {
		g.drained = make(chan struct{})
		g.inside++ // Close itself, so that what it releases is released by it where it can be
		g.mu.Unlock()
		<-g.drained
		g.mu.Lock()
		g.inside--
	}
	if g.inside > 0 {
		g.mu.Unlock()
		return nil
	}
	g.release = nil
	g.mu.Unlock()
	return release()
}
