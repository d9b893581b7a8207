package harnesses

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/crabstore/crabstore/kv"
)

func imageKey(s kv.KVStorage, digest string) []byte { return kv.Key(s, "image", digest) }
func sizeKey(s kv.KVStorage, digest string) []byte  { return kv.Key(s, "size", digest) }
func nameKey(s kv.KVStorage, name string) []byte    { return kv.Key(s, "name", name) }

// Tagged is a name with what it leads to.
type Tagged struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"` // of the image, in bytes
}

// Put stores an image under a name and returns where it leads. If the name led to
// another image, that one goes unless another name leads to it. An image that is
// there already is not written again.
func Put(ctx context.Context, s kv.KVStorage, name string, image []byte) (Tagged, error) {
	if err := checkName(name); err != nil {
		return Tagged{}, err
	}
	if err := kv.CheckValue(image, kv.MaxValueSize); err != nil {
		return Tagged{}, fmt.Errorf("harnesses: the image for %q: %w", name, err)
	}
	t := Tagged{name, Digest(image), int64(len(image))}
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		if err := putImage(ctx, tx, t.Digest, image); err != nil {
			return err
		}
		return point(ctx, tx, name, t.Digest)
	})
	if err != nil {
		return Tagged{}, fmt.Errorf("harnesses: %q: %w", name, err)
	}
	return t, nil
}

// putImage stores an image and its size, unless they are there. Damaged bytes
// under its digest are replaced.
func putImage(ctx context.Context, tx kv.KVStorage, digest string, image []byte) error {
	stored, err := tx.Get(ctx, kv.Harness, imageKey(tx, digest))
	switch {
	case err == nil && bytes.Equal(stored, image):
	case err == nil, errors.Is(err, kv.ErrNotFound), errors.Is(err, kv.ErrCorrupt):
		if err := tx.Put(ctx, kv.Harness, imageKey(tx, digest), image); err != nil {
			return err
		}
	default:
		return err
	}
	return tx.Put(ctx, kv.Harness, sizeKey(tx, digest), strconv.AppendInt(nil, int64(len(image)), 10))
}

// point makes a name lead to a digest, and drops what it led to before if nothing
// else does.
func point(ctx context.Context, tx kv.KVStorage, name, digest string) error {
	before, err := tx.Get(ctx, kv.Harness, nameKey(tx, name))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	if err := tx.Put(ctx, kv.Harness, nameKey(tx, name), []byte(digest)); err != nil {
		return err
	}
	if len(before) == 0 || string(before) == digest {
		return nil
	}
	return dropUnnamed(ctx, tx, string(before))
}

// dropUnnamed removes an image that no name leads to.
func dropUnnamed(ctx context.Context, tx kv.KVStorage, digest string) error {
	for t, err := range names(ctx, tx) {
		if err != nil {
			return err
		}
		if t.Digest == digest {
			return nil
		}
	}
	return dropImage(ctx, tx, digest)
}

func dropImage(ctx context.Context, tx kv.KVStorage, digest string) error {
	if _, err := tx.Delete(ctx, kv.Harness, sizeKey(tx, digest)); err != nil {
		return err
	}
	_, err := tx.Delete(ctx, kv.Harness, imageKey(tx, digest))
	return err
}

// Get returns the image that a name or a digest leads to, with that digest. It
// returns kv.ErrNotFound when there is none, and kv.ErrCorrupt when the bytes have
// another digest.
func Get(ctx context.Context, s kv.KVStorage, ref string) (image []byte, digest string, err error) {
	err = kv.View(ctx, s, func(tx kv.KVStorage) error {
		if digest, err = resolve(ctx, tx, ref); err != nil {
			return err
		}
		image, err = tx.Get(ctx, kv.Harness, imageKey(tx, digest))
		if errors.Is(err, kv.ErrNotFound) {
			return fmt.Errorf("harnesses: there is no image %s: %w", digest, kv.ErrNotFound)
		}
		if err == nil && Digest(image) != digest {
			err = fmt.Errorf("harnesses: the image %s has the digest %s; put it again: %w", digest, Digest(image), kv.ErrCorrupt)
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return image, digest, nil
}

// resolve returns the digest of a name, or a digest as it is.
func resolve(ctx context.Context, s kv.KVStorage, ref string) (string, error) {
	if isDigest(ref) {
		return ref, nil
	}
	if checkName(ref) != nil { // no image has it, and it may not fit a key
		return "", fmt.Errorf("harnesses: %.80q is neither a name nor a digest of 64 digits: %w", ref, kv.ErrNotFound)
	}
	digest, err := s.Get(ctx, kv.Harness, nameKey(s, ref))
	if errors.Is(err, kv.ErrNotFound) {
		return "", fmt.Errorf("harnesses: no image is named %q: %w", ref, kv.ErrNotFound)
	}
	if err == nil && !isDigest(string(digest)) {
		err = fmt.Errorf("harnesses: the name %q leads to %.80q: %w", ref, digest, kv.ErrCorrupt)
	}
	return string(digest), err
}

// List returns all names, sorted by their bytes. It reads no image.
func List(ctx context.Context, s kv.KVStorage) ([]Tagged, error) {
	var list []Tagged
	err := kv.View(ctx, s, func(tx kv.KVStorage) error {
		list = nil
		for t, err := range names(ctx, tx) {
			if err != nil {
				return err
			}
			if t.Size, err = sizeOf(ctx, tx, t.Digest); err != nil {
				return err
			}
			list = append(list, t)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Tagged) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// sizeOf returns the size of an image. In a store that was written without sizes
// it has to read the image.
func sizeOf(ctx context.Context, s kv.KVStorage, digest string) (int64, error) {
	text, err := s.Get(ctx, kv.Harness, sizeKey(s, digest))
	if errors.Is(err, kv.ErrNotFound) {
		image, err := s.Get(ctx, kv.Harness, imageKey(s, digest))
		return int64(len(image)), err
	}
	if err != nil {
		return 0, err
	}
	size, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || size < 0 {
		return 0, fmt.Errorf("harnesses: the size of %s is %.40q: %w", digest, text, kv.ErrCorrupt)
	}
	return size, nil
}
