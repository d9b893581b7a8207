package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/crabstore/crabstore/apps/agent/internal/files"
	"github.com/crabstore/crabstore/apps/agent/internal/migrate"
	"github.com/crabstore/crabstore/kv"
)

// Migration copies a store to another place, of any backend.
type Migration struct {
	Dir      string // the home
	From, To Location
	Switch   bool // make the copy the home's store, and move the old one aside
}

// Migrated is what a migration came to.
type Migrated struct {
	migrate.Sum
	Aside string // where the old store of the home lies now; empty: where it lay
}

// unfinished is put behind the name of a copy that is not known to be whole yet.
const unfinished = ".migrating"

// Run copies, compares what both hold, and switches if that is wanted. The source is
// opened to be read and stays as it is. After an error, or a kill, running it again
// goes on where it was. tell is called with what is done: "copied" or "compared", so
// many of all entries, all being 0 when it is not known.
func (m Migration) Run(ctx context.Context, tell func(done string, entries, all int64)) (Migrated, error) {
	if err := m.allowed(); err != nil {
		return Migrated{}, err
	}
	sum, err := m.copy(ctx, tell)
	if err != nil {
		return Migrated{}, err
	}
	if m.Switch {
		if err := m.settled(ctx, sum); err != nil {
			return Migrated{}, err
		}
	}
	if err := m.place(); err != nil {
		return Migrated{}, err
	}
	done := Migrated{Sum: sum}
	if m.Switch {
		done.Aside, err = m.turn()
	}
	return done, err
}

// allowed refuses what would leave a home with two stores, or write over something.
func (m Migration) allowed() error {
	own, err := Locate("", m.Dir)
	switch {
	case m.From == m.To:
		return fmt.Errorf("%w: the store is at %s already", ErrBackend, m.To)
	case m.Switch && err != nil:
		return err
	case m.Switch && m.From != own:
		return fmt.Errorf("%w: --switch changes which store the home has, which is %s and not %s", ErrBackend, own, m.From)
	case !m.Switch && m.To.Home != "":
		return fmt.Errorf("%w: a home has one store; add --switch to make %s that of %s, or name a place elsewhere", ErrBackend, m.To, m.To.Home)
	case m.local() && something(m.To.Place):
		return fmt.Errorf("%s: %w; a migration makes a new store", m.To.Place, fs.ErrExist)
	}
	return nil
}

func (m Migration) local() bool { return Local(m.To.Backend) }

// partial is where the copy lies until it is whole. Behind an address it is the mark
// alone that tells it from a store.
func (m Migration) partial() Location {
	l := m.To
	if m.local() {
		l.Place += unfinished
	}
	return l
}

// copy makes the copy and returns the sum of both.
func (m Migration) copy(ctx context.Context, tell func(string, int64, int64)) (sum migrate.Sum, err error) {
	from, err := Open(ctx, m.From, Read, nil)
	if err != nil {
		return sum, err
	}
	defer from.Close() // it was read
	to, err := open(ctx, m.partial(), Make, nil)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if a, b := kv.RealmOf(from), kv.RealmOf(to); a != b {
		return sum, fmt.Errorf("%w: the keys of %s are of the realm %s, and those of %s of %s; a realm is said with ?realm=NAME behind an address",
			ErrBackend, m.From, a, m.To, b)
	}
	if err := migrate.Begin(ctx, to, migrate.Mark{From: m.From.String()}, m.local()); err != nil {
		return sum, fmt.Errorf("%s: %w", m.partial(), err)
	}
	all := keysOf(ctx, from)
	sum, err = migrate.Copy(ctx, Whole(from), Whole(to), func(n int64) { tell("copied", n, all) })
	if err != nil {
		return sum, err
	}
	got, err := migrate.SumOf(ctx, Whole(to), func(n int64) { tell("compared", n, sum.Entries) })
	if err != nil {
		return sum, err
	}
	if got != sum {
		return sum, fmt.Errorf("the copy differs: %d entries, %d bytes, SHA-256 %x in %s; %d entries, %d bytes, SHA-256 %x in the copy; nothing was switched",
			sum.Entries, sum.Bytes, sum.Digest, m.From, got.Entries, got.Bytes, got.Digest)
	}
	if c, ok := kv.As[kv.Checkpointer](to); ok {
		if err := c.Checkpoint(ctx); err != nil {
			return sum, err
		}
	}
	return sum, migrate.End(ctx, to)
}

// keysOf returns how many keys a store says that it has, 0 if it does not say.
func keysOf(ctx context.Context, s kv.KVStorage) int64 {
	t, ok := kv.As[kv.Statser](s)
	if !ok {
		return 0
	}
	st, _ := t.Stats(ctx) // for a progress bar alone
	return st.Keys
}

// settled looks whether the source still holds what was copied: what another program
// wrote since would be left behind by a switch.
func (m Migration) settled(ctx context.Context, copied migrate.Sum) error {
	s, err := Open(ctx, m.From, Read, nil)
	if err != nil {
		return err
	}
	now, err := migrate.SumOf(ctx, Whole(s), nil)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	if now != copied {
		return fmt.Errorf("%w: %s was written while it was copied; run it again when nothing writes there, which copies what is new", kv.ErrConflict, m.From)
	}
	return nil
}

// place gives the whole copy its name.
func (m Migration) place() error {
	if !m.local() {
		return nil
	}
	return move(m.partial().Place, m.To.Place)
}

// turn makes the copy the home's store. The old one is moved aside last: a crash
// before that leaves two, which every command refuses, and never none.
func (m Migration) turn() (aside string, err error) {
	config, err := ReadConfig(m.Dir)
	if err != nil {
		return "", err
	}
	if config.Store != "" || !m.To.own() {
		if err := SetStore(m.Dir, m.To.setting()); err != nil {
			return "", err
		}
	}
	if m.From.Home == "" {
		return "", nil
	}
	for n := 1; aside == "" || something(aside); n++ {
		aside = fmt.Sprintf("%s.migrated-%d", m.From.Place, n)
	}
	return aside, move(m.From.Place, aside)
}

// setting returns the location as the configuration names it, password and all.
func (l Location) setting() string {
	switch {
	case !Local(l.Backend):
		return l.Place
	case l.own():
		return l.Backend
	}
	path, err := filepath.Abs(l.Place)
	if err != nil {
		path = l.Place
	}
	return l.Backend + ":" + path
}

// move renames a store, with the files that its engine keeps beside it.
func move(from, to string) error {
	for _, beside := range []string{"-wal", "-shm", ".lock"} {
		if err := os.Rename(from+beside, to+beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return files.SyncDir(filepath.Dir(to))
}
