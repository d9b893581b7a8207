package migrate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

var ctx = context.Background()

// random fills a store and returns it.
func random(t *testing.T, r *rand.Rand, n int) *memkv.Store {
	t.Helper()
	s := memkv.New()
	for range n {
		change(t, r, s)
	}
	return s
}

// change puts or deletes one of few keys, some of them in columns that we do not have.
func change(t *testing.T, r *rand.Rand, s kv.KVStorage) {
	t.Helper()
	col := kv.Column([]int{0, 1, 5, 6, 200, 255}[r.IntN(6)])
	key := bytes.Repeat([]byte{byte(r.IntN(3)) * 127}, 1+r.IntN(20))
	var err error
	if r.IntN(3) == 0 {
		_, err = s.Delete(ctx, col, key)
	} else {
		err = s.Put(ctx, col, key, bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(4)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// content is what a store holds, written by other means than Sum.
func content(t *testing.T, s kv.KVStorage) string {
	t.Helper()
	text := ""
	for col := range 256 {
		for e, err := range s.Scan(ctx, kv.Column(col), nil) {
			if err != nil {
				t.Fatal(err)
			}
			text += fmt.Sprintf("%d %x %x\n", col, e.Key, e.Value)
		}
	}
	return text
}

// The form of the digest, by hand.
func TestSum(t *testing.T) {
	s := memkv.New()
	for col, key := range map[kv.Column]string{0: "a", 255: "bc"} {
		if err := s.Put(ctx, col, []byte(key), []byte("xyz")); err != nil {
			t.Fatal(err)
		}
	}
	if err := Begin(ctx, s, Mark{"there"}, true); err != nil {
		t.Fatal(err)
	}
	want := Sum{2, 9, sha256.Sum256([]byte("\x00\x01\x00\x00\x00a\x03\x00\x00\x00xyz\xff\x02\x00\x00\x00bc\x03\x00\x00\x00xyz"))}
	if got, err := SumOf(ctx, s, nil); got != want || err != nil {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// Whatever both hold, the target holds what the source does afterwards, the sums say
// so, and the source is as it was.
func TestCopyMakesTheSame(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		from, to := random(t, r, r.IntN(60)), random(t, r, r.IntN(60))
		before := content(t, from)
		for range 2 { // the second time something else has come, and most is there
			sum, err := Copy(ctx, from, to, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := SumOf(ctx, to, nil)
			if err != nil || got != sum {
				t.Fatalf("sums %+v and %+v, %v", sum, got, err)
			}
			if now := content(t, to); now != before || content(t, from) != before {
				t.Fatalf("the target holds\n%sand the source\n%swhich held\n%s", now, content(t, from), before)
			}
			change(t, r, from)
			before = content(t, from)
		}
	}
}

// What is the same is not written again.
func TestCopyWritesWhatDiffers(t *testing.T) {
	from, to := memkv.New(), &counting{Store: memkv.New()}
	for i := range 100 {
		for _, s := range []kv.KVStorage{from, to.Store} {
			if err := s.Put(ctx, kv.Session, fmt.Appendf(nil, "%d", i), []byte("same")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := from.Put(ctx, kv.Session, []byte("50"), []byte("other")); err != nil {
		t.Fatal(err)
	}
	if _, err := Copy(ctx, from, to, nil); err != nil || to.updates != 1 {
		t.Errorf("%d commits, %v", to.updates, err)
	}
	if _, err := Copy(ctx, from, to, nil); err != nil || to.updates != 1 {
		t.Errorf("%d commits for nothing, %v", to.updates-1, err)
	}
}

type counting struct {
	*memkv.Store
	updates int
}

func (c *counting) Update(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	c.updates++
	return c.Store.Update(ctx, fn)
}

// An entry that the target does not take is named.
func TestWhatCannotBeCopiedIsNamed(t *testing.T) {
	from := memkv.New()
	if err := from.Put(ctx, kv.Memory, []byte("other/memory/x"), nil); err != nil {
		t.Fatal(err)
	}
	_, err := Copy(ctx, from, kv.InRealm(memkv.New(), "mine"), nil)
	if !errors.Is(err, kv.ErrOutsideRealm) || !bytes.Contains([]byte(err.Error()), []byte(`column 2, key "other/memory/x"`)) {
		t.Error(err)
	}
}

func TestMark(t *testing.T) {
	s := memkv.New()
	if _, err := Marked(ctx, s); !errors.Is(err, kv.ErrNotFound) {
		t.Error(err)
	}
	for range 2 { // begun, and gone on with
		if err := Begin(ctx, s, Mark{"a"}, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := Begin(ctx, s, Mark{"b"}, true); !errors.Is(err, ErrNotEmpty) {
		t.Error("a copy of another store is gone on with:", err)
	}
	if err := End(ctx, s); err != nil {
		t.Fatal(err)
	}
	if content(t, s) != "" {
		t.Error("something is left of the mark")
	}
	if err := s.Put(ctx, 255, []byte("k"), nil); err != nil {
		t.Fatal(err)
	}
	if err := Begin(ctx, s, Mark{"a"}, false); !errors.Is(err, ErrNotEmpty) || content(t, s) != "255 6b \n" {
		t.Error("a store with something in it:", err)
	}
	if err := Begin(ctx, s, Mark{"a"}, true); err != nil {
		t.Error("a copy that was not moved away:", err)
	}
}
