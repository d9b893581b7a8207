package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/apps/agent/internal/home"
)

func (a *app) storeMigrate() *cobra.Command {
	var to string
	var change bool
	c := &cobra.Command{
		Use: "migrate --to BACKEND:LOCATION", Short: "Copy the store to another backend, and compare", Args: takes(),
		Long: `Copy everything that the store holds into a new store of any backend, and compare
both, entry by entry. The source is read and stays as it is. A migration that was cut
short is gone on with by the same command. Until all is there and the same, the copy
is no store: a file or folder is called …` + ".migrating" + `, and what lies behind an address is
refused by every other command.

With --switch the home uses the copy from then on: config.toml is changed if need be,
and the old store moved aside, to be deleted by hand.`,
	}
	c.RunE = a.run(func(ctx context.Context, _ []string) error {
		if to == "" {
			return usage("--to is missing: BACKEND:LOCATION of the new store")
		}
		return a.migrate(ctx, to, change)
	})
	c.Flags().StringVar(&to, "to", "", "the new store")
	c.Flags().BoolVar(&change, "switch", false, "use the new store from then on")
	return c
}

// migration is what store migrate did, as a program reads it.
type migration struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"` // of keys and values
	SHA256  string `json:"sha256"`
	Switch  bool   `json:"switched"`
	Aside   string `json:"moved_aside,omitempty"` // where the old store lies now
}

func (a *app) migrate(ctx context.Context, to string, change bool) error {
	m := home.Migration{Switch: change}
	var err error
	if m.Dir, err = home.Dir(a.home, a.sys.Getenv); err != nil {
		return err
	}
	if m.From, err = a.location(); err != nil {
		return err
	}
	if m.To, err = home.Parse(to, m.Dir); err != nil {
		return usage("%w (--to)", err)
	}
	bar := &console.Progress{}
	if !a.json {
		bar = a.err.Progress("migrating")
	}
	done, err := m.Run(ctx, func(what string, n, all int64) {
		bar.Set(n, all, fmt.Sprintf("%s %s", console.Plural(n, "key"), what))
	})
	bar.End()
	if errors.Is(err, home.ErrBackend) {
		return usage("%w", err)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(migration{m.From.String(), m.To.String(), done.Entries, done.Bytes,
			hex.EncodeToString(done.Digest[:]), change, done.Aside})
	}
	a.out.Printf("Copied %s, %s, from %s to %s.\n", console.Plural(done.Entries, "key"), console.Size(done.Bytes), m.From, m.To)
	a.out.Printf("Both hold the same: SHA-256 %x.\n", done.Digest)
	switch {
	case done.Aside != "":
		a.out.Printf("The new store is in use. The old one is now %s; delete it when you like.\n", done.Aside)
	case change:
		a.out.Println("The new store is in use.")
	default:
		a.out.Printf("Nothing else changed: --store %s uses it once, --switch would for good.\n", m.To)
	}
	return nil
}
