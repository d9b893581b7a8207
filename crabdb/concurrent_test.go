package crabdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// A ledger is a store in which every update moves an amount from one account to another
// and counts itself, so that every state that ever existed has the same sum, and
// tells which it is.
const (
	accounts = 64
	balance  = 1000
)

func account(i int) []byte { return fmt.Appendf(nil, "account %02d", i) }

func number(b []byte) int64 {
	if len(b) < 8 {
		return -1
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// numbered is a value that holds a number.
func numbered(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

func openLedger(t *testing.T, opts Options) *DB {
	db := mustOpen(t, memPath, opts)
	in(t, db, func(tx *Tx) {
		for i := range accounts {
			must(t, tx.Put(1, account(i), numbered(balance)))
		}
		must(t, tx.Put(2, []byte("count"), numbered(0)))
	})
	return db
}

// move moves an amount and returns the number of the state that it made.
func move(db *DB, from, to int, amount int64) (state int64, err error) {
	err = db.Update(ctx, func(tx *Tx) error {
		for _, m := range []struct {
			account int
			by      int64
		}{{from, -amount}, {to, amount}} {
			v, err := tx.Get(1, account(m.account))
			if err != nil {
				return err
			}
			if err := tx.Put(1, account(m.account), numbered(number(v)+m.by)); err != nil {
				return err
			}
		}
		v, err := tx.Get(2, []byte("count"))
		if err != nil {
			return err
		}
		state = number(v) + 1
		return tx.Put(2, []byte("count"), numbered(state))
	})
	return state, err
}

// audit wants the sum to be right and returns which state it is.
func audit(tx *Tx) (state int64, err error) {
	var sum int64
	n := 0
	for e, err := range tx.Scan(ctx, 1, Range{Prefix: []byte("account")}) {
		if err != nil {
			return 0, err
		}
		sum += number(e.Value)
		n++
	}
	if sum != accounts*balance || n != accounts {
		return 0, fmt.Errorf("%d accounts hold %d", n, sum)
	}
	v, err := tx.Get(2, []byte("count"))
	return number(v), err
}

// Writers, views, scans, checkpoints, compactions, checks, backups and a reader in
// another handle go on at once. Whoever looks sees a state that existed, never an
// older one than he saw before; every backup is one, too; and in the end nothing is
// missing. Run it with -race.
func TestEverythingAtOnce(t *testing.T) {
	for name, opts := range map[string]Options{
		"sealed":      {CompactMin: 16 << 10, CheckpointEvery: 16 << 10},
		"plain":       {Plain: true, CompactMin: 16 << 10},
		"every write": {Sync: SyncWrite, CompactMin: 16 << 10, CheckpointEvery: 16 << 10},
		"interval":    {Sync: SyncInterval, SyncEvery: time.Millisecond, CompactMin: 16 << 10},
	} {
		t.Run(name, func(t *testing.T) { everythingAtOnce(t, opts, times(600, 100_000)) })
	}
}

func everythingAtOnce(t *testing.T, opts Options, moves int) {
	seed := newSeed(t)
	m := memfs.New()
	db := openLedger(t, opts.On(m))
	reader := mustOpen(t, memPath, readOnly().On(m))
	var left atomic.Int64
	left.Store(int64(moves))
	var writers, others sync.WaitGroup
	done := make(chan struct{})
	for w := range 3 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			var last int64
			for left.Add(-1) >= 0 {
				state, err := move(db, rng.IntN(accounts), rng.IntN(accounts), int64(rng.IntN(100)))
				if err != nil || state <= last {
					t.Errorf("writer %d: state %d after %d, %v", w, state, last, err)
					return
				}
				last = state
			}
		})
	}
	for name, look := range watchers(db, reader, opts) {
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				if err := look(); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(done)
	others.Wait()
	must(t, db.View(ctx, func(tx *Tx) error {
		if state, err := audit(tx); err != nil || state != int64(moves) {
			t.Errorf("in the end it is state %d, %v; want %d", state, err, moves)
		}
		return nil
	}))
	wantSound(t, db)
	want := contentOf(t, db)
	must(t, reader.Refresh(ctx))
	wantContent(t, reader, want)
	mustClose(t, db)
	for range 2 {
		again := mustOpen(t, memPath, opts.On(m))
		wantContent(t, again, want)
		wantSound(t, again)
		mustClose(t, again)
	}
}

// monotone makes of a function that tells which state it sees one that wants the
// state never to be older than before.
func monotone(look func() (int64, error)) func() error {
	var last int64
	return func() error {
		state, err := look()
		if err == nil && state < last {
			err = fmt.Errorf("it sees state %d after %d", state, last)
		}
		last = state
		return err
	}
}

func viewed(db *DB) (state int64, err error) {
	err = db.View(ctx, func(tx *Tx) error {
		state, err = audit(tx)
		return err
	})
	return state, err
}

// watchers are what goes on beside the writers.
func watchers(db, reader *DB, opts Options) map[string]func() error {
	return map[string]func() error{
		"view":       monotone(func() (int64, error) { return viewed(db) }),
		"checkpoint": func() error { return db.Checkpoint(ctx) },
		"compact":    func() error { return db.Compact(ctx) },
		"stats": func() error {
			st, err := db.Stats(ctx)
			if err == nil && (st.Keys != accounts+1 || st.Dead < 0 || st.Background != nil) {
				err = fmt.Errorf("%+v", st)
			}
			return err
		},
		"check": func() error {
			faults, err := db.Check(ctx)
			if len(faults) > 0 {
				err = fmt.Errorf("faults: %v", faults)
			}
			return err
		},
		"backup": monotone(func() (int64, error) {
			var b bytes.Buffer
			if err := db.Backup(ctx, &b); err != nil {
				return 0, err
			}
			m := memfs.New()
			f, err := m.OpenFile(memPath, os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return 0, err
			}
			_, err = f.WriteAt(b.Bytes(), 0)
			copied, err2 := Open(memPath, readOnly().On(m))
			if err = errors.Join(err, err2); err != nil {
				return 0, err
			}
			defer copied.Close()
			return viewed(copied)
		}),
		"reader": monotone(func() (int64, error) {
			if err := reader.Refresh(ctx); err != nil {
				return 0, err
			}
			if opts.Plain {
				return 0, nil // there a transaction is seen in part while it is written
			}
			return viewed(reader)
		}),
	}
}

// A key that one goroutine writes and many read has at each reading the value of the
// last write that had returned, or of one under way.
func TestReadsSeeWhatWasWritten(t *testing.T) {
	db := mustOpen(t, newPath(t), Options{CompactMin: 8 << 10, CheckpointEvery: 8 << 10})
	var began, returned atomic.Int64
	must(t, db.Put(ctx, 1, []byte("k"), numbered(0)))
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				least := returned.Load()
				v, err := db.Get(ctx, 1, []byte("k"))
				most := began.Load()
				if n := number(v); err != nil || n < least || n > most {
					t.Errorf("read %d, %v; %d had returned and %d had begun", n, err, least, most)
					return
				}
			}
		})
	}
	for i := range int64(times(20_000, 1_000_000)) {
		began.Store(i)
		must(t, db.Put(ctx, 1, []byte("k"), numbered(i)))
		returned.Store(i)
	}
	close(done)
	readers.Wait()
}

// A few reads between two writes look into the index itself; more make a version of it
// that all share. Either sees what was written.
func TestReadsBetweenWrites(t *testing.T) {
	db := mustOpen(t, memPath, quiet().On(memfs.New()))
	for round := range 3 {
		v := fmt.Sprint(round)
		put(t, db, "k", v)
		for i := range 2 * patience {
			want(t, db, "k", v)
			wantAbsent(t, db, "l")
			if got, more := db.stale.Load(), 2*(i+1) > patience; got == more {
				t.Fatalf("after %d reads the last version is of before them: %v", 2*(i+1), got)
			}
		}
	}
}
