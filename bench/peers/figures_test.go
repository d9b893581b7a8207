package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestKeysAndValues(t *testing.T) {
	w := newWorkload(1000)
	m := w.maker()
	seen := map[string]bool{}
	for i := range w.keys {
		seen[string(m.key(w.scattered(i)))] = true
		if len(m.key(i)) != 57 {
			t.Fatalf("a key of %d bytes", len(m.key(i)))
		}
	}
	if len(seen) != 1000 {
		t.Errorf("%d different keys of 1000", len(seen))
	}
	key, value := string(m.key(997)), string(m.value(997, 2))
	if !strings.HasPrefix(key, "local/session/01") || !strings.HasSuffix(key, "/msg/000000000099") {
		t.Errorf("key 997 is %s", key) // sessions take turns: 10 of them, so it is the 99th of the 7th
	}
	if !strings.HasPrefix(value, `{"at":000000000997,"version":2,`) || len(value) != 256 {
		t.Errorf("value 997 is %s", value)
	}
	if key != string(newWorkload(1000).maker().key(997)) {
		t.Error("another process makes other keys")
	}
	if err := m.check(997, []byte(value)); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"", value[:255], string(m.value(996, 2))} {
		if m.check(997, []byte(wrong)) == nil {
			t.Errorf("%.30q passes for value 997", wrong)
		}
	}
}

// A quantile is the exact one or up to a 32nd above it.
func TestHistogram(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var h histogram
	var all []time.Duration
	for range 10_000 {
		d := time.Duration(r.Uint64() >> (1 + r.IntN(63)))
		h.add(d)
		all = append(all, d)
	}
	slices.Sort(all)
	for _, q := range []float64{0.001, 0.5, 0.9, 0.999, 1} {
		exact, got := all[int(q*10_000)-1], h.quantile(q)
		if got < exact || float64(got) > float64(exact)*(1+1.0/32) {
			t.Errorf("quantile %v is %d, exactly %d", q, got, exact)
		}
	}
	if h.max != all[len(all)-1] {
		t.Errorf("longest is %d, want %d", h.max, all[len(all)-1])
	}
}

func TestMedian(t *testing.T) {
	f := figures{"s": {"odd": {9, 1, 5}, "even": {4, 1, 9, 2}}}
	for id, want := range map[string]float64{"odd": 5, "even": 3} {
		if got, ok := f.median("s", id); !ok || got != want {
			t.Errorf("median of %v is %v", f["s"][id], got)
		}
	}
	if _, ok := f.median("s", "none"); ok {
		t.Error("there is a median of nothing")
	}
}

func TestLead(t *testing.T) {
	r := report{bench: bench{engines: []engine{{name: "crabdb"}, {name: "p"}, {name: "q", title: "Q"}, {name: "none"}}},
		figures: figures{
			"crabdb": {"cost": {2}, "rate": {300}, "alone": {1}},
			"p":      {"cost": {8}, "rate": {100}},
			"q":      {"cost": {5}, "rate": {400}},
		}}
	for _, c := range []struct {
		line line
		want string
	}{
		{line{id: "cost"}, "**2.5× Q**"},
		{line{id: "rate", more: true}, "0.75× Q"},
		{line{id: "cost", plain: true}, ""},
		{line{id: "alone"}, ""},
	} {
		if got := r.leadCell(c.line); got != c.want {
			t.Errorf("lead of %s is %q, want %q", c.line.id, got, c.want)
		}
	}
}

func TestSignificant(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 0.004: "0.004", 0.123: "0.12", 4.567: "4.57", 45.67: "45.7", 456.7: "457",
		1234.5: "1,235", 1234567: "1,234,567",
	} {
		if got := significant(value); got != want {
			t.Errorf("%v is %s, want %s", value, got, want)
		}
	}
}

// Neither a hole counts nor what is reserved past the end.
func TestDiskUse(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "short"), make([]byte, 100), 0o600))
	holes := filepath.Join(dir, "holes")
	check(t, os.WriteFile(holes, nil, 0o600))
	check(t, os.Truncate(holes, 64<<20))
	if got, err := diskUse(dir); err != nil || got != 100 {
		t.Errorf("%d bytes, %v, want 100", got, err)
	}
}

func TestMemoryNow(t *testing.T) {
	before, err := memoryNow()
	check(t, err)
	held := make([]byte, 64<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	after, err := memoryNow()
	check(t, err)
	if grown := after.anonymous - before.anonymous; grown < 60<<20 || grown > 80<<20 {
		t.Errorf("64 MiB more are %d bytes", grown)
	}
	if held[0] != 1 || after.mapped == 0 {
		t.Error("no file is mapped, not even the program")
	}
}
