package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv"
	"github.com/crabstore/crabstore/textsearch"
)

// crabtextIndexer has the name of our store, since the table's lead is that of this.
var crabtextIndexer = indexer{
	name:   crabdbEngine.name,
	title:  "textsearch",
	module: crabdbEngine.module,
	settings: "On crabdb by kv/crabkv with the zero Options. English: an inflection is found by its stem, and the exact form " +
		"ranks first. BM25; no positions are kept. One message a commit: Put; in bulk: a Batch. Durable: SyncWrite. Optimized: Optimize, and Compact. " +
		"Every Put looks for an earlier document of its key.",
	open: openCrabtext,
}

type crabtext struct{ store *crabkv.Store }

// messagesIndex is the name of the index.
const messagesIndex = "messages"

func openCrabtext(dir string, synced bool) (index, error) {
	store, err := openIndexStore(dir, synced)
	if err != nil {
		return nil, err
	}
	return crabtext{store}, nil
}

// openIndexStore opens the store that an index of ours lies in.
func openIndexStore(dir string, synced bool) (*crabkv.Store, error) {
	var opts crabdb.Options
	if synced {
		opts.Sync = crabdb.SyncWrite
	}
	return crabkv.Open(filepath.Join(dir, "store.crmem"), opts)
}

func (x crabtext) add(docs []document) error {
	ctx := context.Background()
	if len(docs) == 1 {
		return textsearch.Put(ctx, x.store, messagesIndex, docs[0].key, docs[0].text, 1)
	}
	return x.store.Update(ctx, func(tx kv.KVStorage) error {
		batch, err := textsearch.NewBatch(ctx, tx, messagesIndex)
		if err != nil {
			return err
		}
		for _, d := range docs {
			if err := batch.Put(ctx, d.key, d.text, 1); err != nil {
				return err
			}
		}
		return batch.Flush(ctx)
	})
}

func (x crabtext) search(q query, limit int, count bool) (textsearch.Result, error) {
	if q.Kind == literal {
		return textsearch.Result{}, errors.ErrUnsupported
	}
	text := q.text(" ", "%s")
	if q.Kind == prefix {
		text += "*"
	}
	return textsearch.Search(context.Background(), x.store, messagesIndex, textsearch.Query{Text: text, Limit: limit, Count: count})
}

func (x crabtext) top(q query) ([]string, error) {
	found, err := x.search(q, topHits, false)
	var keys []string
	for _, h := range found.Hits {
		keys = append(keys, h.Key)
	}
	return keys, err
}

func (x crabtext) count(q query) (int, error) {
	found, err := x.search(q, 1, true)
	return found.Total, err
}

func (x crabtext) optimize() error {
	if err := textsearch.Optimize(context.Background(), x.store, messagesIndex); err != nil {
		return err
	}
	return x.store.Compact(context.Background())
}

func (x crabtext) close() error { return x.store.Close() }
