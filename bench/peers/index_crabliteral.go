package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv"
	trigrams "github.com/crabstore/crabstore/textsearch/literal"
)

// crabliteralIndexer is our literal index, which is an index of its own.
var crabliteralIndexer = indexer{
	name:   "literal",
	title:  "textsearch literal",
	module: crabdbEngine.module,
	settings: "On crabdb by kv/crabkv with the zero Options. Trigrams of folded text, and every hit is verified in the text, which is read " +
		"from a store beside it. Writing the text there is part of the times, and its size is not part of the sizes. Hits are in the order of their keys.",
	open:     openCrabliteral,
	literals: true,
	ours:     true,
}

// textsFile is the store of the texts.
const textsFile = "texts.crmem"

type crabliteral struct{ store, texts *crabkv.Store }

func openCrabliteral(dir string, synced bool) (index, error) {
	store, err := openIndexStore(dir, synced)
	if err != nil {
		return nil, err
	}
	texts, err := crabkv.Open(filepath.Join(dir, textsFile), crabdb.Options{})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return crabliteral{store, texts}, nil
}

func (x crabliteral) add(docs []document) error {
	ctx := context.Background()
	err := x.texts.Update(ctx, func(tx kv.KVStorage) error {
		for _, d := range docs {
			if err := tx.Put(ctx, kv.Archive, []byte(d.key), []byte(d.text)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return x.store.Update(ctx, func(tx kv.KVStorage) error {
		batch, err := trigrams.NewBatch(ctx, tx, messagesIndex)
		if err != nil {
			return err
		}
		for _, d := range docs {
			if err := batch.Put(ctx, d.key, d.text); err != nil {
				return err
			}
		}
		return batch.Flush(ctx)
	})
}

// search returns the keys of limit texts, or, below zero, of all.
func (x crabliteral) search(q query, limit int) (keys []string, err error) {
	ctx := context.Background()
	text := func(ctx context.Context, _ kv.KVStorage, key string) (string, error) {
		value, err := x.texts.Get(ctx, kv.Archive, []byte(key))
		return string(value), err
	}
	ask := trigrams.Query{Text: q.Words[0], Limit: limit}
	for {
		found, err := trigrams.Search(ctx, x.store, messagesIndex, ask, text)
		if err != nil {
			return nil, err
		}
		for _, h := range found.Hits {
			keys = append(keys, h.Key)
		}
		if found.Next == "" || len(keys) == limit {
			return keys, nil
		}
		ask.After = found.Next
	}
}

func (x crabliteral) top(q query) ([]string, error) { return x.search(q, topHits) }

func (x crabliteral) count(q query) (int, error) {
	keys, err := x.search(q, -1)
	return len(keys), err
}

func (x crabliteral) optimize() error {
	ctx := context.Background()
	if err := trigrams.Optimize(ctx, x.store, messagesIndex); err != nil {
		return err
	}
	return x.store.Compact(ctx)
}

func (x crabliteral) close() error { return errors.Join(x.store.Close(), x.texts.Close()) }
