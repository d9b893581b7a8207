package textsearch

import (
	"bytes"
	"fmt"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch/internal/analysis"
)

// layout builds and takes apart the keys of one index.
type layout struct {
	doc, term, stem []byte // prefixes, with their slash
	stats           []byte
}

func newLayout(s kv.KVStorage, ix string) layout {
	root := kv.Prefix(s, "idx", "text", ix)
	under := func(part string) []byte { return append(bytes.Clone(root), part...) }
	return layout{under("doc/"), under("term/"), under("stem/"), under("stats")}
}

// checkKey returns ErrKey unless every posting of a document called key has room
// in a key of the store, whatever its term.
func (l *layout) checkKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: it is empty", ErrKey)
	}
	// A term holds no control characters; / and % take three bytes escaped.
	room := kv.MaxKeySize - len(l.term) - 3*analysis.MaxTerm - len("/")
	if n := len(kv.AppendPart(nil, key)); n > room {
		return fmt.Errorf("%w: %d bytes escaped, this index has room for %d: %.40q…", ErrKey, n, room, key)
	}
	return nil
}

// appendDoc appends the key of a document's record.
func (l *layout) appendDoc(b []byte, key string) []byte {
	return kv.AppendPart(append(b, l.doc...), key)
}

// appendList appends the prefix of a term's postings.
func (l *layout) appendList(b []byte, term string) []byte {
	return append(l.appendBeginning(b, term), '/')
}

// appendBeginning appends the prefix of the postings of all terms that begin so.
func (l *layout) appendBeginning(b []byte, prefix string) []byte {
	return kv.AppendPart(append(b, l.term...), prefix)
}

// appendStem appends the key that says that term is in use and has that stem.
func (l *layout) appendStem(b []byte, stem, term string) []byte {
	return kv.AppendPart(l.appendFamily(b, stem), term)
}

// appendFamily appends the prefix of the terms that have that stem.
func (l *layout) appendFamily(b []byte, stem string) []byte {
	return append(kv.AppendPart(append(b, l.stem...), stem), '/')
}

// part returns what stands in key behind prefix, unescaped.
func part(key, prefix []byte) (string, error) {
	parts, err := kv.SplitParts(string(key[len(prefix):]))
	if err != nil || len(parts) != 1 {
		return "", fmt.Errorf("%w: key %q", ErrCorrupt, key)
	}
	return parts[0], nil
}

// cutPosting takes the key of a posting apart, into parts that are escaped still.
func (l *layout) cutPosting(storeKey []byte) (term, key []byte, err error) {
	term, key, ok := bytes.Cut(storeKey[len(l.term):], []byte{'/'})
	if !ok || len(term) == 0 || len(key) == 0 {
		return nil, nil, fmt.Errorf("%w: key %q", ErrCorrupt, storeKey)
	}
	return term, key, nil
}
