package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/apps/agent/internal/dump"
	"github.com/crabstore/crabstore/apps/agent/internal/files"
	"github.com/crabstore/crabstore/apps/agent/internal/home"
	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv"
)

func (a *app) storeCommand() *cobra.Command {
	return group("store", "Look after the store itself",
		a.storeStats(), a.storeCheck(), a.storeDump(), a.storeLoad(),
		a.storeCheckpoint(), a.storeCompact(), a.storeBackup(), a.storeRestore(),
		a.storeMigrate(), a.storeReadState(), a.storeReindex())
}

// opened runs do with the store, whatever keyspace is in it.
func (a *app) opened(ctx context.Context, access home.Access, do func(s home.Store) error) error {
	l, err := a.location()
	if err != nil {
		return err
	}
	s, err := home.Open(ctx, l, access, a.telling)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

// openedCrabdb is opened for what is asked of a file of crabdb alone.
func (a *app) openedCrabdb(ctx context.Context, opts crabdb.Options, do func(s *crabkv.Store) error) error {
	l, err := a.location()
	if err != nil {
		return err
	}
	s, err := home.OpenCrabdb(ctx, l, opts, a.telling)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

// able returns what a store can do besides, or what says that it cannot.
func able[T any](s kv.KVStorage, what string) (T, error) {
	t, ok := kv.As[T](s)
	if !ok {
		return t, fmt.Errorf("%w: %s is nothing that it does", home.ErrUnable, what)
	}
	return t, nil
}

func (a *app) storeStats() *cobra.Command {
	return &cobra.Command{
		Use: "stats", Short: "Say how large the store is, and how it is", Args: takes(),
		RunE: a.run(func(ctx context.Context, _ []string) error {
			return a.reading(ctx, func(s kv.KVStorage) error {
				st, err := a.statsOf(ctx, s)
				if err != nil {
					return err
				}
				if a.json {
					return a.writeJSON(st)
				}
				a.sayStats(st)
				return nil
			})
		}),
	}
}

// storeStatistics is what store stats says.
type storeStatistics struct {
	Engine    string         `json:"engine"`
	Location  string         `json:"location"`
	Keys      int64          `json:"keys"`
	Bytes     int64          `json:"bytes"`
	DeadBytes int64          `json:"dead_bytes"`
	Memory    int64          `json:"memory_bytes"` // of the index
	Columns   map[string]int `json:"columns"`      // keys in each
	Detail    map[string]any `json:"detail,omitempty"`
}

// statsOf asks a store how it is, as far as it can tell, and counts its keys.
func (a *app) statsOf(ctx context.Context, s kv.KVStorage) (storeStatistics, error) {
	l, err := a.location()
	if err != nil {
		return storeStatistics{}, err
	}
	st := kv.Stats{Engine: l.Backend, Location: l.String()}
	if t, ok := kv.As[kv.Statser](s); ok {
		if st, err = t.Stats(ctx); err != nil {
			return storeStatistics{}, err
		}
	}
	out := storeStatistics{st.Engine, st.Location, 0, st.Bytes, st.DeadBytes, st.Memory, map[string]int{}, st.Detail}
	for col := range kv.EveryColumn() {
		n := 0
		for _, err := range s.ScanKeys(ctx, col, nil) {
			if err != nil {
				return out, err
			}
			n++
		}
		if n > 0 {
			out.Columns[col.String()] = n
		}
		out.Keys += int64(n)
	}
	return out, nil
}

func (a *app) sayStats(st storeStatistics) {
	row := func(name, value string) { a.out.Printf("%s%s\n", a.out.Dim(pad(name, 18)), console.Line(value)) }
	row("store", st.Engine+":"+strings.TrimPrefix(st.Location, st.Engine+":"))
	for _, size := range []struct {
		name  string
		bytes int64
		more  string
	}{{"size", st.Bytes, ""}, {"dead", st.DeadBytes, ", which a compaction gives back"}, {"index in memory", st.Memory, ""}} {
		if size.bytes > 0 || st.Engine == home.Crabdb {
			row(size.name, console.Size(size.bytes)+size.more)
		}
	}
	row("keys", console.Count(st.Keys))
	for col := range kv.EveryColumn() {
		if n := st.Columns[col.String()]; n > 0 {
			row("  "+col.String(), console.Count(n))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(st.Detail)) {
		row(strings.ReplaceAll(name, "_", " "), fmt.Sprint(st.Detail[name]))
	}
}

func (a *app) storeDump() *cobra.Command {
	var salvage bool
	var records string
	c := &cobra.Command{
		Use: "dump", Short: "Write every key as a line: column key value, in hexadecimal", Args: takes(),
		Long: `Write every key as a line: column key value, in hexadecimal and in order.

With --records FILE write instead what stands in a crabdb file, damaged or not, from
its first byte to its last: a line each for the header, every record and every stretch
of bytes that is none, with its offset and length, what it is, the state of its
checksum, and, of a put or delete, the column, the length of the value and the key.`,
	}
	c.RunE = a.run(func(ctx context.Context, _ []string) error {
		if records != "" {
			return a.dumpRecords(ctx, records)
		}
		if salvage {
			return a.openedCrabdb(ctx, crabdb.Options{Salvage: true}, func(s *crabkv.Store) error {
				if err := dump.Write(ctx, s.Whole(), a.out); err != nil {
					return err
				}
				return a.lost(ctx, s.DB())
			})
		}
		return a.opened(ctx, home.Read, func(s home.Store) error { return dump.Write(ctx, home.Whole(s), a.out) })
	})
	c.Flags().BoolVar(&salvage, "salvage", false, "write what can be read of a damaged file of crabdb; exits with 3 when something cannot")
	c.Flags().StringVar(&records, "records", "", "write the raw records of this crabdb file")
	c.MarkFlagsMutuallyExclusive("salvage", "records")
	return c
}

// lost names what an opening with salvage had to leave out.
func (a *app) lost(ctx context.Context, db *crabdb.DB) error {
	st, err := db.Stats(ctx)
	if err != nil {
		return err
	}
	for _, span := range st.Recovery.Lost {
		a.err.Printf("left out: offset %d, %s: %s\n", span.Offset, console.Plural(int(span.Length), "byte"), console.Line(span.Reason))
	}
	return partial(len(st.Recovery.Lost))
}

func (a *app) storeLoad() *cobra.Command {
	var into, plain bool
	c := &cobra.Command{
		Use: "load [FILE]", Short: "Put the lines of a dump into an empty store", Args: takes("[FILE]"),
		Long: "Put the lines of a dump, from a file or from stdin, into a store that is empty or not\nthere yet.",
	}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		var in io.Reader
		if len(args) == 0 || args[0] == "-" {
			in = a.input(ctx)
		} else {
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			in = f
		}
		load := func(s home.Store) error { return a.load(ctx, s, in, into) }
		if plain {
			return a.loadPlain(ctx, load)
		}
		return a.opened(ctx, home.Make, load)
	})
	c.Flags().BoolVar(&into, "into-existing", false, "also into a store that holds something; keys that are in both are replaced")
	c.Flags().BoolVar(&plain, "plain", false, "make a file of crabdb in the plain format, which other implementations read")
	return c
}

// loadPlain runs load with a file in the plain format, if none is there yet.
func (a *app) loadPlain(ctx context.Context, load func(s home.Store) error) error {
	l, err := a.location()
	if err != nil {
		return err
	}
	if err := errors.Join(home.OnlyCrabdb(l), home.MakeDir(l)); err != nil {
		return err
	}
	return a.openedCrabdb(ctx, crabdb.Options{Plain: true}, func(s *crabkv.Store) error { return load(s) })
}

func (a *app) load(ctx context.Context, s home.Store, in io.Reader, into bool) error {
	s0 := home.Whole(s)
	empty, err := home.IsEmpty(ctx, s0)
	if err != nil {
		return err
	}
	if !empty && !into {
		return fail("the store holds something; --into-existing loads into it all the same")
	}
	n, err := dump.Load(ctx, s0, in)
	if err != nil {
		return fmt.Errorf("%w (%s loaded before that)", err, console.Plural(n, "key"))
	}
	if a.json {
		return a.writeJSON(map[string]int{"loaded": n})
	}
	a.out.Printf("Loaded %s.\n", console.Plural(n, "key"))
	return nil
}

func (a *app) storeCheckpoint() *cobra.Command {
	return &cobra.Command{
		Use: "checkpoint", Short: "Make the store safe from a power loss and quick to open", Args: takes(),
		RunE: a.run(func(ctx context.Context, _ []string) error {
			return a.opened(ctx, home.Change, func(s home.Store) error {
				c, err := able[kv.Checkpointer](s, "a checkpoint")
				if err != nil {
					return err
				}
				if err := c.Checkpoint(ctx); err != nil {
					return err
				}
				return a.done("Done.", "done", "checkpoint")
			})
		}),
	}
}

func (a *app) storeCompact() *cobra.Command {
	return &cobra.Command{
		Use: "compact", Short: "Give back the space of what was overwritten and deleted", Args: takes(),
		RunE: a.run(func(ctx context.Context, _ []string) error {
			return a.opened(ctx, home.Change, func(s home.Store) error {
				if err := home.Optimize(ctx, s); err != nil {
					return err
				}
				c, err := able[kv.Compactor](s, "giving back space")
				if err != nil {
					return err
				}
				before, after, err := sizes(ctx, s, func() error { return c.Compact(ctx) })
				if err != nil {
					return err
				}
				if a.json {
					return a.writeJSON(map[string]int64{"before": before, "after": after})
				}
				a.out.Printf("From %s to %s.\n", console.Size(before), console.Size(after))
				return nil
			})
		}),
	}
}

// sizes returns how many bytes a store takes before and after something is done.
func sizes(ctx context.Context, s kv.KVStorage, do func() error) (before, after int64, err error) {
	size := func() int64 {
		t, ok := kv.As[kv.Statser](s)
		if !ok {
			return 0
		}
		st, failed := t.Stats(ctx)
		err = errors.Join(err, failed)
		return st.Bytes
	}
	before = size()
	if err = errors.Join(err, do()); err != nil {
		return before, 0, err
	}
	return before, size(), err
}

func (a *app) storeBackup() *cobra.Command {
	var force bool
	c := &cobra.Command{Use: "backup FILE", Short: "Write a consistent copy of the store, also while it is written", Args: takes("FILE")}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		return a.opened(ctx, home.Read, func(s home.Store) error {
			b, err := able[kv.Backuper](s, "a backup (its server has tools for that; \"store dump\" writes what every store reads)")
			if err != nil {
				return err
			}
			if err := a.notItself(args[0]); err != nil {
				return err
			}
			err = files.Write(args[0], !force, func(w io.Writer) error { return b.Backup(ctx, w) })
			if err != nil {
				return err
			}
			info, err := os.Stat(args[0])
			if err != nil {
				return err
			}
			return a.done(fmt.Sprintf("Wrote %s, %s.", args[0], console.Size(info.Size())), "backup", args[0])
		})
	})
	c.Flags().BoolVar(&force, "force", false, "write over a file that exists")
	return c
}

func (a *app) storeRestore() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Make the store of a backup, where there is none yet", Args: takes("FILE"),
		Long: "Check what store backup wrote, from the first byte to the last, and make it the store.\nA store that is there is not touched: move it away first.",
		RunE: a.run(func(ctx context.Context, args []string) error {
			l, err := a.location()
			if err != nil {
				return err
			}
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			if err := home.Restore(ctx, l, f); err != nil {
				return err
			}
			return a.done(fmt.Sprintf("Restored %s to %s.", args[0], l.Place), "restored", l.Place)
		}),
	}
}

// notItself refuses to write a copy of a store over it.
func (a *app) notItself(path string) error {
	l, err := a.location()
	if err != nil {
		return err
	}
	there, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if own, err := os.Stat(l.Place); err == nil && os.SameFile(own, there) {
		return usage("%s is the store itself", filepath.Clean(path))
	}
	return nil
}
