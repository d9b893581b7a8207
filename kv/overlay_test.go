package kv_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// place is a key in a column.
type place struct {
	col kv.Column
	key string
}

// TestOverlayEqualsAModel writes at random to an overlay above a store that holds
// something, and compares every way of reading it with a map; at the end, what
// Apply makes of the store.
func TestOverlayEqualsAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, base := context.Background(), memkv.New()
		model := map[place]string{}
		for range rapid.IntRange(0, 12).Draw(t, "below") {
			p, value := drawPlace(t), drawValue(t)
			must(t, base.Put(ctx, p.col, []byte(p.key), []byte(value)))
			model[p] = value
		}
		before := maps.Clone(model)
		o := kv.NewOverlay(base)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				p, value := drawPlace(t), drawValue(t)
				must(t, o.Put(ctx, p.col, []byte(p.key), []byte(value)))
				model[p] = value
			},
			"delete": func(t *rapid.T) {
				p := drawPlace(t)
				_, want := model[p]
				if existed, err := o.Delete(ctx, p.col, []byte(p.key)); err != nil || existed != want {
					t.Fatalf("Delete %v: %v, %v; want %v", p, existed, err, want)
				}
				delete(model, p)
			},
			"get": func(t *rapid.T) {
				p := drawPlace(t)
				want, present := model[p]
				got, err := o.Get(ctx, p.col, []byte(p.key))
				if present != (err == nil) || !present && !errors.Is(err, kv.ErrNotFound) || string(got) != want {
					t.Fatalf("Get %v: %q, %v; want %q, %v", p, got, err, want, present)
				}
			},
			"scan": func(t *rapid.T) { compareRange(t, o, model, drawColumn(t), drawRange(t)) },
		})
		for _, c := range []kv.Column{kv.Memory, kv.Text} {
			compareRange(t, base, before, c, kv.Range{}) // nothing was written yet
		}
		must(t, o.Apply(ctx, base))
		for _, c := range []kv.Column{kv.Memory, kv.Text} {
			compareRange(t, base, model, c, kv.Range{})
		}
	})
}

func drawColumn(t *rapid.T) kv.Column {
	return rapid.SampledFrom([]kv.Column{kv.Memory, kv.Text}).Draw(t, "column")
}

func drawKey(t *rapid.T, least int) string {
	return string(rapid.SliceOfN(rapid.SampledFrom([]byte{'a', 'b', 0x00, 0xFF}), least, 2).Draw(t, "key"))
}

func drawPlace(t *rapid.T) place { return place{drawColumn(t), drawKey(t, 1)} }

func drawValue(t *rapid.T) string { return rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "value") }

func drawRange(t *rapid.T) kv.Range {
	r := kv.Range{
		Prefix: []byte(drawKey(t, 0)), Reverse: rapid.Bool().Draw(t, "reverse"), KeysOnly: rapid.Bool().Draw(t, "keys only"),
	}
	if rapid.Bool().Draw(t, "after") {
		r.After = []byte(drawKey(t, 0))
	}
	return r
}

// compareRange compares a scan with a walk over the model.
func compareRange(t rapid.TB, s kv.KVStorage, model map[place]string, c kv.Column, r kv.Range) {
	t.Helper()
	var want []string
	places := slices.SortedFunc(maps.Keys(model), func(a, b place) int { return cmp.Compare(a.key, b.key) })
	for _, p := range places {
		inside := strings.HasPrefix(p.key, string(r.Prefix))
		behind := r.After == nil || p.key > string(r.After)
		if r.Reverse {
			behind = r.After == nil || p.key < string(r.After)
		}
		if p.col == c && inside && behind {
			want = append(want, line(p.key, []byte(model[p]), r))
		}
	}
	if r.Reverse {
		slices.Reverse(want)
	}
	var got []string
	for e, err := range kv.ScanRange(context.Background(), s, c, r) {
		must(t, err)
		if r.KeysOnly == (e.Value != nil) {
			t.Fatalf("keys only: %v, and the value of %q is %#v", r.KeysOnly, e.Key, e.Value)
		}
		got = append(got, line(string(e.Key), e.Value, r))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s, %+v: got %q, want %q", c, r, got, want)
	}
}

func line(key string, value []byte, r kv.Range) string {
	if r.KeysOnly {
		value = nil
	}
	return fmt.Sprintf("%q=%q", key, value)
}

func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOverlayChangesAreInOrderOfFirstTouch(t *testing.T) {
	ctx, base := context.Background(), memkv.New()
	put(t, base, "below", "")
	o := kv.NewOverlay(base)
	put(t, o, "z", "1")
	put(t, o, "a", "2")
	for _, key := range []string{"below", "absent"} {
		if _, err := o.Delete(ctx, kv.Memory, []byte(key)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, o, "z", "3")
	put(t, o, "below", "4")
	if _, err := o.Delete(ctx, kv.Memory, []byte("a")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range o.Changes() {
		got = append(got, fmt.Sprintf("%s=%s %v", c.Key, c.Value, c.Delete))
	}
	if want := []string{"z=3 false", "a= true", "below=4 false"}; !slices.Equal(got, want) {
		t.Fatalf("changes %q, want %q", got, want)
	}
}

func TestOverlayIsClosedAndItsStoreIsNot(t *testing.T) {
	ctx, base := context.Background(), memkv.New()
	o := kv.NewOverlay(base)
	put(t, o, "a", "")
	must(t, o.Close())
	must(t, o.Close())
	if err := o.Put(ctx, kv.Memory, []byte("b"), nil); !errors.Is(err, kv.ErrClosed) {
		t.Fatalf("Put after Close: %v", err)
	}
	if got := scanned(t, base, ""); len(got) > 0 {
		t.Fatalf("the store below holds %q", got)
	}
}

// TestOverlayDeletesOnce has goroutines delete the same keys: of each key one of
// them, and no more, is told that it was there.
func TestOverlayDeletesOnce(t *testing.T) {
	ctx, base := context.Background(), memkv.New()
	const keys, workers = 200, 4
	for i := range keys {
		put(t, base, fmt.Sprint(i), "")
	}
	o := kv.NewOverlay(base)
	var told [workers]int
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range keys {
				existed, err := o.Delete(ctx, kv.Memory, fmt.Append(nil, i))
				if err != nil {
					t.Error(err)
				}
				if existed {
					told[w]++
				}
			}
		})
	}
	group.Wait()
	if sum := told[0] + told[1] + told[2] + told[3]; sum != keys {
		t.Fatalf("%d deletions of %d keys", sum, keys)
	}
}

// TestOverlayScanFails passes an error of the store below on, once, behind what
// came before it.
func TestOverlayScanFails(t *testing.T) {
	boom := errors.New("boom")
	base := memkv.New()
	put(t, base, "b", "")
	o := kv.NewOverlay(failing{base, boom})
	put(t, o, "a", "")
	put(t, o, "c", "")
	var got []string
	for e, err := range o.Scan(context.Background(), kv.Memory, nil) {
		got = append(got, fmt.Sprint(string(e.Key), err))
	}
	if want := []string{"a<nil>", "b<nil>", "boom"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// failing is a store whose scans end with an error.
type failing struct {
	kv.KVStorage
	err error
}

func (s failing) Scan(ctx context.Context, c kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		for e, err := range s.KVStorage.Scan(ctx, c, prefix) {
			if !yield(e, err) {
				return
			}
		}
		yield(kv.Entry{}, s.err)
	}
}

// BenchmarkOverlayScans is a large transaction that looks for the last of a
// thousand keys between its writes, as appending messages does.
func BenchmarkOverlayScans(b *testing.B) {
	ctx := context.Background()
	o := kv.NewOverlay(memkv.New())
	for i := range 50_000 {
		put(b, o, fmt.Sprintf("idx/%06d", i*7919%50_000), "posting")
	}
	i := 0
	for b.Loop() {
		put(b, o, fmt.Sprintf("msg/%06d", i%1000), "message")
		put(b, o, fmt.Sprintf("idx/%06d", 50_000+i), "posting")
		if _, err := kv.Last(ctx, o, kv.Memory, []byte("msg/")); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkOverlayPut(b *testing.B) {
	ctx := context.Background()
	o := kv.NewOverlay(memkv.New())
	value := make([]byte, 40)
	i := 0
	for b.Loop() {
		if err := o.Put(ctx, kv.Text, fmt.Appendf(nil, "local/idx/text/session/term/%08d", i), value); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
