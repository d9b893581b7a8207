package importer

import (
	"context"
	"errors"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/sessions"
)

// planning is the sink of a dry run: it goes the way of a chunk above the store,
// and drops what that wrote. Of the chunks before, it knows which messages they
// had.
type planning struct {
	store kv.KVStorage
	force bool
	seen  map[string]bool
}

// errPlanned ends a transaction that is not meant to be one, before the text of
// its messages is indexed.
var errPlanned = errors.New("planned")

func (p *planning) write(ctx context.Context, c *chunk) (*tally, error) {
	above := kv.NewOverlay(p.store)
	defer above.Close()
	var w *writer
	err := sessions.Update(ctx, above, func(b *sessions.Batch) error {
		w = newWriter(ctx, b, p.force)
		w.seen = p.seen
		if err := w.chunk(c); err != nil {
			return err
		}
		return errPlanned
	})
	if !errors.Is(err, errPlanned) {
		return nil, err
	}
	return w.tally, nil
}

func (p *planning) begin(context.Context) error { return nil }
func (p *planning) end(context.Context) error   { return nil }
