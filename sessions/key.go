package sessions

import (
	"fmt"
	"strconv"

	"github.com/crabstore/crabstore/kv"
)

// The keys, in the order of the table in the design:
//
//	session/{handle}/meta
//	session/{handle}/archive
//	session/{handle}/msg/{idx:012}
//	session/{handle}/evt/{seq:012}
//	session/{handle}/state
//	idx/sess/{agent}/{by}/{created_at}/{handle}

func metaKey(s kv.KVStorage, handle string) []byte { return kv.Key(s, "session", handle, "meta") }

func archiveKey(s kv.KVStorage, handle string) []byte {
	return kv.Key(s, "session", handle, "archive")
}

func stateKey(s kv.KVStorage, handle string) []byte { return kv.Key(s, "session", handle, "state") }

func messagePrefix(s kv.KVStorage, handle string) []byte {
	return kv.Prefix(s, "session", handle, "msg")
}

func eventPrefix(s kv.KVStorage, handle string) []byte {
	return kv.Prefix(s, "session", handle, "evt")
}

func listKey(s kv.KVStorage, m *Meta) []byte {
	return kv.Key(s, "idx", "sess", m.Agent, m.CreatedBy, kv.FormatTime(m.CreatedAt), m.Handle)
}

// numberWidth is that of an index or a sequence in a key.
const numberWidth = 12

// numbered returns prefix with n behind it, of fixed width so that keys sort as
// numbers do. It shares nothing with prefix.
func numbered(prefix []byte, n int) []byte {
	key := make([]byte, len(prefix)+numberWidth)
	for i := copy(key, prefix) + numberWidth - 1; i >= len(prefix); i-- {
		key[i] = byte('0' + n%10)
		n /= 10
	}
	return key
}

// number is the inverse of numbered.
func number(prefix, key []byte) (int, error) {
	digits := string(key[len(prefix):])
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || len(digits) != numberWidth {
		return 0, fmt.Errorf("%w: session %q does not end in %d digits", kv.ErrMalformedKey, key, numberWidth)
	}
	return int(n), nil
}
