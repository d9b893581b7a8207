package harnesses

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/crabstore/crabstore/kv"
)

// names yields every name with its digest, in the order of the keys.
func names(ctx context.Context, s kv.KVStorage) iter.Seq2[Tagged, error] {
	return func(yield func(Tagged, error) bool) {
		for e, err := range s.Scan(ctx, kv.Harness, kv.Prefix(s, "name")) {
			if err != nil {
				yield(Tagged{}, err)
				return
			}
			name, err := lastPart(e.Key)
			if !yield(Tagged{Name: name, Digest: string(e.Value)}, err) || err != nil {
				return
			}
		}
	}
}

// lastPart returns the name or digest in a key of two parts.
func lastPart(key []byte) (string, error) {
	_, parts, err := kv.Split(key)
	if err == nil && len(parts) != 2 {
		err = kv.ErrMalformedKey
	}
	if err != nil {
		return "", fmt.Errorf("harnesses: %q: %w", key, err)
	}
	return parts[1], nil
}

// Tag makes a name lead to the image that ref, a name or a digest, leads to. If
// the name led to another image, that one goes unless another name leads to it.
func Tag(ctx context.Context, s kv.KVStorage, name, ref string) (Tagged, error) {
	if err := checkName(name); err != nil {
		return Tagged{}, err
	}
	t := Tagged{Name: name}
	err := kv.Update(ctx, s, func(tx kv.KVStorage) (err error) {
		if t.Digest, err = resolve(ctx, tx, ref); err != nil {
			return err
		}
		if t.Size, err = sizeOf(ctx, tx, t.Digest); errors.Is(err, kv.ErrNotFound) {
			return fmt.Errorf("harnesses: there is no image %s: %w", t.Digest, kv.ErrNotFound)
		} else if err != nil {
			return err
		}
		return point(ctx, tx, name, t.Digest)
	})
	if err != nil {
		return Tagged{}, err
	}
	return t, nil
}

// Untag removes a name, and the image with it if no other name leads there. It
// returns kv.ErrNotFound when there is no such name.
func Untag(ctx context.Context, s kv.KVStorage, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		digest, err := resolve(ctx, tx, name)
		if err != nil {
			return err
		}
		if _, err := tx.Delete(ctx, kv.Harness, nameKey(tx, name)); err != nil {
			return err
		}
		return dropUnnamed(ctx, tx, digest)
	})
}

// Remove removes the image that a name or a digest leads to, and every name of it.
// It returns kv.ErrNotFound when there is none.
func Remove(ctx context.Context, s kv.KVStorage, ref string) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		digest, err := resolve(ctx, tx, ref)
		if err != nil {
			return err
		}
		if there, err := hasImage(ctx, tx, digest); err != nil {
			return err
		} else if !there {
			return fmt.Errorf("harnesses: there is no image %s: %w", digest, kv.ErrNotFound)
		}
		for t, err := range names(ctx, tx) {
			if err != nil {
				return err
			}
			if t.Digest != digest {
				continue
			}
			if _, err := tx.Delete(ctx, kv.Harness, nameKey(tx, t.Name)); err != nil {
				return err
			}
		}
		return dropImage(ctx, tx, digest)
	})
}

// hasImage tells whether there is an image, without reading it.
func hasImage(ctx context.Context, s kv.KVStorage, digest string) (bool, error) {
	for _, err := range s.ScanKeys(ctx, kv.Harness, imageKey(s, digest)) {
		return err == nil, err
	}
	return false, nil
}

// Prune removes the images that no name leads to and returns their digests, in
// order. There are none but after a crash of a store without atomic updates.
func Prune(ctx context.Context, s kv.KVStorage) ([]string, error) {
	var pruned []string
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		pruned = nil
		named := map[string]bool{}
		for t, err := range names(ctx, tx) {
			if err != nil {
				return err
			}
			named[t.Digest] = true
		}
		for key, err := range tx.ScanKeys(ctx, kv.Harness, kv.Prefix(tx, "image")) {
			if err != nil {
				return err
			}
			digest, err := lastPart(key)
			if err != nil {
				return err
			}
			if named[digest] {
				continue
			}
			if err := dropImage(ctx, tx, digest); err != nil {
				return err
			}
			pruned = append(pruned, digest)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return pruned, nil
}
