package crabdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"

	"github.com/anishathalye/porcupine"
)

// A concurrent history is what some clients asked of a store, when, and what they
// were answered. It is linearizable when each call can be given a moment between its
// beginning and its end so that the answers are those of a store that does one call
// at a time. Porcupine looks for such moments.

// slate is what the few keys of a history hold: numbers, each of which is put once,
// and 0 for no value.
type slate [6]int64

// action is one thing done with a key or, in a scan or count, with all.
type action struct {
	verb  string
	key   int
	value int64 // of a put
}

// call is what a client asks for: actions that are done at one moment.
type call struct {
	how     string
	actions []action
}

// The ways to call.
const (
	alone      = "alone" // one action, not in a transaction
	update     = "update"
	rolledBack = "update rolled back"
	view       = "view"
	copying    = "backup"
	renewing   = "refresh"
)

// answer is what an action gave: a value, a number of keys, 1 or 0 for a key that was
// there or not, or everything.
type answer struct {
	number int64
	all    slate
}

// after returns what an action makes of a slate, and whether the answer is right.
func (s slate) after(a action, got answer) (slate, bool) {
	before := s
	switch a.verb {
	case "get":
		return s, got == answer{number: s[a.key]}
	case "has":
		return s, got == answer{number: min(s[a.key], 1)}
	case "put":
		s[a.key] = a.value
		return s, got == answer{}
	case "delete":
		s[a.key] = 0
		return s, got == answer{number: min(before[a.key], 1)}
	case "scan", "scan back":
		return s, got == answer{all: s}
	case "count":
		for _, n := range s {
			got.number -= min(n, 1)
		}
		return s, got == answer{}
	}
	panic(a.verb)
}

// afterCall returns what a call makes of a slate, and whether its answers are right.
func (s slate) afterCall(c call, got []answer) (slate, bool) {
	before := s
	for i, a := range c.actions {
		var ok bool
		if s, ok = s.after(a, got[i]); !ok {
			return before, false
		}
	}
	if c.how == rolledBack {
		return before, true
	}
	return s, true
}

// oneStore is a store that does one call at a time.
var oneStore = porcupine.Model{
	Init: func() any { return slate{} },
	Step: func(state, input, output any) (bool, any) {
		s, ok := state.(slate).afterCall(input.(call), output.([]answer))
		return ok, s
	},
}

// byKey is a store of which each key can be looked at by itself, since no call is of
// two.
var byKey = func() porcupine.Model {
	m := oneStore
	m.Partition = func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, len(slate{}))
		for _, o := range history {
			key := o.Input.(call).actions[0].key
			parts[key] = append(parts[key], o)
		}
		return parts
	}
	return m
}()

// longNumber is how often a value is so long that the index does not have its size.
const longNumber = 61

// padded returns the value that stands for a number.
func padded(n int64) []byte {
	length := n % 97
	if n%longNumber == 0 {
		length = unknownSize
	}
	return append(numbered(n), bytes.Repeat([]byte{byte(n)}, int(length))...)
}

func unpadded(b []byte) (int64, error) {
	n := number(b)
	if n <= 0 || !bytes.Equal(b, padded(n)) {
		return 0, fmt.Errorf("a value that nobody put: %.80q", b)
	}
	return n, nil
}

// place is where an action is done: a transaction, or a store.
type place interface {
	Get(col byte, key []byte) ([]byte, error)
	Put(col byte, key, value []byte) error
	Delete(col byte, key []byte) (existed bool, err error)
	Scan(ctx context.Context, col byte, r Range) iter.Seq2[Entry, error]
}

// direct is a store as a place.
type direct struct{ *DB }

func (d direct) Get(col byte, key []byte) ([]byte, error)  { return d.DB.Get(ctx, col, key) }
func (d direct) Put(col byte, key, value []byte) error     { return d.DB.Put(ctx, col, key, value) }
func (d direct) Delete(col byte, key []byte) (bool, error) { return d.DB.Delete(ctx, col, key) }

// on does an action.
func (a action) on(p place) (answer, error) {
	key := []byte{'k', byte('0' + a.key)}
	switch a.verb {
	case "get":
		return getNumber(p, key)
	case "has":
		there, err := p.(direct).Has(ctx, 1, key)
		return oneIf(there), err
	case "put":
		return answer{}, p.Put(1, key, padded(a.value))
	case "delete":
		existed, err := p.Delete(1, key)
		return oneIf(existed), err
	case "count":
		st, err := p.(direct).Stats(ctx)
		return answer{number: st.Keys}, err
	}
	all, err := scanSlate(p, a.verb == "scan back")
	return answer{all: all}, err
}

func oneIf(b bool) answer {
	if b {
		return answer{number: 1}
	}
	return answer{}
}

func getNumber(p place, key []byte) (answer, error) {
	v, err := p.Get(1, key)
	if errors.Is(err, ErrNotFound) {
		return answer{}, nil
	}
	if err != nil {
		return answer{}, err
	}
	n, err := unpadded(v)
	return answer{number: n}, err
}

// scanSlate reads all, and lets others go on at every entry.
func scanSlate(p place, back bool) (all slate, err error) {
	for e, err := range p.Scan(ctx, 1, Range{Reverse: back}) {
		if err != nil {
			return all, err
		}
		n, err := unpadded(e.Value)
		if err != nil {
			return all, err
		}
		all[e.Key[1]-'0'] = n
		runtime.Gosched()
	}
	return all, nil
}

// do makes a call.
func (c call) do(db *DB) (got []answer, err error) {
	all := func(p place) error {
		for _, a := range c.actions {
			one, err := a.on(p)
			got = append(got, one)
			if err != nil {
				return fmt.Errorf("%s %d: %w", a.verb, a.key, err)
			}
			runtime.Gosched()
		}
		if c.how == rolledBack {
			return errBack
		}
		return nil
	}
	switch c.how {
	case alone:
		err = all(direct{db})
	case view:
		err = db.View(ctx, func(tx *Tx) error { return all(tx) })
	default:
		err = db.Update(ctx, func(tx *Tx) error { return all(tx) })
	}
	if c.how == rolledBack && errors.Is(err, errBack) {
		err = nil
	}
	return got, err
}
