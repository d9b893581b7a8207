package inverted

import (
	"fmt"
	"testing"

	"github.com/crabstore/crabstore/kv/memkv"
)

// TestFilter asks the filter of a segment for all that it has, and for as much that it
// has not, of which it may take one in twenty for there.
func TestFilter(t *testing.T) {
	s := memkv.New()
	x := index(s)
	const docs = 3000
	key := func(i int) string { return fmt.Sprintf("session%d/message%06d", i%7, i) }
	update(t, s, x, func(w *Writer) error {
		for i := range docs {
			if err := w.Put(ctx, &Document{Key: key(i), Length: 1, Weight: 1, Terms: []Term{{"a", 1}}}); err != nil {
				return err
			}
		}
		return nil
	})
	update(t, s, x, func(w *Writer) error {
		segs, err := w.segments(ctx)
		if err != nil {
			return err
		}
		seg, f := segs[0], w.filters[0]
		for range seg.docs[1:] {
			if may, err := f.mayHave(ctx, seg, filterHash([]byte("absent"))); !may || err != nil {
				t.Fatal("before all keys are in:", may, err)
			}
		}
		for i := range docs {
			if may, err := f.mayHave(ctx, seg, filterHash([]byte(key(i)))); !may || err != nil {
				t.Fatalf("%q: %t, %v", key(i), may, err)
			}
		}
		wrong := 0
		for i := range docs {
			if may, err := f.mayHave(ctx, seg, filterHash([]byte(key(docs+i)))); may || err != nil {
				wrong++
			}
		}
		if wrong > docs/20 {
			t.Errorf("%d of %d absent keys may be there", wrong, docs)
		}
		return nil
	})
}
