package transcripts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// digest names parts by their content: 24 hex digits (96 bits) of SHA-256 over the parts, each
// behind its length, so that no two lists of parts run together.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		for i := range n {
			n[i] = byte(len(p) >> (8 * i))
		}
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// isUUID tells an id that no two writers choose from one like "u1".
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
		} else if !isHex(s[i]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// isServiceID tells ids that a service made, such as msg_01FAAiz1WL3YF9nyoP4beao6: a prefix, an
// underscore, and at least 16 letters and digits.
func isServiceID(s string) bool {
	_, rest, ok := strings.Cut(s, "_")
	if !ok || len(rest) < 16 {
		return false
	}
	for i := range len(rest) {
		c := rest[i]
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return true
}

func isGlobalID(s string) bool { return isUUID(s) || isServiceID(s) }

// scoped qualifies an id by its session unless it is unique by construction.
func scoped(session, id string) string {
	if isGlobalID(id) {
		return id
	}
	return session + "/" + id
}

// recent is a bounded map that forgets its oldest entries. What is asked of it is nearly always
// near: the parent of a message, the chain it belongs to.
type recent struct {
	limit  int
	values map[string]string
	order  []string
}

func newRecent(limit int) *recent { return &recent{limit: limit, values: map[string]string{}} }

func (r *recent) put(key, value string) {
	if key == "" {
		return
	}
	if _, known := r.values[key]; !known {
		if len(r.order) >= 2*r.limit {
			for _, k := range r.order[:r.limit] {
				delete(r.values, k)
			}
			r.order = append(r.order[:0], r.order[r.limit:]...)
		}
		r.order = append(r.order, key)
	}
	r.values[key] = value
}

func (r *recent) get(key string) (string, bool) {
	v, ok := r.values[key]
	return v, ok
}

// tail is how many entries survive between runs: enough for what a file's end can refer to,
// little enough to be written with every batch.
const tail = 16

// MarshalJSON keeps the last entries, as pairs in their order.
func (r *recent) MarshalJSON() ([]byte, error) {
	pairs := [][2]string{}
	for _, k := range r.order[max(0, len(r.order)-tail):] {
		pairs = append(pairs, [2]string{k, r.values[k]})
	}
	return json.Marshal(pairs)
}

// UnmarshalJSON adds the entries.
func (r *recent) UnmarshalJSON(b []byte) error {
	var pairs [][2]string
	if err := json.Unmarshal(b, &pairs); err != nil {
		return err
	}
	for _, p := range pairs {
		r.put(p[0], p[1])
	}
	return nil
}
