package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/agents"
	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/apps/agent/internal/home"
	"github.com/crabstore/crabstore/apps/agent/internal/importer"
	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/harnesses"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv"
	"github.com/crabstore/crabstore/memory"
	"github.com/crabstore/crabstore/sessions"
	"github.com/crabstore/crabstore/skills"
)

// fault is one thing that is wrong, as a program reads it.
type fault struct {
	Where  string `json:"where"` // file, sessions, import, memories, skills, agents or harnesses
	Offset *int64 `json:"offset,omitempty"`
	Length int64  `json:"length,omitempty"`
	Handle string `json:"handle,omitempty"`
	What   string `json:"what"`
}

// Where faults are that no index anew puts right.
const (
	inFile   = "file"
	inImages = "harnesses"
)

// String returns the fault as a line for a person.
func (f fault) String() string {
	if f.Offset == nil {
		return f.Where + ": " + f.What
	}
	return fmt.Sprintf("%s: offset %d: %s", f.Where, *f.Offset, f.What)
}

// manyFaults is how many of one kind are too many for a person.
const manyFaults = 50

func (a *app) storeCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Look for damage, and for indexes that do not agree with the content", Args: takes(),
		Long: "Walk the whole file, and compare indexes with content. It changes nothing, and exits\nwith 1 when something is wrong. What is wrong with indexes, store reindex puts right.",
		RunE: a.run(func(ctx context.Context, _ []string) error { return a.check(ctx) }),
	}
}

func (a *app) check(ctx context.Context) error {
	found := 0
	of := map[string]int{}
	tell := func(f fault) error {
		found++
		of[f.Where]++
		switch n := of[f.Where]; {
		case a.json:
			return a.writeJSON(f)
		case n == manyFaults:
			a.out.Printf("%s: … and more (--json writes them all)\n", f.Where)
		case n < manyFaults:
			a.out.Println(console.Line(f.String()))
		}
		return nil
	}
	err := a.opened(ctx, home.Read, func(s home.Store) error { return a.checkAll(ctx, s, tell) })
	if l, _ := a.location(); l.Backend == home.Crabdb && found == 0 && (errors.Is(err, kv.ErrCorrupt) || errors.Is(err, crabdb.ErrNotStore)) {
		a.note("The store is damaged (%s); what can be read of it is checked.", console.Line(words(err)))
		err = a.openedCrabdb(ctx, crabdb.Options{Salvage: true}, func(s *crabkv.Store) error { return a.checkAll(ctx, s, tell) })
		found = max(found, 1)
	}
	if err != nil {
		return err
	}
	if found > 0 {
		a.err.Printf("%s found.\n", console.Plural(found, "fault"))
		if found > of[inFile]+of[inImages] {
			a.err.Println("agent store reindex makes indexes anew")
		}
		return &exit{exitFailed, nil}
	}
	if !a.json {
		a.out.Println("No fault found.")
	}
	return nil
}

// checkFile tells of every fault in what the store lies in, as far as its engine
// can look for them.
func checkFile(ctx context.Context, s kv.KVStorage, tell func(fault) error) error {
	if db, ok := home.Engine(s); ok {
		damage, err := db.Check(ctx)
		if err != nil {
			return err
		}
		for _, f := range damage {
			what := f.What
			if f.Length > 0 {
				what = fmt.Sprintf("%s (%d bytes)", what, f.Length)
			}
			if err := tell(fault{Where: inFile, Offset: &f.Offset, Length: f.Length, What: what}); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAll tells of every fault in the file, and then of those in what it holds.
func (a *app) checkAll(ctx context.Context, s kv.KVStorage, tell func(fault) error) error {
	if err := checkFile(ctx, s, tell); err != nil {
		return err
	}
	inSessions, err := sessions.Check(ctx, s, "")
	if err != nil {
		return err
	}
	for _, f := range inSessions {
		if err := tell(fault{Where: "sessions", Handle: f.Handle, What: f.String()}); err != nil {
			return err
		}
	}
	return checkOthers(ctx, s, tell)
}

// checkOthers tells of the faults in what is no session, and in what finds imported
// ones again.
func checkOthers(ctx context.Context, s kv.KVStorage, tell func(fault) error) error {
	for _, of := range []struct {
		where string
		check func(context.Context, kv.KVStorage) ([]string, error)
	}{
		{"import", said(importer.Check)}, {"memories", memory.Check},
		{"skills", skills.Check}, {"agents", said(agents.Check)},
	} {
		faults, err := of.check(ctx, s)
		if err != nil {
			return err
		}
		for _, what := range faults {
			if err := tell(fault{Where: of.where, What: what}); err != nil {
				return err
			}
		}
	}
	images, err := harnesses.Check(ctx, s)
	for _, what := range images {
		err = errors.Join(err, tell(fault{Where: inImages, What: what}))
	}
	return err
}

// said has the differences that a check finds as sentences.
func said(check func(context.Context, kv.KVStorage) ([]kv.Difference, error)) func(context.Context, kv.KVStorage) ([]string, error) {
	return func(ctx context.Context, s kv.KVStorage) (faults []string, err error) {
		found, err := check(ctx, s)
		for _, d := range found {
			faults = append(faults, d.String())
		}
		return faults, err
	}
}

func (a *app) storeReindex() *cobra.Command {
	return &cobra.Command{
		Use: "reindex", Short: "Make every index anew from the content", Args: takes(),
		Long: "Make every index anew from the content, beside the ones that serve: it can be cut short at\n" +
			"any time, and the old ones are then as they were.",
		RunE: a.run(func(ctx context.Context, _ []string) error {
			return a.changing(ctx, func(s kv.KVStorage) error {
				n, err := a.reindex(ctx, s)
				if err != nil {
					return err
				}
				if a.json {
					return a.writeJSON(map[string]int{"sessions": n})
				}
				a.out.Printf("Made the indexes of %s anew, and those of memories, skills and agents.\n", console.Plural(n, "session"))
				return nil
			})
		}),
	}
}

// reindex makes every index anew and returns of how many sessions.
func (a *app) reindex(ctx context.Context, s kv.KVStorage) (int, error) {
	bar := &console.Progress{}
	if !a.json {
		bar = a.err.Progress("indexing")
	}
	defer bar.End()
	n, err := home.Reindex(ctx, s, func(done, total int) {
		bar.Set(int64(done), int64(total), fmt.Sprintf("%d/%d sessions", done, total))
	})
	if err != nil {
		return n, err
	}
	return n, importer.Reindex(ctx, s)
}
