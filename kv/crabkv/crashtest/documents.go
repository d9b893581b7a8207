package crashtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// Index is an index of documents, as Documents tests it.
type Index struct {
	Batch        func(ctx context.Context, tx kv.KVStorage) (Batch, error)
	BeginRebuild func(ctx context.Context, s kv.KVStorage) (Rebuild, error)
	Optimize     func(ctx context.Context, s kv.KVStorage) error
	Sweep        func(ctx context.Context, s kv.KVStorage) error

	// Check compares the index with texts by key. It returns the statistics, which are
	// comparable by their content, what does not agree, and how many values nothing
	// leads to.
	Check func(ctx context.Context, s kv.KVStorage, texts iter.Seq2[string, string]) (stats any, faults []string, stray int, err error)

	// Ask returns what a query finds, in order, whole, and in every way that there is
	// to ask.
	Ask func(ctx context.Context, s kv.KVStorage, query string) (Answer, error)

	Text, Query func(rng *rand.Rand) string
}

// Answer is what a query finds: the keys of the hits, in order, and all that is known
// of them, to be compared by its content.
type Answer struct {
	Keys []string
	All  any
}

// Batch changes an index in a transaction.
type Batch interface {
	Put(ctx context.Context, key, text string) error
	Drop(ctx context.Context, key string) (existed bool, err error)
	DropPrefix(ctx context.Context, prefix string) (n int, err error)
	Flush(ctx context.Context) error
}

// Rebuild makes an index anew.
type Rebuild struct {
	Batch  func(ctx context.Context, tx kv.KVStorage) (Batch, error)
	Finish func(ctx context.Context, s kv.KVStorage) error
}

var ctx = context.Background()

// ContentKey is where a document lies that is indexed under a key, in kv.Memory.
func ContentKey(s kv.KVStorage, key string) []byte { return kv.Key(s, "content", key) }

// Documents returns the subject that an index is whose documents are stored in the
// transactions that index them: put one by one, or so many that segments come to be,
// put anew, dropped, merged, and the index rebuilt from them, or not to the end.
func Documents(x Index) *Subject {
	d := &documents{x}
	return &Subject{
		Steps: []Step{
			{"put", 12, d.putSome},
			{"bulk", 3, func(s kv.KVStorage, rng *rand.Rand) error { return d.bulk(s, rng, 1) }},
			{"eight bulks", 1, func(s kv.KVStorage, rng *rand.Rand) error { return d.bulk(s, rng, 8) }}, // they merge
			{"drop", 4, d.drop},
			{"drop many", 1, d.dropPrefix},
			{"put again", 2, d.putAgain},
			{"optimize", 2, func(s kv.KVStorage, _ *rand.Rand) error { return x.Optimize(ctx, s) }},
			{"rebuild", 1, func(s kv.KVStorage, rng *rand.Rand) error { return d.rebuild(s, rng, true) }},
			{"begin a rebuild", 1, func(s kv.KVStorage, rng *rand.Rand) error { return d.rebuild(s, rng, false) }},
			{"sweep", 1, func(s kv.KVStorage, _ *rand.Rand) error { return d.sweep(s) }},
		},
		Sound:  d.sound,
		Bear:   d.bear,
		Repair: func(s kv.KVStorage) error { return d.rebuild(s, nil, true) },
	}
}

type documents struct{ Index }

// texts are documents by key.
type texts map[string]string

func (t texts) seq() iter.Seq2[string, string] { return maps.All(t) }

// content returns what is stored.
func content(s kv.KVStorage) (texts, error) {
	all, prefix := texts{}, kv.Prefix(s, "content")
	for e, err := range s.Scan(ctx, kv.Memory, prefix) {
		if err != nil {
			return nil, err
		}
		parts, err := kv.SplitParts(string(e.Key[len(prefix):]))
		if err != nil {
			return nil, err
		}
		all[parts[0]] = string(e.Value)
	}
	return all, nil
}

func randomKey(rng *rand.Rand) string {
	return fmt.Sprintf("h%d/%03d", rng.IntN(4), rng.IntN(1<<rng.IntN(11)))
}

// update changes content and index in one transaction.
func (d *documents) update(s kv.KVStorage, fn func(tx kv.KVStorage, b Batch) error) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		b, err := d.Batch(ctx, tx)
		if err != nil {
			return err
		}
		return fn(tx, b)
	})
}

// put stores documents before what the index has of them.
func (d *documents) put(s kv.KVStorage, new texts) error {
	return d.update(s, func(tx kv.KVStorage, b Batch) error {
		for _, key := range slices.Sorted(maps.Keys(new)) {
			if err := tx.Put(ctx, kv.Memory, ContentKey(tx, key), []byte(new[key])); err != nil {
				return err
			}
			if err := b.Put(ctx, key, new[key]); err != nil {
				return err
			}
		}
		return b.Flush(ctx)
	})
}

// putSome puts some documents, one to three in a transaction.
func (d *documents) putSome(s kv.KVStorage, rng *rand.Rand) error {
	for range 1 + rng.IntN(12) {
		new := texts{}
		for range 1 + rng.IntN(3) {
			new[randomKey(rng)] = d.Text(rng)
		}
		if err := d.put(s, new); err != nil {
			return err
		}
	}
	return nil
}

// bulk puts some hundred documents, which are a segment, in each of some transactions.
// Few of them take the place of others.
func (d *documents) bulk(s kv.KVStorage, rng *rand.Rand, times int) error {
	for n := range times {
		new := texts{}
		for i := range 260 + rng.IntN(100) {
			new[fmt.Sprintf("h%d/%03d", rng.IntN(4), 130*n+i)] = d.Text(rng)
		}
		if err := d.put(s, new); err != nil {
			return err
		}
	}
	return nil
}

// putAgain indexes what is stored once more, which changes nothing that anybody sees.
func (d *documents) putAgain(s kv.KVStorage, rng *rand.Rand) error {
	all, err := content(s)
	if err != nil {
		return err
	}
	maps.DeleteFunc(all, func(string, string) bool { return rng.IntN(3) == 0 })
	return errors.Join(d.put(s, all), d.put(s, all))
}

func (d *documents) drop(s kv.KVStorage, rng *rand.Rand) error {
	all, err := content(s)
	if err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(all))
	for range min(len(keys), 1+rng.IntN(10)) {
		key := keys[rng.IntN(len(keys))]
		err := d.update(s, func(tx kv.KVStorage, b Batch) error {
			was, err := b.Drop(ctx, key)
			if err != nil {
				return err
			}
			if err := b.Flush(ctx); err != nil {
				return err
			}
			stored, err := tx.Delete(ctx, kv.Memory, ContentKey(tx, key))
			if err == nil && was != stored {
				return fmt.Errorf("%q was stored: %t, was in the index: %t", key, stored, was)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropPrefix drops all of one owner, or a part, or everything.
func (d *documents) dropPrefix(s kv.KVStorage, rng *rand.Rand) error {
	prefix := []string{"", "h1/", "h2/", "h2/1", "h3/00"}[rng.IntN(5)]
	return d.update(s, func(tx kv.KVStorage, b Batch) error {
		all, err := content(tx)
		if err != nil {
			return err
		}
		maps.DeleteFunc(all, func(key, _ string) bool { return !strings.HasPrefix(key, prefix) })
		n, err := b.DropPrefix(ctx, prefix)
		if err != nil {
			return err
		}
		if n != len(all) {
			return fmt.Errorf("%d dropped below %q, of %d", n, prefix, len(all))
		}
		if err := b.Flush(ctx); err != nil {
			return err
		}
		for key := range all {
			if _, err := tx.Delete(ctx, kv.Memory, ContentKey(tx, key)); err != nil {
				return err
			}
		}
		return nil
	})
}

// littered is there while a step has no need to leave nothing over: a rebuild deletes
// what it replaced in transactions of their own.
const littered = "littered"

func litter(s kv.KVStorage) error {
	return s.Put(ctx, kv.Memory, kv.Key(s, littered), nil)
}

// rebuild makes the index anew from what is stored, a hundred documents a transaction,
// with other changes between these; or not to the end.
func (d *documents) rebuild(s kv.KVStorage, rng *rand.Rand, finish bool) error {
	if err := litter(s); err != nil {
		return err
	}
	r, err := d.BeginRebuild(ctx, s)
	if err != nil {
		return err
	}
	all, err := content(s)
	if err != nil {
		return err
	}
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(all)), 100) {
		if err := d.rebuildSome(s, r, keys); err != nil {
			return err
		}
		if rng == nil || rng.IntN(2) == 0 {
			continue
		}
		if err := d.put(s, texts{randomKey(rng): d.Text(rng)}); err != nil {
			return err
		}
		if !finish && rng.IntN(2) == 0 {
			return nil
		}
	}
	if !finish {
		return nil
	}
	if err := r.Finish(ctx, s); err != nil {
		return err
	}
	return d.sweep(s)
}

// rebuildSome puts what is stored under keys into an index that is being built.
func (d *documents) rebuildSome(s kv.KVStorage, r Rebuild, keys []string) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		b, err := r.Batch(ctx, tx)
		if err != nil {
			return err
		}
		for _, key := range keys {
			text, err := tx.Get(ctx, kv.Memory, ContentKey(tx, key))
			if errors.Is(err, kv.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if err := b.Put(ctx, key, string(text)); err != nil {
				return err
			}
		}
		return b.Flush(ctx)
	})
}

// sweep leaves nothing over.
func (d *documents) sweep(s kv.KVStorage) error {
	if err := d.Sweep(ctx, s); err != nil {
		return err
	}
	_, err := s.Delete(ctx, kv.Memory, kv.Key(s, littered))
	return err
}

// sound compares an index with what is stored, and with a fresh index of it.
func (d *documents) sound(s kv.KVStorage, rng *rand.Rand) error {
	all, err := content(s)
	if err != nil {
		return err
	}
	stats, faults, stray, err := d.Check(ctx, s, all.seq())
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return fmt.Errorf("check: %.500q", faults)
	}
	litter, err := kv.Has(ctx, s, kv.Memory, kv.Key(s, littered))
	if err != nil {
		return err
	}
	if stray > 0 && !litter {
		return fmt.Errorf("check: %d values that nothing leads to", stray)
	}
	fresh := memkv.New()
	if err := d.put(fresh, all); err != nil {
		return err
	}
	want, _, _, err := d.Check(ctx, fresh, nil)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(stats, want) {
		return fmt.Errorf("the statistics are %+v, those of a fresh index are %+v", stats, want)
	}
	for range 4 {
		if err := d.compare(s, fresh, d.Query(rng)); err != nil {
			return err
		}
	}
	return nil
}

func (d *documents) compare(s, fresh kv.KVStorage, query string) error {
	got, err := d.Ask(ctx, s, query)
	if err != nil {
		return err
	}
	want, err := d.Ask(ctx, fresh, query)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s finds\n%.2000s\nin a fresh index\n%.2000s", query, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	}
	return nil
}

// bear searches an index as a crash left it. What it finds is there, since content is
// written before what the index has of it, and deleted after it.
func (d *documents) bear(s kv.KVStorage, rng *rand.Rand) error {
	// What is dropped may be gone and still be counted.
	if _, _, _, err := d.Check(ctx, s, nil); err != nil {
		return err
	}
	for range 3 {
		query := d.Query(rng)
		found, err := d.Ask(ctx, s, query)
		if errors.Is(err, kv.ErrCorrupt) {
			continue
		}
		if err != nil {
			return err
		}
		for _, key := range found.Keys {
			if _, err := s.Get(ctx, kv.Memory, ContentKey(s, key)); err != nil {
				return fmt.Errorf("%s finds %q, and there is: %w", query, key, err)
			}
		}
	}
	return nil
}
