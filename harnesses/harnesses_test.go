package harnesses

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest/brittle"
	"github.com/crabstore/crabstore/kv/memkv"
)

// By sha256sum of "one", of "three" and of nothing.
const (
	one   = "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
	three = "sha256:8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f"
	empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func put(t *testing.T, s kv.KVStorage, name, image string) Tagged {
	t.Helper()
	got, err := Put(context.Background(), s, name, []byte(image))
	if err != nil {
		t.Fatalf("Put %q: %v", name, err)
	}
	return got
}

func wantImage(t *testing.T, s kv.KVStorage, ref, digest, image string) {
	t.Helper()
	got, gotDigest, err := Get(context.Background(), s, ref)
	if err != nil || gotDigest != digest || string(got) != image {
		t.Errorf("Get(%q) = %q, %s, %v; want %q, %s", ref, got, gotDigest, err, image, digest)
	}
}

func wantAbsent(t *testing.T, s kv.KVStorage, refs ...string) {
	t.Helper()
	for _, ref := range refs {
		got, digest, err := Get(context.Background(), s, ref)
		if !errors.Is(err, kv.ErrNotFound) || got != nil || digest != "" {
			t.Errorf("Get(%.40q) = %q, %s, %v; want ErrNotFound", ref, got, digest, err)
		}
	}
}

func wantList(t *testing.T, s kv.KVStorage, want ...Tagged) {
	t.Helper()
	got, err := List(context.Background(), s)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("List = %v, %v; want %v", got, err, want)
	}
}

// images counts the images that are stored.
func images(t *testing.T, s kv.KVStorage) int {
	t.Helper()
	n := 0
	for _, err := range s.ScanKeys(context.Background(), kv.Harness, kv.Prefix(s, "image")) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestPut(t *testing.T) {
	s := memkv.New()
	if got, want := put(t, s, "team/review:1.2", "one"), (Tagged{"team/review:1.2", one, 3}); got != want {
		t.Errorf("Put = %v, want %v", got, want)
	}
	put(t, s, "registry:5000/team/review", "one")
	put(t, s, "Review_2", "three")
	put(t, s, "none", "")
	put(t, s, "team/review-1", "one") // before team/review/1 by its bytes, and behind it by its key
	put(t, s, "team/review/1", "one")
	wantList(t, s, Tagged{"Review_2", three, 5}, Tagged{"none", empty, 0}, Tagged{"registry:5000/team/review", one, 3},
		Tagged{"team/review-1", one, 3}, Tagged{"team/review/1", one, 3}, Tagged{"team/review:1.2", one, 3})
	if n := images(t, s); n != 3 {
		t.Errorf("%d images, want 3: one has four names", n)
	}
	wantImage(t, s, "team/review:1.2", one, "one")
	wantImage(t, s, "registry:5000/team/review", one, "one")
	wantImage(t, s, one, one, "one")
	wantImage(t, s, "none", empty, "")
	wantAbsent(t, s, "team/review", "team", "team/review:1.2/", "review_2", "", "..", "sha256:", one[:20], strings.ToUpper(one), three[:len(three)-1]+"0", strings.Repeat("x", 5000))
}

// TestImageLivesAsLongAsAName moves, adds and takes away names.
func TestImageLivesAsLongAsAName(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	put(t, s, "a", "one")
	put(t, s, "b", "one")
	put(t, s, "a", "three") // b still leads to one
	wantImage(t, s, "b", one, "one")
	put(t, s, "b", "three")
	wantAbsent(t, s, one)
	if n := images(t, s); n != 1 {
		t.Errorf("%d images, want 1", n)
	}
	put(t, s, "b", "three") // again
	wantImage(t, s, three, three, "three")

	if got, err := Tag(ctx, s, "c", "a"); err != nil || got != (Tagged{"c", three, 5}) {
		t.Errorf("Tag = %v, %v", got, err)
	}
	if got, err := Tag(ctx, s, "d", three); err != nil || got != (Tagged{"d", three, 5}) {
		t.Errorf("Tag = %v, %v", got, err)
	}
	put(t, s, "e", "one")
	if _, err := Tag(ctx, s, "e", "d"); err != nil { // takes the last name of one
		t.Fatal(err)
	}
	wantAbsent(t, s, one)
	if err := errors.Join(Untag(ctx, s, "a"), Untag(ctx, s, "b"), Untag(ctx, s, "c"), Untag(ctx, s, "d")); err != nil {
		t.Fatal(err)
	}
	wantList(t, s, Tagged{"e", three, 5})
	wantAbsent(t, s, "a")
	if err := Untag(ctx, s, "e"); err != nil {
		t.Fatal(err)
	}
	if dump := brittle.Dump(t, s); dump != "" {
		t.Errorf("left in the store:\n%s", dump)
	}

	for _, ref := range []string{"a", one, "..", "sha256:0"} {
		if _, err := Tag(ctx, s, "x", ref); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("Tag to %s: %v, want ErrNotFound", ref, err)
		}
		if err := Remove(ctx, s, ref); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("Remove %s: %v, want ErrNotFound", ref, err)
		}
	}
	if err := Untag(ctx, s, "a"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Untag: %v, want ErrNotFound", err)
	}
	if err := Untag(ctx, s, one); !errors.Is(err, ErrInvalid) {
		t.Errorf("Untag of a digest: %v, want ErrInvalid", err)
	}
}

func TestRemove(t *testing.T) {
	ctx := context.Background()
	for _, ref := range []string{"b", one} {
		s := memkv.New()
		for _, name := range []string{"a", "b", "c/d"} {
			put(t, s, name, "one")
		}
		put(t, s, "x", "three")
		if err := Remove(ctx, s, ref); err != nil {
			t.Fatal(err)
		}
		wantList(t, s, Tagged{"x", three, 5})
		wantAbsent(t, s, "a", "b", "c/d", one)
		if err := Remove(ctx, s, "x"); err != nil {
			t.Fatal(err)
		}
		if dump := brittle.Dump(t, s); dump != "" {
			t.Errorf("left in the store:\n%s", dump)
		}
	}
}

func TestNames(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	for _, name := range []string{
		"", "/", "a/", "/a", "a//b", ".", "..", "a/..", "./a", "a/./b", "a b", "a\x00", "a\nb", "a%2Fb", "a\\b", "é", "\xff", "a@b", one, "sha256:x", "sha256:",
		strings.Repeat("x", MaxName+1),
	} {
		if _, err := Put(ctx, s, name, []byte("one")); !errors.Is(err, ErrInvalid) {
			t.Errorf("Put %.40q: %v, want ErrInvalid", name, err)
		}
		if _, err := Tag(ctx, s, name, "x"); !errors.Is(err, ErrInvalid) {
			t.Errorf("Tag %.40q: %v, want ErrInvalid", name, err)
		}
		wantAbsent(t, s, name)
	}
	names := []string{"a", "a/b", "ab", "A", "...", "-", "a:b", "a/b:1.2", "sha256", strings.Repeat("x/", MaxName/2-1) + "xy"}
	for _, name := range names {
		put(t, s, name, name)
	}
	for i, name := range names {
		if err := Untag(ctx, s, name); err != nil {
			t.Fatal(err)
		}
		for _, left := range names[i+1:] { // D15
			wantImage(t, s, left, Digest([]byte(left)), left)
		}
	}
	if dump := brittle.Dump(t, s); dump != "" {
		t.Errorf("left in the store:\n%s", dump)
	}
}

// TestDamage changes an image, a size and a name under the package.
func TestDamage(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	put(t, s, "a", "one")
	set := func(key []byte, value string) {
		t.Helper()
		if err := s.Put(ctx, kv.Harness, key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	set(imageKey(s, one), "onf")
	for _, ref := range []string{"a", one} {
		if image, _, err := Get(ctx, s, ref); !errors.Is(err, kv.ErrCorrupt) || image != nil {
			t.Errorf("Get = %q, %v; want ErrCorrupt", image, err)
		}
	}
	put(t, s, "b", "one") // mends it
	wantImage(t, s, "a", one, "one")

	for _, size := range []string{"x", "-1", ""} {
		set(sizeKey(s, one), size)
		if list, err := List(ctx, s); !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("List = %v, %v; want ErrCorrupt", list, err)
		}
	}
	if _, err := s.Delete(ctx, kv.Harness, sizeKey(s, one)); err != nil { // as in a store that has no sizes
		t.Fatal(err)
	}
	wantList(t, s, Tagged{"a", one, 3}, Tagged{"b", one, 3})
	set(nameKey(s, "a"), "../x")
	if _, _, err := Get(ctx, s, "a"); !errors.Is(err, kv.ErrCorrupt) {
		t.Errorf("Get: %v, want ErrCorrupt", err)
	}
}

// TestCheck has one fault of each kind at a time.
func TestCheck(t *testing.T) {
	ctx := context.Background()
	for want, harm := range map[string]func(s kv.KVStorage) error{
		"": func(kv.KVStorage) error { return nil },
		"the image " + one + " has the digest " + Digest([]byte("onf")) + "; put it again": func(s kv.KVStorage) error {
			return s.Put(ctx, kv.Harness, imageKey(s, one), []byte("onf"))
		},
		`the name "a" leads to ` + one + ", which is not there": func(s kv.KVStorage) error {
			_, err := s.Delete(ctx, kv.Harness, imageKey(s, one))
			return err
		},
		"no name leads to the image " + one + "; prune it": func(s kv.KVStorage) error {
			_, err := s.Delete(ctx, kv.Harness, nameKey(s, "a"))
			return err
		},
		"the image " + one + " has 3 bytes and is said to have 4": func(s kv.KVStorage) error {
			return s.Put(ctx, kv.Harness, sizeKey(s, one), []byte("4"))
		},
		"harnesses: the size of " + one + ` is "four": kv: corrupt data`: func(s kv.KVStorage) error {
			return s.Put(ctx, kv.Harness, sizeKey(s, one), []byte("four"))
		},
	} {
		s := memkv.New()
		put(t, s, "a", "one")
		put(t, s, "b", "three")
		if err := harm(s); err != nil {
			t.Fatal(err)
		}
		if got, err := Check(ctx, s); err != nil || strings.Join(got, "\n") != want {
			t.Errorf("Check = %q, %v; want %q", got, err, want)
		}
	}
}

// TestListReadsNoImage takes the images away.
func TestListReadsNoImage(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	put(t, s, "a", "one")
	if _, err := s.Delete(ctx, kv.Harness, imageKey(s, one)); err != nil {
		t.Fatal(err)
	}
	wantList(t, s, Tagged{"a", one, 3})
	wantAbsent(t, s, "a", one)
}

func TestPrune(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	put(t, s, "a", "one")
	if err := putImage(ctx, s, three, []byte("three")); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{{three}, nil} {
		if got, err := Prune(ctx, s); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Prune = %q, %v; want %q", got, err, want)
		}
	}
	wantImage(t, s, "a", one, "one")
	if n := images(t, s); n != 1 {
		t.Errorf("%d images, want 1", n)
	}
}

func TestImageThatIsTooLarge(t *testing.T) {
	s := memkv.New()
	if _, err := Put(context.Background(), s, "a", make([]byte, kv.MaxValueSize+1)); !errors.Is(err, kv.ErrValueTooLarge) {
		t.Errorf("got %v, want ErrValueTooLarge", err)
	}
	wantList(t, s)
}

func TestImageIsTheCallersOwn(t *testing.T) {
	s, image := memkv.New(), []byte("one")
	if _, err := Put(context.Background(), s, "a", image); err != nil {
		t.Fatal(err)
	}
	clear(image)
	got, _, err := Get(context.Background(), s, "a")
	if err != nil || bytes.Equal(got, image) {
		t.Fatalf("Get = %q, %v", got, err)
	}
	clear(got)
	wantImage(t, s, "a", one, "one")
}

// TestOneNameManyWriters wants one image to be left of all that had the name.
func TestOneNameManyWriters(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				if _, err := Put(ctx, s, "a", []byte{byte(w), byte(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := images(t, s); n != 1 {
		t.Errorf("%d images, want 1", n)
	}
	if _, _, err := Get(ctx, s, "a"); err != nil {
		t.Error(err)
	}
}

// sound wants every name to lead to an image, and Prune to leave nothing else.
func sound(t *testing.T, s kv.KVStorage) {
	t.Helper()
	ctx := context.Background()
	list, err := List(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, tagged := range list {
		named[tagged.Digest] = true
		if image, _, err := Get(ctx, s, tagged.Name); err != nil || int64(len(image)) != tagged.Size {
			t.Errorf("%s: %d bytes, %v; want %d", tagged.Name, len(image), err, tagged.Size)
		}
	}
	if _, err := Prune(ctx, s); err != nil {
		t.Fatal(err)
	}
	if n := images(t, s); n != len(named) {
		t.Errorf("%d images of %d digests after Prune", n, len(named))
	}
	if faults, err := Check(ctx, s); err != nil || len(faults) > 0 {
		t.Errorf("Check = %q, %v", faults, err)
	}
	for key, err := range s.ScanKeys(ctx, kv.Harness, kv.Prefix(s, "size")) {
		if digest, err2 := lastPart(key); err != nil || err2 != nil || !named[digest] {
			t.Errorf("%s is left, %v, %v", key, err, err2)
		}
	}
}

// TestFailureAtEachCall fails every call of every operation.
func TestFailureAtEachCall(t *testing.T) {
	ctx := context.Background()
	setup := func(s kv.KVStorage) error {
		var errs []error
		for _, name := range []string{"a", "b", "c"} {
			_, err := Put(ctx, s, name, []byte(map[string]string{"a": "one", "b": "one", "c": "three"}[name]))
			errs = append(errs, err)
		}
		return errors.Join(append(errs, putImage(ctx, s, empty, nil))...)
	}
	for name, op := range map[string]func(s kv.KVStorage) error{
		"put new":     func(s kv.KVStorage) error { _, err := Put(ctx, s, "d", []byte("four")); return err },
		"put replace": func(s kv.KVStorage) error { _, err := Put(ctx, s, "c", []byte("four")); return err },
		"put same":    func(s kv.KVStorage) error { _, err := Put(ctx, s, "d", []byte("one")); return err },
		"tag":         func(s kv.KVStorage) error { _, err := Tag(ctx, s, "c", "a"); return err },
		"untag":       func(s kv.KVStorage) error { return Untag(ctx, s, "c") },
		"remove":      func(s kv.KVStorage) error { return Remove(ctx, s, "a") },
		"prune":       func(s kv.KVStorage) error { _, err := Prune(ctx, s); return err },
		"get":         func(s kv.KVStorage) error { _, _, err := Get(ctx, s, "a"); return err },
		"check":       func(s kv.KVStorage) error { _, err := Check(ctx, s); return err },
		"list":        func(s kv.KVStorage) error { _, err := List(ctx, s); return err },
	} {
		t.Run(name, func(t *testing.T) { brittle.Each(t, setup, op, sound) })
	}
}
