package kvtest

import (
	"errors"
	"io"
	"slices"

	"pgregory.net/rapid"

	"github.com/crabstore/crabstore/kv"
)

func historyPromises() []promise {
	return []promise{{name: "RandomHistoriesEqualAModel", test: randomHistories}}
}

// randomHistories does what callers do, at random, to a store and to a model of
// it, and compares all that is read. A failure is shrunk to its shortest form and
// printed with its seed. The flags of rapid say how many histories there are:
// -rapid.checks and -rapid.steps.
func randomHistories(f *fixture) {
	rapid.Check(f.tb, func(t *rapid.T) {
		g := *f
		g.TB = t
		h := &history{T: t, f: &g, model: newModel()}
		g.store = f.Open(f.tb)
		t.Cleanup(h.end)
		t.Repeat(h.actions())
		for _, c := range everyColumn() {
			h.f.wantRange(c, h.model.entries(c), kv.Range{})
		}
	})
}

// history is one run: the store and what it should hold.
type history struct {
	*rapid.T
	f     *fixture
	model model
	known []string // the keys that were written, present or not
	held  []*heldScan
}

func (h *history) end() {
	h.stopHeld()
	if c, ok := kv.As[io.Closer](h.f.store); ok {
		c.Close()
	}
}

func (h *history) stopHeld() {
	for _, scan := range h.held {
		scan.stop()
	}
	h.held = nil
}

func (h *history) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"write":   func(*rapid.T) { h.write(h.f, h.model) },
		"read":    func(*rapid.T) { h.read(h.f, h.model) },
		"update":  func(*rapid.T) { h.update() },
		"hold":    func(*rapid.T) { h.hold() },
		"advance": func(*rapid.T) { h.advance() },
	}
	if h.f.isolated() {
		actions["view"] = func(*rapid.T) { h.view() }
	}
	if h.f.Reopen != nil {
		actions["reopen"] = func(*rapid.T) { h.reopen() }
	}
	return actions
}

// key returns one of the known keys more often than not, or a new one. Those are
// short and of few bytes, so that they are often each other's prefixes.
func (h *history) key() string {
	if len(h.known) > 0 && !h.chance(3) {
		return rapid.SampledFrom(h.known).Draw(h.T, "known")
	}
	if h.chance(50) {
		n := rapid.IntRange(kv.MaxKeySize-1, kv.MaxKeySize).Draw(h.T, "length")
		return string(repeat(0xFF, n))
	}
	return h.bytes("key", 1)
}

func (h *history) bytes(label string, least int) string {
	some := rapid.SampledFrom([]byte{'a', 'b', '/', 0x00, 0xFF, '%', '_', 'A'})
	return string(rapid.SliceOfN(some, least, 3).Draw(h.T, label))
}

// chance is true once in so many times.
func (h *history) chance(in int) bool { return rapid.IntRange(1, in).Draw(h.T, "chance") == in }

func (h *history) column() kv.Column {
	return rapid.SampledFrom([]kv.Column{kv.Agent, kv.Memory, 255}).Draw(h.T, "column")
}

func (h *history) value() string {
	if h.chance(20) {
		return string(repeat('v', rapid.IntRange(0, 20_000).Draw(h.T, "size")))
	}
	return h.bytes("value", 0)
}

// write puts or deletes a key of a store, or transaction, and of its model.
func (h *history) write(f *fixture, m model) {
	c, key := h.column(), h.key()
	if !slices.Contains(h.known, key) {
		h.known = append(h.known, key)
	}
	if h.chance(3) {
		_, want := m[c][key]
		existed, err := f.store.Delete(f.ctx, c, []byte(key))
		if err != nil || existed != want {
			h.Fatalf("Delete %s %.40q: %v, %v; want %v", c, key, existed, err, want)
		}
		delete(m[c], key)
		return
	}
	value := h.value()
	f.must(f.store.Put(f.ctx, c, []byte(key), []byte(value)), "Put %s %.40q", c, key)
	m[c][key] = value
}

// read compares one key or one scan of a store, or transaction, with the model.
func (h *history) read(f *fixture, m model) {
	c := h.column()
	all := m.entries(c)
	switch rapid.IntRange(0, 3).Draw(h.T, "kind") {
	case 0:
		key := h.key()
		want, present := m[c][key]
		got, err := f.store.Get(f.ctx, c, []byte(key))
		if present != (err == nil) || !present && !errors.Is(err, kv.ErrNotFound) || string(got) != want {
			h.Fatalf("Get %s %.40q: %.40q, %v; want %.40q, present: %v", c, key, got, err, want, present)
		}
	case 1:
		prefix := h.bytes("prefix", 0)
		want := brute(all, kv.Range{Prefix: []byte(prefix)})
		got := f.collect(f.store.Scan(f.ctx, c, []byte(prefix)))
		h.same(got, want, "Scan", c, prefix)
	case 2:
		prefix := h.bytes("prefix", 0)
		want := brute(all, kv.Range{Prefix: []byte(prefix), KeysOnly: true})
		var got []entry
		for _, key := range f.collectKeys(f.store.ScanKeys(f.ctx, c, []byte(prefix))) {
			got = append(got, entry{key, ""})
		}
		h.same(got, want, "ScanKeys", c, prefix)
	default:
		f.wantRange(c, all, h.ranged())
	}
}

func (h *history) ranged() kv.Range {
	r := kv.Range{
		Prefix:   []byte(h.bytes("prefix", 0)),
		Reverse:  rapid.Bool().Draw(h.T, "reverse"),
		KeysOnly: rapid.Bool().Draw(h.T, "keys only"),
	}
	if rapid.Bool().Draw(h.T, "after") {
		r.After = []byte(h.bytes("after", 0))
	}
	return r
}

// update does some of everything in a transaction, and commits or does not.
func (h *history) update() {
	after := h.model.clone()
	outcome := rapid.SampledFrom([]string{"commit", "error", "panic"}).Draw(h.T, "outcome")
	var err error
	got := recoveredPanic(outcome, func() {
		err = kv.Update(h.f.ctx, h.f.store, func(tx kv.KVStorage) error {
			h.steps(h.f.on(tx), after)
			switch outcome {
			case "error":
				return errRollBack
			case "panic":
				panic(outcome)
			}
			return nil
		})
	})
	switch {
	case outcome == "commit" && err == nil:
		h.model = after
	case outcome == "error" && errors.Is(err, errRollBack), got == "panic":
	default:
		h.Fatalf("Update that was to end with %s: %v", outcome, err)
	}
}

// recoveredPanic returns the panic that was meant, and lets others pass.
func recoveredPanic(meant string, fn func()) (got any) {
	defer func() {
		if got = recover(); got != nil && got != meant {
			panic(got)
		}
	}()
	fn()
	return nil
}

func (h *history) steps(tx *fixture, m model) {
	for range rapid.IntRange(0, 8).Draw(h.T, "steps") {
		switch rapid.IntRange(0, 4).Draw(h.T, "step") {
		case 0, 1:
			h.write(tx, m)
		case 2:
			tx.update(func(inner *fixture) { h.write(inner, m) })
		default:
			h.read(tx, m)
		}
	}
}

// view reads a frozen store while the store itself is written.
func (h *history) view() {
	frozen := h.model.clone()
	h.f.view(func(tx *fixture) {
		for range rapid.IntRange(1, 6).Draw(h.T, "steps") {
			if rapid.Bool().Draw(h.T, "write") {
				h.write(h.f, h.model)
			} else {
				h.read(tx, frozen)
			}
		}
	})
}

// hold begins a scan and leaves it open.
func (h *history) hold() {
	if len(h.held) == 3 {
		h.Skip("enough scans are open")
	}
	c, r := h.column(), h.ranged()
	scan := hold("ScanRange", kv.ScanRange(h.f.ctx, h.f.store, c, r), brute(h.model.entries(c), r))
	h.held = append(h.held, scan)
	scan.advance(h.f, 1)
}

// advance goes on with one of the open scans, to its end or not.
func (h *history) advance() {
	if len(h.held) == 0 {
		h.Skip("no scan is open")
	}
	i := rapid.IntRange(0, len(h.held)-1).Draw(h.T, "scan")
	scan := h.held[i]
	if rapid.Bool().Draw(h.T, "to its end") {
		scan.advance(h.f, len(scan.want)+1)
		scan.stop()
		h.held = append(h.held[:i], h.held[i+1:]...)
		return
	}
	scan.advance(h.f, rapid.IntRange(1, 3).Draw(h.T, "entries"))
}

func (h *history) reopen() {
	if !h.chance(4) {
		h.Skip("not so often")
	}
	h.stopHeld()
	h.f.store = h.f.Reopen(h.f.tb, h.f.store)
	for _, c := range everyColumn() {
		h.f.wantRange(c, h.model.entries(c), kv.Range{})
	}
}

func (h *history) same(got, want []entry, what string, c kv.Column, prefix string) {
	h.Helper()
	if !slices.Equal(got, want) {
		h.Fatalf("%s of %s, prefix %q: got %s, want %s", what, c, prefix, brief(got), brief(want))
	}
}
