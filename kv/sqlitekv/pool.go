package sqlitekv

import (
	"net/url"
	"sync"
)

// maxIdle is how many connections a pool keeps for the next who reads. One has a page
// cache of 2 MB at most.
const maxIdle = 8

// pool has the connections that read. There is no limit to how many are in use, so
// scans can be nested as deep as anyone likes.
type pool struct {
	file     file
	readOnly bool // nothing may be created or changed

	mu    sync.Mutex
	idle  []*conn
	state state // of the file for which the idle ones were opened, if readOnly
}

func (p *pool) take() (*conn, error) {
	var now state
	if p.readOnly {
		var err error
		if now, err = p.file.state(); err != nil {
			return nil, err
		}
	}
	c, stale := p.pop(now)
	closeAll(stale)
	if c != nil {
		return c, nil
	}
	params := url.Values{"mode": {"rw"}, "_pragma": {"query_only(1)"}}
	if p.readOnly {
		params = now.forReading()
	}
	c, err := dial(p.file, params)
	if err != nil {
		return nil, err
	}
	c.state, c.watch = now, p.readOnly
	return c, nil
}

// pop returns an idle connection, or nil, and those that were opened for a file that
// was otherwise.
func (p *pool) pop(now state) (c *conn, stale []*conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != now {
		p.state, stale, p.idle = now, p.idle, nil
	}
	if last := len(p.idle) - 1; last >= 0 {
		c, p.idle = p.idle[last], p.idle[:last]
	}
	return c, stale
}

// give takes a connection back. One that failed is closed.
func (p *pool) give(c *conn, failure error) {
	if failure != nil || !p.push(c) {
		_ = c.close() // it only read
	}
}

func (p *pool) push(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.state != p.state || len(p.idle) >= maxIdle {
		return false
	}
	p.idle = append(p.idle, c)
	return true
}

// close closes the idle connections. None is in use any more.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	closeAll(p.idle)
	p.idle = nil
}

func closeAll(conns []*conn) {
	for _, c := range conns {
		_ = c.close() // they only read
	}
}
