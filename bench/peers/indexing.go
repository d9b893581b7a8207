package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"os"
	"slices"
	"time"
)

// searchJob is what a stage of an engine's turn works on.
type searchJob struct {
	Corpus   string // a file of messages
	Messages int    // of these
	Commits  int    // that are indexed one a commit
	Queries  string // a file of them
}

// searchStages are the stages of an engine's turn, in order.
var searchStages = []struct {
	name string
	do   func(*searchStage) error
}{
	{"commits", (*searchStage).commits},
	{"durable", (*searchStage).durable},
	{"bulk", (*searchStage).bulk},
	{"query", (*searchStage).query},
}

// searchStage is a stage at work.
type searchStage struct {
	*stage
	indexer indexer
	docs    []document
}

func (s *stage) runSearch() (err error) {
	at := &searchStage{stage: s}
	if at.indexer, err = indexerNamed(s.Store); err != nil {
		return err
	}
	for _, known := range searchStages {
		if known.name == s.Stage {
			if at.docs, err = readDocuments(s.Search); err != nil {
				return err
			}
			return known.do(at)
		}
	}
	return fmt.Errorf("no stage %q", s.Stage)
}

// readDocuments gives messages the keys that they have in the comparison of stores.
func readDocuments(j *searchJob) ([]document, error) {
	messages, err := readMessages(j.Corpus, j.Messages)
	if err != nil {
		return nil, err
	}
	m := newWorkload(j.Messages).maker()
	var docs []document
	for i, text := range messages {
		docs = append(docs, document{string(m.key(i)), text})
	}
	return docs, nil
}

// commits indexes messages one a commit, not synced.
func (s *searchStage) commits() error {
	return s.oneByOne("commit", s.docs[:min(s.Search.Commits, len(s.docs))], false)
}

// durable does the same synced, and a tenth of it, since it takes the longer.
func (s *searchStage) durable() error {
	return s.oneByOne("durable", s.docs[:min(max(1, s.Search.Commits/10), len(s.docs))], true)
}

// oneByOne indexes documents in an index of their own.
func (s *searchStage) oneByOne(line string, docs []document, synced bool) error {
	dir, err := os.MkdirTemp(s.Dir, line+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	x, err := s.indexer.open(dir, synced)
	if err != nil {
		return err
	}
	var times histogram
	start := time.Now()
	for i := range docs {
		before := time.Now()
		if err := x.add(docs[i : i+1]); err != nil {
			return errors.Join(err, x.close())
		}
		times.add(time.Since(before))
	}
	s.figure(line, float64(len(docs))/time.Since(start).Seconds())
	s.figure(line+"-median", inMicroseconds(times.quantile(0.5)))
	s.figure(line+"-99", inMicroseconds(times.quantile(0.99)))
	return x.close()
}

// bulkSize is how many messages a commit has when many are indexed.
const bulkSize = 1000

// bulk indexes all messages, each commit synced, and then optimizes what came of it.
// Without syncing bleve would lose the last commits, even when it is closed. Closing
// is part of the time, so that no engine is better for leaving work undone.
func (s *searchStage) bulk() error {
	start := time.Now()
	err := s.opened(func(x index) error {
		for part := range slices.Chunk(s.docs, bulkSize) {
			if err := x.add(part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.figure("bulk", float64(len(s.docs))/time.Since(start).Seconds())
	size, err := diskUse(s.Dir)
	if err != nil {
		return err
	}
	s.figure("size-loaded", inMiB(size))
	start = time.Now()
	if err := s.opened(index.optimize); err != nil {
		return err
	}
	s.figure("optimize", time.Since(start).Seconds())
	return nil
}

// opened calls use with the engine's index, synced.
func (s *searchStage) opened(use func(index) error) error {
	x, err := s.indexer.open(s.Dir, true)
	if err != nil {
		return err
	}
	return errors.Join(use(x), x.close())
}

// query asks the optimized index all that was drawn.
func (s *searchStage) query() error {
	queries, err := readQueries(s.Search.Queries)
	if err != nil {
		return err
	}
	before, err := memoryNow()
	if err != nil {
		return err
	}
	err = s.opened(func(x index) error {
		if err := s.memory("opened", before); err != nil {
			return err
		}
		for _, kind := range queryKinds {
			if !s.indexer.answers(kind) {
				continue
			}
			if err := s.queryKind(x, kind, queries[kind.id]); err != nil {
				return fmt.Errorf("%s: %w", kind.title, err)
			}
		}
		return s.memory("used", before)
	})
	if err != nil {
		return err
	}
	size, err := diskUse(s.Dir) // only now: bleve removes old segments at opening
	s.figure("size", inMiB(size))
	return err
}

func (s *searchStage) memory(when string, before memory) error {
	now, err := memoryNow()
	s.figure("anonymous-"+when, inMiB(now.anonymous-before.anonymous))
	s.figure("mapped-"+when, inMiB(now.mapped-before.mapped))
	return err
}

// queryRepeats is how often every query is measured.
const queryRepeats = 3

func (s *searchStage) queryKind(x index, kind queryKind, queries []query) error {
	counts, err := s.compare(x, kind, queries)
	if err != nil {
		return err
	}
	var times histogram
	for range queryRepeats {
		for i, q := range queries {
			start := time.Now()
			keys, err := x.top(q)
			times.add(time.Since(start))
			if err != nil {
				return err
			}
			if want := min(topHits, counts[i]); len(keys) != want {
				return fmt.Errorf("%q: %d hits, want %d", q.Words, len(keys), want)
			}
		}
	}
	s.figure(kind.id+"-median", inMicroseconds(times.quantile(0.5)))
	s.figure(kind.id+"-99", inMicroseconds(times.quantile(0.99)))
	return nil
}

// compare counts the hits of each query, and answers what all engines must find
// alike. It warms the caches as well.
func (s *searchStage) compare(x index, kind queryKind, queries []query) ([]int, error) {
	var counts []int
	var total int
	var alike answer
	for _, q := range queries {
		n, err := x.count(q)
		if err != nil {
			return nil, err
		}
		keys, err := x.top(q)
		if err != nil {
			return nil, err
		}
		counts = append(counts, n)
		total += n
		if q.Certain {
			alike.Count += uint64(n)
			alike.Sum += digestOf(q, n, keys)
		}
	}
	s.figure(kind.id+"-hits", float64(total)/float64(len(queries)))
	if kind.id == rare {
		s.answer("words that analysis leaves alone", alike)
	}
	return counts, nil
}

// digestOf sums up what a query found. Which the best are of more than are shown is
// a matter of taste.
func digestOf(q query, n int, keys []string) uint64 {
	slices.Sort(keys)
	if n > topHits {
		keys = nil
	}
	return crc64.Checksum(fmt.Append(nil, q.Words, n, keys), crc64.MakeTable(crc64.ECMA))
}

// readQueries returns queries by their kinds.
func readQueries(path string) (map[string][]query, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []query
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	by := map[string][]query{}
	for _, q := range all {
		by[q.Kind] = append(by[q.Kind], q)
	}
	return by, nil
}
