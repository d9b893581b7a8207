package inverted

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/crabstore/crabstore/kv"
)

// Sweep deletes at most limit of the values that nothing leads to and returns how
// many: generations that neither serve nor are being built, segments that no list
// has, and operations that are in segments.
func (x *Index) Sweep(ctx context.Context, tx kv.KVStorage, limit int) (n int, err error) {
	var live []liveGeneration
	for _, name := range []string{"stats", "building"} {
		st, ok, err := x.load(ctx, tx, name)
		if err != nil {
			return 0, err
		}
		if !ok {
			continue
		}
		g, err := x.generation(ctx, tx, &st)
		if err != nil {
			return 0, err
		}
		live = append(live, g)
	}
	for key, err := range tx.ScanKeys(ctx, x.col, x.root) {
		if err != nil || n == limit {
			return n, err
		}
		if x.leads(live, key) {
			continue
		}
		if _, err := tx.Delete(ctx, x.col, key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Clear deletes at most limit of all that the index has and returns how many.
func (x *Index) Clear(ctx context.Context, tx kv.KVStorage, limit int) (int, error) {
	return (&shelf{tx: tx, col: x.col}).deleteUnder(ctx, x.root, limit)
}

type liveGeneration struct {
	shelf    *shelf
	segments map[string]bool
	logFrom  string
	logTo    string
}

func (x *Index) generation(ctx context.Context, tx kv.KVStorage, st *Stats) (liveGeneration, error) {
	s := newShelf(tx, x, st.Generation)
	l, err := s.list(ctx, st)
	if err != nil {
		return liveGeneration{}, err
	}
	g := liveGeneration{shelf: s, segments: map[string]bool{}}
	g.logFrom = string(s.logKey(st.First))
	g.logTo = string(s.logKey(st.Next))
	for _, seg := range l.Segments {
		g.segments[string(s.segmentKey(seg.ID))] = true
	}
	for _, m := range l.Merges {
		g.segments[string(s.segmentKey(m.Output.ID))] = true
	}
	for _, id := range l.Trash { // their turn comes
		g.segments[string(s.segmentKey(id))] = true
	}
	return g, nil
}

// leads tells whether something leads to a key of the index.
func (x *Index) leads(live []liveGeneration, key []byte) bool {
	if rest := string(key[len(x.root):]); rest == "stats" || rest == "building" {
		return true
	}
	for _, g := range live {
		rest, ok := bytes.CutPrefix(key, g.shelf.root)
		if !ok {
			continue
		}
		part, _, _ := strings.Cut(string(rest), "/")
		switch part {
		case "seg":
			prefix := len(g.shelf.root) + len("seg/") + 17
			return len(key) > prefix && g.segments[string(key[:prefix])]
		case "new":
			return string(key) >= g.logFrom && string(key) < g.logTo
		default:
			return part == "list" || part == "key"
		}
	}
	return false
}

// Optimize makes one segment of all, with nothing in it that is gone, in as many
// transactions as that takes.
func (x *Index) Optimize(ctx context.Context, s kv.KVStorage) error {
	for {
		done := false
		err := kv.Update(ctx, s, func(tx kv.KVStorage) (err error) {
			done, err = x.optimizeSome(ctx, tx)
			return err
		})
		if done || err != nil {
			return err
		}
	}
}

// optimizeWork is how much is done in one transaction.
const optimizeWork = 1 << 20

func (x *Index) optimizeSome(ctx context.Context, tx kv.KVStorage) (done bool, err error) {
	st, ok, err := x.Load(ctx, tx)
	if !ok || err != nil {
		return true, err
	}
	w, err := x.writer(tx, "stats", st)
	if err != nil {
		return false, err
	}
	if err := w.wantList(ctx); err != nil {
		return false, err
	}
	if err := w.takeLog(ctx); err != nil {
		return false, err
	}
	if w.beginOnly() {
		return len(w.list.Trash) == 0, w.tidy(ctx)
	}
	if _, err := w.work(ctx, optimizeWork); err != nil {
		return false, err
	}
	return false, w.tidy(ctx)
}

// tidy writes the statistics and deletes what is no longer needed.
func (w *Writer) tidy(ctx context.Context) error {
	if w.changed {
		if err := w.writeStats(ctx); err != nil {
			return err
		}
	}
	for range 16 {
		if err := w.clean(ctx); err != nil {
			return err
		}
	}
	return nil
}

// beginOnly makes the merge of all segments the only one, and tells when there is
// nothing to merge.
func (w *Writer) beginOnly() (none bool) {
	var all []uint64
	dead := uint32(0)
	for _, s := range w.list.Segments {
		all = append(all, s.ID)
		dead += s.Dead
	}
	if len(w.list.Merges) == 1 && len(w.list.Merges[0].Inputs) == len(all) {
		return false
	}
	w.giveUpMerges()
	if len(all) == 0 || len(all) == 1 && dead == 0 {
		return true
	}
	w.beginMerge(all)
	return false
}

// Segments returns how many documents each segment of the index has, largest first.
func (x *Index) Segments(ctx context.Context, tx kv.KVStorage) (docs []uint32, err error) {
	st, ok, err := x.Load(ctx, tx)
	if !ok || err != nil {
		return nil, err
	}
	l, err := newShelf(tx, x, st.Generation).list(ctx, &st)
	if err != nil {
		return nil, err
	}
	for _, s := range l.Segments {
		docs = append(docs, s.live())
	}
	slices.SortFunc(docs, func(a, b uint32) int { return cmp.Compare(b, a) })
	return docs, nil
}

// cleared is how many keys are deleted in one transaction.
const cleared = 10_000

// ClearAll deletes all that the index has, in steps.
func (x *Index) ClearAll(ctx context.Context, s kv.KVStorage) error { return inSteps(ctx, s, x.Clear) }

// SweepAll deletes the values that nothing leads to, in steps.
func (x *Index) SweepAll(ctx context.Context, s kv.KVStorage) error { return inSteps(ctx, s, x.Sweep) }

// inSteps runs step in transactions of their own until it did less than it may.
func inSteps(ctx context.Context, s kv.KVStorage, step func(ctx context.Context, tx kv.KVStorage, limit int) (int, error)) error {
	for {
		n := 0
		err := kv.Update(ctx, s, func(tx kv.KVStorage) (err error) {
			n, err = step(ctx, tx, cleared)
			return err
		})
		if err != nil || n < cleared {
			return err
		}
	}
}
