package etcdtest

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// network is the wires between the members of a cluster. What a member is told by
// its peers comes through a proxy, which asks who sent it: a member that is cut off is
// neither reached nor heard.
type network struct {
	mu    sync.Mutex
	ids   map[int]string // under which members send, from when they are known
	cut   map[int]bool
	calls map[*call]bool // under way
	ways  []*http.Server
}

// call is one request of a member to another. Many are streams that last.
type call struct {
	sender string // its id, where it says
	to     int
	cancel context.CancelFunc
}

func newNetwork() *network {
	return &network{ids: map[int]string{}, cut: map[int]bool{}, calls: map[*call]bool{}}
}

// listen opens the way to member i, which listens at target, and returns its address.
func (n *network) listen(t testing.TB, i int, target string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := log.New(io.Discard, "", 0)                  // calls that end in the middle are what it is for
	transport := &http.Transport{MaxIdleConnsPerHost: -1} // a connection a call, so that a call cut is a connection cut
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: target}) },
		Transport:     transport,
		FlushInterval: -1, // what members send each other is streams
		ErrorLog:      silent,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { n.pass(w, r, i, proxy) }),
		ErrorLog: silent,
	}
	n.ways = append(n.ways, server)
	go server.Serve(l)
	return l.Addr().String()
}

// pass lets a request through, for as long as neither end is cut off.
func (n *network) pass(w http.ResponseWriter, r *http.Request, to int, proxy http.Handler) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c, ok := n.enter(r.Header.Get("X-Server-From"), to, cancel)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	defer n.leave(c)
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

func (n *network) enter(sender string, to int, cancel context.CancelFunc) (*call, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := &call{sender, to, cancel}
	for i, cut := range n.cut {
		if cut && n.concerns(c, i) {
			return nil, false
		}
	}
	n.calls[c] = true
	return c, true
}

// concerns tells whether member i is one end of a call.
func (n *network) concerns(c *call, i int) bool { return c.to == i || c.sender == n.ids[i] }

func (n *network) close() {
	for _, way := range n.ways {
		way.Close()
	}
}

func (n *network) isCut(i int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut[i]
}

func (n *network) leave(c *call) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.calls, c)
}

// name tells under which id a member sends.
func (n *network) name(i int, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids[i] = id
}

// setCut cuts a member off, what is under way included, or heals it.
func (n *network) setCut(i int, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[i] = cut
	for c := range n.calls {
		if cut && n.concerns(c, i) {
			c.cancel()
		}
	}
}
