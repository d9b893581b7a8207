package crabdb

import (
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// A read that is under way in a transaction whose function returns, while the store
// is closed, is told so, and not of a file descriptor.
func TestReadOfAnEndedTransaction(t *testing.T) {
	m := memfs.New()
	paused, resume := make(chan struct{}), make(chan struct{})
	var armed bool
	db := mustOpen(t, memPath, quiet().on(faultfs.FS{FS: m, Hook: func(c faultfs.Call) error {
		if armed && c.Op == faultfs.Read {
			armed = false
			close(paused)
			<-resume
		}
		return nil
	}}))
	put(t, db, "k", "v")
	got := make(chan error, 1)
	must(t, db.View(ctx, func(tx *Tx) error {
		armed = true
		go func() {
			_, err := tx.Get(1, []byte("k"))
			got <- err
		}()
		<-paused
		return nil
	}))
	mustClose(t, db)
	close(resume)
	wantError(t, <-got, ErrClosed)
}
