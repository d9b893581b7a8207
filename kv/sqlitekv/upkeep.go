package sqlitekv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"github.com/crabstore/crabstore/kv"
)

// Checkpoint makes all that was acknowledged safe from a power loss. It copies the log
// into the database and empties it, as far as readers and the writers of other
// processes, for which it does not wait, leave that to it.
func (s *Store) Checkpoint(ctx context.Context) error {
	return s.write(ctx, s.checkpoint)
}

func (s *Store) checkpoint(c *conn) error {
	row, err := c.ask(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`)
	if err != nil || row[0] == int64(0) {
		return err
	}
	return syncLog(s.file.log()) // what is not in the database yet is safe there
}

// syncLog syncs a log, if it is there. SQLite has no locks on it, unlike the database,
// so that it may be opened and closed.
func syncLog(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() // it was synced, or has failed
	if err := f.Sync(); err != nil {
		return fmt.Errorf("%w: %w", errSync, err)
	}
	return nil
}

// Compact writes the database anew without the space of what was overwritten and
// deleted, and checkpoints. While it lasts it takes the room of two more: among the
// system's temporary files and in the log.
func (s *Store) Compact(ctx context.Context) error {
	return s.write(ctx, func(c *conn) error {
		if err := c.run(ctx, `VACUUM`); err != nil {
			return err
		}
		return s.checkpoint(c)
	})
}

// Stats tells how the store is. It counts the keys, which takes a while in a large
// store.
func (s *Store) Stats(ctx context.Context) (kv.Stats, error) {
	st := kv.Stats{Engine: "sqlite", Location: s.file.path}
	err := s.read(ctx, func(c *conn) error {
		row, err := c.ask(ctx, `SELECT (SELECT count(*) FROM entries), page_size, page_count, freelist_count, user_version, sqlite_version()
			FROM pragma_page_size, pragma_page_count, pragma_freelist_count, pragma_user_version`)
		if err != nil {
			return err
		}
		var log int64
		if info, err := os.Stat(s.file.log()); err == nil {
			log = info.Size()
		}
		pageSize := row[1].(int64)
		st.Keys, st.Bytes, st.DeadBytes = row[0].(int64), row[2].(int64)*pageSize+log, row[3].(int64)*pageSize
		st.Detail = map[string]any{"log_bytes": log, "version": row[4], "sqlite_version": row[5]}
		return nil
	})
	return st, err
}

// backupPages is how many pages a step of a backup copies: 4 MiB.
const backupPages = 1024

// Backup writes a database with what the store holds now, while reads and writes go
// on. It is made in a temporary file: beside the store, or, read-only, where the
// system has such files.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	leave, err := s.gate.Hold(ctx)
	if err != nil {
		return err
	}
	defer leave()
	dir := filepath.Dir(s.file.path)
	if s.options.ReadOnly {
		dir = os.TempDir()
	}
	temp, err := os.CreateTemp(dir, "."+filepath.Base(s.file.path)+".backup-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // copyTo did already, where an open file can be removed
	defer temp.Close()           // it was read
	if err := s.copyTo(ctx, temp.Name()); err != nil {
		return err
	}
	return s.send(ctx, w, temp)
}

// copyTo copies the database into an empty file.
func (s *Store) copyTo(ctx context.Context, path string) (err error) {
	snap, err := s.snapshot(ctx, (*snapshot).pin) // or each write would begin the backup anew
	if err != nil {
		return err
	}
	defer snap.release()
	err = snap.use(func(c *conn) error {
		to := file{path}.name(url.Values{"mode": {"rw"}, "_pragma": {"journal_mode(OFF)", "synchronous(OFF)"}})
		b, err := c.raw.(interface {
			NewBackup(string) (*sqlite.Backup, error)
		}).NewBackup(to)
		if err != nil {
			return err
		}
		_ = os.Remove(path) // so that a process that is killed leaves nothing; not everywhere possible
		for more := true; more && err == nil; {
			if err = s.gate.Check(ctx); err == nil {
				more, err = b.Step(backupPages)
			}
		}
		if finishErr := b.Finish(); err == nil {
			err = finishErr
		}
		return c.checked(err)
	})
	return s.file.explain(err)
}

// send writes a file to w.
func (s *Store) send(ctx context.Context, w io.Writer, from *os.File) error {
	for {
		if err := s.gate.Check(ctx); err != nil {
			return err
		}
		switch _, err := io.CopyN(w, from, backupPages<<12); {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("sqlitekv: backup of %s: %w", s.file.path, err)
		}
	}
}
