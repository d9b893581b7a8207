package inverted

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

var ctx = context.Background()

// model is what an index has to hold.
type model map[string]*Document

func (m model) add(d *Document) { m[d.Key] = d }

func (m model) length() (n uint64) {
	for _, d := range m {
		n += d.Length
	}
	return n
}

// groupOf is the first two letters of a term.
func groupOf(term string) string { return term[:min(len(term), 2)] }

func index(s kv.KVStorage) *Index {
	x := At(s, kv.Text, "text", "test")
	x.Groups = func(string) (Group, error) { return groupOf, nil }
	return x
}

func randomDocument(rng *rand.Rand, key string) *Document {
	d := &Document{Key: key, Length: uint64(rng.IntN(200)), Weight: []float64{1, 1, 1.5, 3}[rng.IntN(4)]}
	terms := map[string]uint32{}
	for range rng.IntN(8) {
		terms["common"] = 1
		terms[fmt.Sprintf("t%d", min(rng.IntN(3000), rng.IntN(3000)))] = 1 + uint32(rng.IntN(3))
	}
	for _, t := range slices.Sorted(maps.Keys(terms)) {
		d.Terms = append(d.Terms, Term{t, terms[t]})
	}
	return d
}

// update runs one transaction with a writer.
func update(tb testing.TB, s kv.KVStorage, x *Index, fn func(w *Writer) error) {
	tb.Helper()
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		w, err := x.NewWriter(ctx, tx, "")
		if err != nil {
			return err
		}
		if err := fn(w); err != nil {
			return err
		}
		return w.Flush(ctx)
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// TestRandomly puts and drops documents one by one and many at once, and compares
// with a model: what Check says, and what a search would read.
func TestRandomly(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		s := memkv.New()
		x, m := index(s), model{}
		x.Unranked = round%2 == 1
		for step := range 600 {
			update(t, s, x, func(w *Writer) error { return m.change(w, rng) })
			if step%50 == 0 {
				m.compare(t, s, x, rng)
			}
			if step == 300 && rng.IntN(2) == 0 {
				if err := x.Optimize(ctx, s); err != nil {
					t.Fatal(err)
				}
				m.compare(t, s, x, rng)
			}
		}
		m.compare(t, s, x, rng)
		if err := x.Optimize(ctx, s); err != nil {
			t.Fatal(err)
		}
		m.compare(t, s, x, rng)
		if n, err := x.Segments(ctx, s); err != nil || len(n) > 1 {
			t.Errorf("after Optimize: segments of %v documents, %v", n, err)
		}
		if t.Failed() {
			t.Fatalf("in round %d of seed %d", round, seed)
		}
	}
}

func (m model) change(w *Writer, rng *rand.Rand) error {
	n := 1 + rng.IntN(4)
	if rng.IntN(40) == 0 {
		n = 400 + rng.IntN(1500)
	}
	for range n {
		key := fmt.Sprintf("h%02d/%04d", rng.IntN(30), rng.IntN(600))
		switch rng.IntN(12) {
		case 0, 1, 2:
			_, want := m[key]
			if got, err := w.Drop(ctx, key); err != nil || got != want {
				return fmt.Errorf("Drop(%q) = %t, %v, not %t", key, got, err, want)
			}
			delete(m, key)
		default:
			d := randomDocument(rng, key)
			m.add(d)
			if err := w.Put(ctx, d); err != nil {
				return err
			}
		}
	}
	if rng.IntN(60) == 0 {
		prefix := fmt.Sprintf("h%02d/", rng.IntN(30))
		want := 0
		for key := range m {
			if strings.HasPrefix(key, prefix) {
				delete(m, key)
				want++
			}
		}
		if got, err := w.DropPrefix(ctx, prefix); err != nil || got != want {
			return fmt.Errorf("DropPrefix(%q) = %d, %v, not %d", prefix, got, err, want)
		}
	}
	return nil
}

func (m model) compare(t *testing.T, s kv.KVStorage, x *Index, rng *rand.Rand) {
	t.Helper()
	p := NewPrinter()
	got := map[string]Checked{}
	r, err := x.Check(ctx, s, p, func(c Checked) { got[c.Key] = c })
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Faults {
		t.Errorf("check: %s", f)
	}
	if r.Stray > 0 {
		t.Errorf("%d values that nothing leads to", r.Stray)
	}
	if len(got) != len(m) {
		t.Errorf("%d documents, want %d", len(got), len(m))
	}
	for key, d := range m {
		want := Checked{key, d.Length, d.Weight, 0}
		for _, term := range d.Terms {
			want.Print += p.Of([]byte(term.Text), term.Frequency)
		}
		if got[key] != want {
			t.Fatalf("%q is %+v, want %+v", key, got[key], want)
		}
	}
	st, ok, err := x.Load(ctx, s)
	if err != nil || ok != (len(m) > 0) {
		t.Fatal(ok, err)
	}
	if !ok {
		return
	}
	snap := must(x.OpenAt(ctx, s, st))
	defer snap.Close()
	if snap.Stats.Documents != uint64(len(m)) || snap.Stats.Length != m.length() {
		t.Errorf("statistics: %+v, want %d, %d", snap.Stats, len(m), m.length())
	}
	for range 20 {
		m.compareTerm(t, snap, fmt.Sprintf("t%d", rng.IntN(3000)))
	}
	m.compareTerm(t, snap, "common")
	m.compareGroup(t, snap, "t1")
}

func (m model) compareTerm(t *testing.T, snap *Snapshot, term string) {
	t.Helper()
	want, got := map[string]string{}, map[string]string{}
	for key, d := range m {
		for _, has := range d.Terms {
			if has.Text == term {
				want[key] = fmt.Sprint(has.Frequency, lengthByte(uint32(d.Length)), d.Weight)
			}
		}
	}
	var buffers Buffers
	live := uint32(0)
	for _, src := range snap.Sources {
		l, err := src.Find(ctx, term)
		if err != nil {
			t.Fatal(err)
		}
		if l == nil {
			continue
		}
		n, err := src.Live(ctx, l)
		if err != nil {
			t.Fatal(err)
		}
		live += n
		for i := range l.Parts() {
			numbers, frequencies, err := l.Read(ctx, i, &buffers)
			if err != nil {
				t.Fatal(err)
			}
			for j, n := range numbers {
				gone := must(src.Gone(ctx, n/Window))
				if gone.Has(n % Window) {
					continue
				}
				norms := must(src.Norms(ctx, n/Window))
				key := must(src.Key(ctx, n))
				got[key] = fmt.Sprint(frequencies[j], norms.Lengths[n%Window], norms.Weight(n%Window))
				if back, ok, err := src.Number(ctx, key); back != n || !ok || err != nil {
					t.Errorf("%q has the number %d, %t, %v, not %d", key, back, ok, err, n)
				}
			}
		}
	}
	if !maps.Equal(got, want) || int(live) != len(want) {
		t.Errorf("%q is in %d of %v, want %v", term, live, got, want)
	}
}

func (m model) compareGroup(t *testing.T, snap *Snapshot, group string) {
	t.Helper()
	want, got := map[string]bool{}, map[string]bool{}
	for _, d := range m {
		for _, has := range d.Terms {
			if groupOf(has.Text) == group && has.Text != group {
				want[has.Text] = true
			}
		}
	}
	for _, src := range snap.Sources {
		if err := src.Members(ctx, group, func(term string) {
			if l := must(src.Find(ctx, term)); l != nil && must(src.Live(ctx, l)) > 0 {
				got[term] = true
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the group %q is %v, want %v", group, got, want)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
