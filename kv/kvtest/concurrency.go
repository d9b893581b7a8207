package kvtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/crabstore/crabstore/kv"
)

func concurrencyPromises() []promise {
	return []promise{
		{name: "WritersDoNotDisturbEachOther", test: writersDoNotDisturb, everywhere: true},
		{name: "ScansSeeAPrefixOfHistory", test: scansSeeAPrefixOfHistory},
		{name: "ReadersNeverGoBack", test: readersNeverGoBack},
	}
}

// writersDoNotDisturb has each goroutine write keys of its own, at random, and
// find in them what it wrote.
func writersDoNotDisturb(f *fixture) {
	const writers = 6
	models := make([]map[string]string, writers)
	seed := rand.Uint64()
	f.Logf("seed %d", seed)
	f.together(writers, func(i int) error {
		models[i] = map[string]string{}
		return ownHistory(f, rand.New(rand.NewPCG(seed, uint64(i))), fmt.Sprintf("%d/", i), models[i])
	})
	var want []entry
	for _, m := range models {
		for key, value := range m {
			want = append(want, entry{key, value})
		}
	}
	sortEntries(want)
	f.wantScan("", want...)
}

func ownHistory(f *fixture, r *rand.Rand, prefix string, m map[string]string) error {
	for step := range pick(300) {
		key := prefix + strconv.Itoa(r.IntN(30))
		switch r.IntN(4) {
		case 0:
			_, want := m[key]
			if existed, err := f.store.Delete(f.ctx, col, []byte(key)); err != nil || existed != want {
				return fmt.Errorf("of a delete of %q: %v, %w; want %v", key, existed, err, want)
			}
			delete(m, key)
		case 1:
			if err := sameAs(f, prefix, m); err != nil {
				return err
			}
		default:
			if err := f.store.Put(f.ctx, col, []byte(key), strconv.AppendInt(nil, int64(step), 10)); err != nil {
				return err
			}
			m[key] = strconv.Itoa(step)
		}
		want, present := m[key]
		got, err := f.store.Get(f.ctx, col, []byte(key))
		if present != (err == nil) || !present && !errors.Is(err, kv.ErrNotFound) || string(got) != want {
			return fmt.Errorf("of a get of %q: %q, %w; want %q, present: %v", key, got, err, want, present)
		}
	}
	return nil
}

// sameAs compares a scan of a prefix with a model.
func sameAs(f *fixture, prefix string, m map[string]string) error {
	seen := 0
	for e, err := range f.store.Scan(f.ctx, col, []byte(prefix)) {
		if err != nil {
			return err
		}
		if want, ok := m[string(e.Key)]; !ok || string(e.Value) != want {
			return fmt.Errorf("scan of %q: %q is %q, want %q", prefix, e.Key, e.Value, want)
		}
		seen++
	}
	if seen != len(m) {
		return fmt.Errorf("scan of %q finds %d keys, want %d", prefix, seen, len(m))
	}
	return nil
}

// scansSeeAPrefixOfHistory has writers each put their keys one after the other,
// in an order that is not the order of the scan. A scan sees the store at one
// moment, so of each writer it sees the first so many, and two scans one after
// the other never fewer.
func scansSeeAPrefixOfHistory(f *fixture) {
	const writers, readers = 3, 3
	n := max(100, pick(400))
	order := rand.Perm(n)
	var before [readers][writers]int // how many steps of each writer a reader saw last
	f.readWhileWriting(writers, readers,
		func(i int, p *pace) error {
			for step, at := range order {
				p.keep(step)
				key := fmt.Appendf(nil, "%d/%06d", i, at)
				if err := f.store.Put(f.ctx, col, key, strconv.AppendInt(nil, int64(step), 10)); err != nil {
					return err
				}
			}
			return nil
		},
		func(i int, p *pace) error { return readHistory(f, before[i][:], p) })
	if got := len(f.keys("")); got != writers*n {
		f.Fatalf("%d keys, want %d", got, writers*n)
	}
}

// readHistory makes one scan, and compares it with the one before.
func readHistory(f *fixture, before []int, p *pace) error {
	now, err := stepsSeen(f, len(before), p)
	if err != nil {
		return err
	}
	for w, steps := range now {
		slices.Sort(steps)
		if n := len(steps); n > 0 && steps[n-1] != n-1 {
			return fmt.Errorf("a scan sees step %d of writer %d, and %d of the %d before it", steps[n-1], w, n-1, steps[n-1])
		}
		if len(steps) < before[w] {
			return fmt.Errorf("a scan sees %d steps of writer %d, one before it saw %d", len(steps), w, before[w])
		}
		before[w] = len(steps)
	}
	return nil
}

// stepsSeen returns the steps of each writer that one scan sees.
func stepsSeen(f *fixture, writers int, p *pace) ([][]int, error) {
	seen := make([][]int, writers)
	last := ""
	for e, err := range f.store.Scan(f.ctx, col, nil) {
		if err != nil {
			return nil, err
		}
		if string(e.Key) <= last {
			return nil, fmt.Errorf("a scan yields %q behind %q", e.Key, last)
		}
		last = string(e.Key)
		writer, _, _ := strings.Cut(last, "/")
		w, err := strconv.Atoi(writer)
		if err != nil {
			return nil, err
		}
		step, err := strconv.Atoi(string(e.Value))
		if err != nil {
			return nil, err
		}
		seen[w] = append(seen[w], step)
		p.tick()
	}
	return seen, nil
}

// readersNeverGoBack has one writer count up under a key, by every way of writing
// there is, while readers look at it: a Put that has returned is seen by all who
// ask later.
func readersNeverGoBack(f *fixture) {
	n := int64(pick(500))
	f.put("n", "0")
	var done atomic.Int64 // the number whose write has returned last
	ways := writesOfValue(f.store)
	f.readWhileWriting(1, 4,
		func(_ int, p *pace) error {
			for v := int64(1); v <= n; v++ {
				p.keep(int(v))
				if err := ways[int(v)%len(ways)](f.ctx, strconv.AppendInt(nil, v, 10)); err != nil {
					return err
				}
				done.Store(v)
			}
			return nil
		},
		func(int, *pace) error { return seesAtLeast(f.ctx, f.store, &done) })
	f.wantValue("n", strconv.FormatInt(n, 10))
}

func writesOfValue(s kv.KVStorage) []func(ctx context.Context, value []byte) error {
	put := func(ctx context.Context, s kv.KVStorage, value []byte) error {
		return s.Put(ctx, col, []byte("n"), value)
	}
	return []func(ctx context.Context, value []byte) error{
		func(ctx context.Context, value []byte) error { return put(ctx, s, value) },
		func(ctx context.Context, value []byte) error {
			return kv.Update(ctx, s, func(tx kv.KVStorage) error { return put(ctx, tx, value) })
		},
	}
}

func seesAtLeast(ctx context.Context, s kv.KVStorage, done *atomic.Int64) error {
	for _, read := range []func() ([]byte, error){
		func() ([]byte, error) { return s.Get(ctx, col, []byte("n")) },
		func() ([]byte, error) { e, err := kv.Last(ctx, s, col, []byte("n")); return e.Value, err },
		func() (value []byte, err error) {
			err = kv.View(ctx, s, func(tx kv.KVStorage) error { value, err = tx.Get(ctx, col, []byte("n")); return err })
			return value, err
		},
	} {
		least := done.Load()
		value, err := read()
		if err != nil {
			return err
		}
		if got, err := strconv.ParseInt(string(value), 10, 64); err != nil || got < least {
			return fmt.Errorf("read %q (%w) after the write of %d had returned", value, err, least)
		}
	}
	return nil
}
