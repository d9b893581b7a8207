package importer

import "github.com/crabstore/crabstore/apps/agent/internal/transcripts"

// The size at which a chunk is committed. Larger ones amortize better what each
// word of the text index costs, and hold more in memory and in one commit.
const (
	chunkMessages = 4000
	chunkBytes    = 4 << 20 // of text and images
)

// unit is a source in the queue.
type unit struct {
	transcripts.Source
	name string // under which it is remembered
	size int64  // of the file
}

// piece is a batch of a source, or what is to be said at its end.
type piece struct {
	unit  *unit
	batch transcripts.Batch
	first bool // of a reading that began at the beginning

	ended     bool // nothing more comes of the source
	unchanged bool // and nothing came at all
	known     int  // then: the messages that are there already
	err       error
}

// chunk is what becomes one commit: pieces in the order of reading.
type chunk struct {
	pieces   []piece
	limit    int // messages at which it is full
	messages int
	bytes    int64
}

func (c *chunk) add(p piece) {
	c.pieces = append(c.pieces, p)
	c.messages += len(p.batch.Messages)
	for i := range p.batch.Messages {
		c.bytes += sizeOf(&p.batch.Messages[i])
	}
}

func (c *chunk) full() bool { return c.messages >= c.limit || c.bytes >= chunkBytes }
