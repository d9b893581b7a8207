package harnesses

import (
	"context"
	"errors"
	"fmt"

	"github.com/crabstore/crabstore/kv"
)

// Check reads every image and returns a sentence for everything that is amiss: a
// name that leads to no image, an image that has not its digest or its size, or to
// which no name leads (see Prune). It changes nothing.
func Check(ctx context.Context, s kv.KVStorage) ([]string, error) {
	var faults []string
	err := kv.View(ctx, s, func(tx kv.KVStorage) error {
		faults = nil
		named := map[string]bool{}
		for t, err := range names(ctx, tx) {
			if err != nil {
				return err
			}
			named[t.Digest] = true
			if there, err := hasImage(ctx, tx, t.Digest); err != nil {
				return err
			} else if !there {
				faults = append(faults, fmt.Sprintf("the name %q leads to %s, which is not there", t.Name, t.Digest))
			}
		}
		for e, err := range tx.Scan(ctx, kv.Harness, kv.Prefix(tx, "image")) {
			if err != nil {
				return err
			}
			found, err := checkImage(ctx, tx, e, named)
			if err != nil {
				return err
			}
			faults = append(faults, found...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return faults, nil
}

// checkImage returns what is amiss with a stored image.
func checkImage(ctx context.Context, s kv.KVStorage, e kv.Entry, named map[string]bool) ([]string, error) {
	digest, err := lastPart(e.Key)
	if err != nil {
		return nil, err
	}
	var faults []string
	if is := Digest(e.Value); is != digest {
		faults = append(faults, fmt.Sprintf("the image %s has the digest %s; put it again", digest, is))
	}
	if !named[digest] {
		faults = append(faults, fmt.Sprintf("no name leads to the image %s; prune it", digest))
	}
	switch size, err := sizeOf(ctx, s, digest); {
	case errors.Is(err, kv.ErrCorrupt):
		faults = append(faults, err.Error())
	case err != nil:
		return nil, err
	case size != int64(len(e.Value)):
		faults = append(faults, fmt.Sprintf("the image %s has %d bytes and is said to have %d", digest, len(e.Value), size))
	}
	return faults, nil
}
