package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	bleveindex "github.com/blevesearch/bleve_index_api"

	blevequery "github.com/blevesearch/bleve/v2/search/query"
)

var bleveIndexer = indexer{
	name:   "bleve",
	title:  "bleve",
	module: "github.com/blevesearch/bleve/v2",
	settings: "Scorch, one field with the analyzer `en` (stopwords, Porter's stems), scoring model bm25; nothing stored, no term vectors, " +
		"no doc values. No sync: unsafe_batch, with which a commit is in the process alone until it is persisted behind the writer's back, and lost by closing before that. " +
		"Durable: without it. In bulk: batches of 1,000. Optimized: ForceMerge to one segment.",
	open: openBleve,
}

type bleveIndex struct{ bleve.Index }

// bleveField is the field that messages are in.
const bleveField = "text"

func openBleve(dir string, synced bool) (index, error) {
	path := filepath.Join(dir, "bleve")
	config := map[string]any{"unsafe_batch": !synced}
	x, err := bleve.OpenUsing(path, config)
	if errors.Is(err, bleve.ErrorIndexPathDoesNotExist) {
		text := bleve.NewTextFieldMapping()
		text.Analyzer = en.AnalyzerName
		text.Store, text.IncludeInAll, text.IncludeTermVectors, text.DocValues = false, false, false, false
		mapping := bleve.NewIndexMapping()
		mapping.ScoringModel = bleveindex.BM25Scoring
		mapping.DefaultMapping = bleve.NewDocumentStaticMapping()
		mapping.DefaultMapping.AddFieldMappingsAt(bleveField, text)
		x, err = bleve.NewUsing(path, mapping, scorch.Name, scorch.Name, config)
	}
	if err != nil {
		return nil, err
	}
	return bleveIndex{x}, nil
}

func (x bleveIndex) add(docs []document) error {
	batch := x.NewBatch()
	for _, d := range docs {
		if err := batch.Index(d.key, map[string]any{bleveField: d.text}); err != nil {
			return err
		}
	}
	return x.Batch(batch)
}

func (x bleveIndex) search(q query, limit int) (*bleve.SearchResult, error) {
	var ask blevequery.Query
	switch q.Kind {
	case literal:
		return nil, errors.ErrUnsupported
	case prefix:
		p := bleve.NewPrefixQuery(q.Words[0])
		p.SetField(bleveField)
		ask = p
	default:
		m := bleve.NewMatchQuery(q.text(" ", "%s"))
		m.SetField(bleveField)
		ask = m
	}
	return x.Search(bleve.NewSearchRequestOptions(ask, limit, 0, false))
}

func (x bleveIndex) top(q query) ([]string, error) {
	found, err := x.search(q, topHits)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, h := range found.Hits {
		keys = append(keys, h.ID)
	}
	return keys, nil
}

func (x bleveIndex) count(q query) (int, error) {
	found, err := x.search(q, 0)
	if err != nil {
		return 0, err
	}
	return int(found.Total), nil
}

func (x bleveIndex) optimize() error {
	advanced, err := x.Advanced()
	if err != nil {
		return err
	}
	s, ok := advanced.(*scorch.Scorch)
	if !ok {
		return fmt.Errorf("the index is a %T", advanced)
	}
	return s.ForceMerge(context.Background(), nil)
}

func (x bleveIndex) close() error { return x.Close() }
