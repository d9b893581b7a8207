package memory

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch"
)

// textIndex is the name of the index that holds a document for every entry.
const textIndex = "memory"

// textKey is the key of an entry's document. A kind holds no slash, so that the
// entries of one kind are a prefix of their own.
func textKey(e Entry) string { return e.Kind + "/" + e.Name }

// textOf is what an entry is found by. Its name and aliases stand there twice, by
// which a word of them counts twice as much as one of its tags or its content.
func textOf(e Entry) string {
	names := strings.Join(append([]string{e.Name}, e.Aliases...), "\n")
	return strings.Join([]string{names, names, strings.Join(e.Tags, "\n"), e.Content}, "\n")
}

// replace stores e in place of old, which is the zero Entry if there was none and
// may have had another name. The order matters to a store without atomic updates:
// what no longer leads here goes first, then comes the entry, then what leads to
// it, so that a crash leaves nothing that points at nothing.
func replace(ctx context.Context, tx kv.KVStorage, old, e Entry) error {
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		if err := free(ctx, tx, name, old.Name); err != nil {
			return err
		}
	}
	for _, a := range old.Aliases {
		if !slices.Contains(e.Aliases, a) {
			if err := unalias(ctx, tx, a, old.Name); err != nil {
				return err
			}
		}
	}
	if err := kv.Store(ctx, tx, kv.Memory, entryKey(tx, e.Name), e); err != nil {
		return err
	}
	if err := writeAliases(ctx, tx, e); err != nil {
		return err
	}
	if err := textsearch.Put(ctx, tx, textIndex, textKey(e), textOf(e), 1); err != nil {
		return err
	}
	if old.Name == "" || textKey(old) == textKey(e) {
		return nil
	}
	if _, err := textsearch.Drop(ctx, tx, textIndex, textKey(old)); err != nil || old.Name == e.Name {
		return err
	}
	_, err := tx.Delete(ctx, kv.Memory, entryKey(tx, old.Name))
	return err
}

// remove deletes an entry, after what leads to it.
func remove(ctx context.Context, tx kv.KVStorage, e Entry) error {
	if _, err := textsearch.Drop(ctx, tx, textIndex, textKey(e)); err != nil {
		return err
	}
	for _, a := range e.Aliases {
		if err := unalias(ctx, tx, a, e.Name); err != nil {
			return err
		}
	}
	_, err := tx.Delete(ctx, kv.Memory, entryKey(tx, e.Name))
	return err
}

// unalias removes an alias from the index, unless it leads elsewhere than to name.
func unalias(ctx context.Context, tx kv.KVStorage, alias, name string) error {
	key := aliasKey(tx, alias)
	to, err := tx.Get(ctx, kv.Memory, key)
	if errors.Is(err, kv.ErrNotFound) || err == nil && string(to) != name {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = tx.Delete(ctx, kv.Memory, key)
	return err
}

// Reindex makes what leads to the entries anew, from the entries alone: aliases
// and the text index. Where two entries have one alias, as a crash of a store
// without atomic updates can leave them, it leads to the first by name.
func Reindex(ctx context.Context, s kv.KVStorage) error {
	if err := kv.Update(ctx, s, func(tx kv.KVStorage) error { return realias(ctx, tx) }); err != nil {
		return err
	}
	return textsearch.RebuildFrom(ctx, s, textIndex, documents)
}

// Check compares aliases and the text index with the entries and returns all that
// is amiss, which Reindex puts right. It changes nothing.
func Check(ctx context.Context, s kv.KVStorage) ([]string, error) {
	aliases, err := kv.Differences(ctx, s, func(tx kv.KVStorage) error { return realias(ctx, tx) })
	if err != nil {
		return nil, err
	}
	faults, err := textsearch.CheckFrom(ctx, s, textIndex, documents)
	var all []string
	for _, d := range aliases {
		all = append(all, d.String())
	}
	for _, f := range faults {
		all = append(all, "text index: "+f)
	}
	return all, err
}

// Optimize makes the text index as small and as fast as it can be, and leaves nothing
// in it of what was removed.
func Optimize(ctx context.Context, s kv.KVStorage) error {
	return textsearch.Optimize(ctx, s, textIndex)
}

// documents returns what the text index has to hold.
func documents(ctx context.Context, s kv.KVStorage) ([]textsearch.Document, error) {
	list, err := List(ctx, s, Filter{})
	var docs []textsearch.Document
	for _, e := range list {
		docs = append(docs, textsearch.Document{Key: textKey(e), Text: textOf(e), Weight: 1})
	}
	return docs, err
}

// realias makes the aliases anew, whatever state they are in: it reads none of them.
func realias(ctx context.Context, tx kv.KVStorage) error {
	list, err := List(ctx, tx, Filter{})
	if err != nil {
		return err
	}
	for key, err := range tx.ScanKeys(ctx, kv.Memory, kv.Prefix(tx, "idx", "alias")) {
		if err == nil {
			_, err = tx.Delete(ctx, kv.Memory, key)
		}
		if err != nil {
			return err
		}
	}
	for _, e := range slices.Backward(list) {
		if err := writeAliases(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}

func writeAliases(ctx context.Context, tx kv.KVStorage, e Entry) error {
	for _, a := range e.Aliases {
		if err := tx.Put(ctx, kv.Memory, aliasKey(tx, a), []byte(e.Name)); err != nil {
			return err
		}
	}
	return nil
}
