package pgkv

import (
	"context"
	"errors"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/crabstore/crabstore/kv"
)

// Update runs fn on a snapshot and commits what it wrote, again when that met a conflict
// or the connection was lost before the commit was sent.
func (t *table) Update(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	leave, err := t.gate.Hold(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return t.write(ctx, func() error { return t.attempt(ctx, fn) })
}

// attempt runs an Update once.
func (t *table) attempt(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	snap, err := t.hold(ctx, beginWrite+freeze)
	if err != nil {
		return err
	}
	defer snap.end() // rolls back if fn fails, panics or ends its goroutine
	changes, err := kv.Collect(ctx, t, snap, fn)
	if failure := snap.failure(); failure != nil {
		if _, again := failure.(*fault); again || err == nil {
			return failure // whatever fn made of it
		}
	}
	if err != nil {
		return err
	}
	if err := t.gate.Check(ctx); err != nil {
		return err
	}
	return snap.commit(ctx, changes)
}

// View runs fn on a snapshot.
func (t *table) View(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	leave, err := t.gate.Hold(ctx)
	if err != nil {
		return err
	}
	defer leave()
	snap, err := t.holdToRead(ctx)
	if err != nil {
		return err
	}
	defer snap.end()
	return kv.ViewAt(ctx, t, snap, fn)
}

// write retries what writes. After its first conflict it waits until no other such
// transaction of this process is under way: a crowd that fights gets nothing done.
func (t *table) write(ctx context.Context, step func() error) error {
	var met, mine bool
	defer func() {
		if mine {
			<-t.turn
		}
	}()
	return t.retry(ctx, func() error {
		if met && !mine {
			if err := t.take(ctx, t.turn, t.patience, "other transactions of this process are in the way"); err != nil {
				return err
			}
			mine = true
		}
		err := step()
		met = met || isConflict(err)
		return err
	})
}

// commitAlone makes one change and tells how many rows were deleted.
func (t *table) commitAlone(ctx context.Context, c kv.Change) (deleted int64, err error) {
	leave, err := t.gate.Call(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	err = t.write(ctx, func() error {
		return t.once(ctx, func(conn *pgx.Conn) (err error) {
			deleted, err = t.send(ctx, conn, beginWrite, []kv.Change{c})
			return err
		})
	})
	return deleted, err
}

// errRolledBack is the answer of a server that was asked to commit and did not.
var errRolledBack = errors.New("the server has rolled back")

// send makes changes and commits them, and begins before that when begin says how. All
// goes in one message, of which the server answers the end. What is large goes before,
// and is not in doubt when the connection is lost.
func (t *table) send(ctx context.Context, conn *pgx.Conn, begin string, changes []kv.Change) (deleted int64, err error) {
	batch, size := new(pgx.Batch), 0
	if begin != "" {
		batch.Queue(begin)
	}
	for run := range runs(changes) {
		t.queue(batch, run, &deleted)
		if size += run.size; size < batchBytes {
			continue
		}
		if err := conn.SendBatch(ctx, batch).Close(); err != nil {
			return 0, t.failure(ctx, conn, err)
		}
		batch, size = new(pgx.Batch), 0
	}
	batch.Queue("commit").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return errRolledBack
		}
		return nil
	})
	err = conn.SendBatch(ctx, batch).Close()
	if len(changes) == 0 {
		return 0, t.failure(ctx, conn, err) // there is nothing to be in doubt of
	}
	return deleted, t.outcome(ctx, conn, err)
}

// run is some changes that one statement makes.
type run struct {
	changes []kv.Change
	size    int
}

// runs cuts changes into runs in the order of their keys: writers that lock rows in one
// order do not lock each other out.
func runs(changes []kv.Change) iter.Seq[run] {
	kv.SortChanges(changes)
	return func(yield func(run) bool) {
		first, size := 0, 0
		for i, c := range changes {
			more := len(c.Key) + len(c.Value)
			if i > first && (!together(changes[i-1], c) || i-first == batchRows || size+more > batchBytes) {
				if !yield(run{changes[first:i], size}) {
					return
				}
				first, size = i, 0
			}
			size += more
		}
		if first < len(changes) {
			yield(run{changes[first:], size})
		}
	}
}

// together tells whether one statement can make both changes.
func together(a, b kv.Change) bool {
	return a.Delete == b.Delete && (!a.Delete || a.Column == b.Column)
}

// queue adds the statement of a run to a batch, and its deletions to deleted.
func (t *table) queue(batch *pgx.Batch, r run, deleted *int64) {
	cols, keys, values := make([]int16, len(r.changes)), make([][]byte, len(r.changes)), make([][]byte, len(r.changes))
	for i, c := range r.changes {
		cols[i], keys[i], values[i] = int16(c.Column), c.Key, c.Value
	}
	if !r.changes[0].Delete {
		batch.Queue(t.sql.put, cols, keys, values)
		return
	}
	batch.Queue(t.sql.del, cols[0], keys).Exec(func(tag pgconn.CommandTag) error {
		*deleted += tag.RowsAffected()
		return nil
	})
}
