package crabdb

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A story is what is asked of a store, one deed after the other. It is data: every
// part of it is a story too, and it is told again to stores that differ in their
// options alone, which all have to answer the same.
type story []deed

// deed is one step of a story.
type deed struct {
	verb       string
	col        byte
	key, value string
	r          Range  // of a scan
	inner      []deed // of a transaction
}

func (d deed) String() string {
	switch d.verb {
	case "put":
		return fmt.Sprintf("put %d %s = %s", d.col, short(d.key), short(d.value))
	case "delete", "get", "has":
		return fmt.Sprintf("%s %d %s", d.verb, d.col, short(d.key))
	case "scan":
		return fmt.Sprintf("scan %d prefix %s after %s reverse %v keys only %v", d.col, short(d.r.Prefix), short(d.r.After), d.r.Reverse, d.r.KeysOnly)
	case "update", "roll back", "view":
		return fmt.Sprint(d.verb, " ", d.inner)
	}
	return d.verb
}

func (s story) String() string {
	var b strings.Builder
	for i, d := range s {
		fmt.Fprintf(&b, "%3d %v\n", i, d)
	}
	return b.String()
}

// short writes bytes for people; different ones differ in it.
func short[T string | []byte](b T) string {
	if len(b) <= 40 {
		return fmt.Sprintf("%q", string(b))
	}
	return fmt.Sprintf("%.10q…(%d bytes, %08x)", string(b), len(b), crc32.ChecksumIEEE([]byte(b)))
}

// kind names the error that an error wraps.
func kind(err error) string {
	for _, known := range []error{ErrNotFound, ErrClosed, ErrReadOnly, ErrKeyTooLarge, errBack} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return fmt.Sprint(err)
}

// teller makes up stories.
type teller struct{ *rand.Rand }

// weights say how often a deed is done.
var weights = []struct {
	verb   string
	weight int
}{
	{"put", 30}, {"delete", 12}, {"get", 10}, {"has", 4}, {"scan", 10}, {"count", 3},
	{"update", 10}, {"roll back", 3}, {"view", 4},
	{"checkpoint", 4}, {"compact", 3}, {"compact if due", 2}, {"sync", 2}, {"backup", 2}, {"refresh", 4},
	{"reopen", 3}, {"kill", 3}, {"restore", 2},
}

// newStory returns the story of a run.
func newStory(seed, run uint64) story {
	return teller{rand.New(rand.NewPCG(seed, run))}.story(100)
}

func (r teller) story(n int) (s story) {
	var verbs []string
	for _, w := range weights {
		verbs = append(verbs, slices.Repeat([]string{w.verb}, w.weight)...)
	}
	for range n {
		s = append(s, r.deed(pick(r, verbs)))
	}
	return s
}

func pick[T any](r teller, from []T) T { return from[r.IntN(len(from))] }

func (r teller) deed(verb string) deed {
	d := deed{verb: verb, col: pick(r, []byte{0, 1, 1, 1, 1, 2, 255})}
	d.key = r.key(d.col)
	switch verb {
	case "put":
		d.value = r.value()
	case "scan":
		d.r = Range{Reverse: r.IntN(2) == 0, KeysOnly: r.IntN(4) == 0}
		if r.IntN(2) == 0 {
			d.r.Prefix = []byte(pick(r, someKeys))
		}
		if r.IntN(2) == 0 {
			d.r.After = []byte(r.key(d.col))
		}
	case "update", "roll back", "view":
		for range 1 + r.IntN(6) {
			d.inner = append(d.inner, r.deed(pick(r, []string{"put", "put", "delete", "get", "scan"})))
		}
	}
	return d
}

var someKeys = []string{"", "\x00", "a", "a\x00", "aa", "ab", "a\xFF", "b", "\xFF", "\xFF\xFF", strings.Repeat("k", 300), strings.Repeat("k", keyBuffer+1)}

// key returns one of a few keys, rarely one that is too large. In column 0, where a
// plain file cannot hold every key, it begins with a letter.
func (r teller) key(col byte) string {
	key := pick(r, someKeys)
	if r.IntN(100) == 0 {
		key = strings.Repeat("K", MaxKey+1)
	}
	if col == 0 {
		key = "k" + key
	}
	return key
}

// value returns a value of mostly some bytes, rarely of so many that the index does
// not have the length of its record.
func (r teller) value() string {
	length := r.IntN(60)
	if r.IntN(25) == 0 {
		length = unknownSize - 400 + r.IntN(500)
	}
	return strings.Repeat(string(rune('a'+r.IntN(26))), length)
}

// imagined tells what a store has to answer. The keeping of it, with files and all,
// changes nothing.
func (c content) imagined(d deed) string {
	switch d.verb {
	case "put":
		if len(d.key) > MaxKey {
			return kind(ErrKeyTooLarge)
		}
		c[id{d.col, d.key}] = d.value
		return kind(nil)
	case "delete":
		_, existed := c[id{d.col, d.key}]
		delete(c, id{d.col, d.key})
		return fmt.Sprint(existed, " ", kind(nil))
	case "get":
		if v, ok := c[id{d.col, d.key}]; ok {
			return short(v)
		}
		return kind(ErrNotFound)
	case "has":
		_, ok := c[id{d.col, d.key}]
		return fmt.Sprint(ok, " ", kind(nil))
	case "scan":
		return c.imaginedScan(d)
	case "count":
		return fmt.Sprint(len(c), " keys")
	case "update", "roll back", "view":
		return c.imaginedTx(d)
	case "backup", "refresh", "restore":
		return c.imaginedAll()
	}
	return kind(nil)
}

func (c content) imaginedTx(d deed) string {
	inside := maps.Clone(c)
	var answers []string
	for _, one := range d.inner {
		if d.verb == "view" {
			answers = append(answers, c.imaginedInView(one))
		} else {
			answers = append(answers, inside.imagined(one))
		}
	}
	switch d.verb {
	case "roll back":
		return fmt.Sprint(answers, " ", kind(errBack))
	case "update":
		clear(c)
		maps.Copy(c, inside)
	}
	return fmt.Sprint(answers, " ", kind(nil))
}

// imaginedInView is of a deed in a transaction that cannot write.
func (c content) imaginedInView(d deed) string {
	switch {
	case d.verb == "put" && len(d.key) <= MaxKey:
		return kind(ErrReadOnly)
	case d.verb == "delete":
		return fmt.Sprint(false, " ", kind(ErrReadOnly))
	}
	return c.imagined(d)
}

func (c content) imaginedScan(d deed) string {
	var found []string
	for k := range c {
		behind := d.r.After == nil || k.key > string(d.r.After)
		if d.r.Reverse {
			behind = d.r.After == nil || k.key < string(d.r.After)
		}
		if k.col == d.col && strings.HasPrefix(k.key, string(d.r.Prefix)) && behind {
			found = append(found, k.key)
		}
	}
	slices.Sort(found)
	if d.r.Reverse {
		slices.Reverse(found)
	}
	for i, key := range found {
		found[i] = short(key)
		if !d.r.KeysOnly {
			found[i] += "=" + short(c[id{d.col, key}])
		}
	}
	return strings.Join(found, " ")
}

// allColumns are scans of everything that a story puts.
var allColumns = []deed{{verb: "scan"}, {verb: "scan", col: 1}, {verb: "scan", col: 2}, {verb: "scan", col: 255}}

func (c content) imaginedAll() string {
	var all []string
	for _, d := range allColumns {
		all = append(all, c.imagined(d))
	}
	return strings.Join(all, "\n")
}
