package pgkv_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between a store and its server and breaks connections where a test says
// so: when the client sends certain words.
type proxy struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	cuts  []cut
	conns []net.Conn

	group sync.WaitGroup
}

// cut is what breaks one connection, once.
type cut struct {
	words     string // in what the client sends
	skip      int    // so many times nothing happens
	delivered bool   // the server gets it, and answers; the client gets nothing
	done      chan struct{}
}

// newProxy returns a proxy and the address of the store through it. The words of
// queries are on the wire in the exec mode alone.
func newProxy(t testing.TB, address string) (*proxy, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: u.Host}
	u.Host = l.Addr().String()
	p.group.Go(p.accept)
	t.Cleanup(func() {
		p.hangUp()
		p.group.Wait()
	})
	return p, with(u.String(), "default_query_exec_mode", "exec")
}

// hangUp ends all connections and takes no others.
func (p *proxy) hangUp() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

// cut arms the proxy, and returns a channel that is closed when it has cut.
func (p *proxy) cut(words string, skip int, delivered bool) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := cut{words, skip, delivered, make(chan struct{})}
	p.cuts = append(p.cuts, c)
	return c.done
}

// next returns the cut that is due at what the client sends.
func (p *proxy) next(sent []byte) *cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.cuts {
		if c := &p.cuts[i]; bytes.Contains(sent, []byte(c.words)) {
			if c.skip--; c.skip >= 0 {
				continue
			}
			due := *c
			p.cuts = append(p.cuts[:i], p.cuts[i+1:]...)
			return &due
		}
	}
	return nil
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		var mute atomic.Pointer[cut]
		both := func() { client.Close(); server.Close() }
		p.group.Go(func() { defer both(); p.forth(client, server, &mute) })
		p.group.Go(func() { defer both(); p.back(client, server, &mute) })
	}
}

// forth passes on what the client sends.
func (p *proxy) forth(client, server net.Conn, mute *atomic.Pointer[cut]) {
	buf := make([]byte, 1<<20)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if c := p.next(buf[:n]); c != nil {
			if !c.delivered {
				close(c.done)
				return
			}
			mute.Store(c)
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// back passes on what the server answers, unless a cut says that it is lost.
func (p *proxy) back(client, server net.Conn, mute *atomic.Pointer[cut]) {
	buf := make([]byte, 1<<16)
	for {
		n, err := server.Read(buf)
		if c := mute.Load(); c != nil {
			close(c.done)
			return
		}
		if err != nil && err != io.EOF || n == 0 {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
