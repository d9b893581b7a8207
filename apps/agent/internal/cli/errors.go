package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/crabstore/crabstore/apps/agent/internal/home"
	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
)

// hints say what to do about errors that have a way out, the first that fits.
var hints = []struct {
	err  error
	hint string
}{
	{home.ErrNoStore, `"agent import" makes one of the sessions that your coding agents left here, "agent import --sample" one of samples`},
	{kv.ErrBusy, "another program is writing this store; try again when it has ended. What only reads, such as search, works meanwhile"},
	{crabdb.ErrBadBackup, "nothing was restored; take another backup, or read what can be read of this one with: agent --store crabdb:FILE store dump --salvage"},
	{kv.ErrCorrupt, damaged}, {crabdb.ErrCorrupt, damaged}, {crabdb.ErrNotStore, damaged},
	{crabdb.ErrPoisoned, "look whether the disk is full, then try again"},
	{kv.ErrConflict, "it was changed meanwhile; look at it and try again"},
}

const damaged = `"agent store check" says where. What can be read of a damaged store is saved in a new one by
  agent store dump --salvage > FILE
  agent --home NEW store load FILE
  agent --home NEW store reindex`

// noise is what packages put before their errors for programmers.
var noise = []string{"kv: store is busy: crabdb: locked by another: ", "kv: corrupt data: crabdb: corrupt: ", "crabdb: "}

// words is what an error says, without the noise.
func words(err error) string {
	message := err.Error()
	for _, n := range noise {
		message = strings.ReplaceAll(message, n, "")
	}
	return message
}

// tell says on stderr how a command ended, if that was not well.
func (a *app) tell(ctx context.Context, err error) {
	var e *exit
	switch {
	case err == nil || errors.As(err, &e) && e.err == nil:
		return
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		a.err.Println("agent: interrupted")
		return
	}
	a.err.Println("agent: " + words(err))
	for _, h := range hints {
		if errors.Is(err, h.err) {
			a.err.Println(h.hint)
			return
		}
	}
}

func isNoStore(err error) bool { return errors.Is(err, home.ErrNoStore) }
