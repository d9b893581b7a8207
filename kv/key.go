package kv

import (
	"bytes"
	"fmt"
	"strings"
)

// Key returns the key {realm}/{part}/{part}… in the realm of s.
//
// A part may hold anything: a slash, a percent sign and control bytes inside one
// are percent-escaped, as two upper-case hexadecimal digits. So a memory named
// a/b is one entry, no name can reach into another's prefix, and different parts
// make different keys. A key over MaxKeySize is refused by the store.
func Key(s KVStorage, parts ...string) []byte {
	return appendKey(make([]byte, 0, keySize(s, parts)), RealmOf(s), parts)
}

// Prefix returns the prefix of all keys that have the given parts and more:
// Key(s, parts...) and a slash. A scan of it yields neither the key of the parts
// themselves nor that of a part that only begins like the last one.
func Prefix(s KVStorage, parts ...string) []byte {
	return append(Key(s, parts...), '/')
}

// Join returns {part}/{part}… escaped as in a Key, without a realm: a composite
// name that can be taken apart by SplitParts. Of two names that have a different
// first part the order is that of these parts if they are of one width, as times
// and ids are; a part that is the beginning of another may sort behind it.
func Join(parts ...string) string {
	var b []byte
	for i, p := range parts {
		if i > 0 {
			b = append(b, '/')
		}
		b = AppendPart(b, p)
	}
	return string(b)
}

// Split is the inverse of Key. It returns ErrMalformedKey for bytes that Key
// does not make.
func Split(key []byte) (realm string, parts []string, err error) {
	all, err := SplitParts(string(key))
	if err != nil {
		return "", nil, err
	}
	return all[0], all[1:], nil
}

// SplitParts is the inverse of Join. It returns ErrMalformedKey for a string
// that Join does not make.
func SplitParts(joined string) ([]string, error) {
	parts := strings.Split(joined, "/")
	for i, p := range parts {
		u, ok := unescape(p)
		if !ok {
			return nil, fmt.Errorf("%w: %.80q", ErrMalformedKey, joined)
		}
		parts[i] = u
	}
	return parts, nil
}

func keySize(s KVStorage, parts []string) int {
	n := len(RealmOf(s)) + 8 // room for a slash and for a few escapes
	for _, p := range parts {
		n += len(p) + 1
	}
	return n
}

func appendKey(b []byte, realm string, parts []string) []byte {
	b = AppendPart(b, realm)
	for _, p := range parts {
		b = append(b, '/')
		b = AppendPart(b, p)
	}
	return b
}

const upperHex = "0123456789ABCDEF"

func escaped(c byte) bool { return c == '/' || c == '%' || c < 0x20 || c == 0x7f }

// AppendPart appends one part of a key to b, escaped as Key does it. With it a
// caller that makes many keys below one Prefix builds each by a single append.
func AppendPart(b []byte, part string) []byte {
	for i := 0; i < len(part); i++ {
		if c := part[i]; escaped(c) {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return b
}

// unescape undoes AppendPart, and refuses every form but the one it makes.
func unescape(p string) (string, bool) {
	if strings.IndexFunc(p, func(r rune) bool { return r < 0x80 && escaped(byte(r)) }) < 0 {
		return p, true
	}
	b := make([]byte, 0, len(p))
	for i := 0; i < len(p); i++ {
		c := p[i]
		if c != '%' {
			if escaped(c) {
				return "", false
			}
			b = append(b, c)
			continue
		}
		if i+2 >= len(p) {
			return "", false
		}
		hi, lo := strings.IndexByte(upperHex, p[i+1]), strings.IndexByte(upperHex, p[i+2])
		if hi < 0 || lo < 0 || !escaped(byte(hi<<4|lo)) {
			return "", false
		}
		b = append(b, byte(hi<<4|lo))
		i += 2
	}
	return string(b), true
}

// PrefixEnd returns the first key behind all that begin with prefix, or nil when
// there is none: the empty prefix, and one of 0xFF bytes alone, have no end.
// Adapters over ordered engines use it as an exclusive upper bound.
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xFF {
			end := bytes.Clone(prefix[:i+1])
			end[i]++
			return end
		}
	}
	return nil
}
