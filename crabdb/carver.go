package crabdb

// carver copies keys into chunks, so that owning a key need not cost an
// allocation each. A chunk lives as long as any key in it is kept.
type carver struct {
	chunk []byte
	next  int // size of the next chunk
}

const (
	firstChunk = 256
	maxChunk   = 16 << 10
)

// copy returns a copy of key that is the caller's, to append to as well.
func (c *carver) copy(key []byte) []byte {
	if len(key) > cap(c.chunk)-len(c.chunk) {
		c.next = min(max(2*c.next, firstChunk), maxChunk)
		c.chunk = make([]byte, 0, max(c.next, len(key)))
	}
	start := len(c.chunk)
	c.chunk = append(c.chunk, key...)
	return c.chunk[start:len(c.chunk):len(c.chunk)]
}
