package sqlitekv

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	sqlite3 "modernc.org/sqlite/lib"
)

// applicationID marks a database as a store: "Crab". Version is what this program
// writes; it reads and brings up to date what is older.
const (
	applicationID = 0x43726162
	version       = 2
)

// The versions of the table, which every statement suits. Version 1 keeps the values in
// the index by the key itself, version 2 beside it: doc.go has what that gains.
const (
	table1 = `CREATE TABLE entries (col INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (col, key)) STRICT, WITHOUT ROWID;`
	table2 = `CREATE TABLE entries (col INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL) STRICT;`
	index2 = `CREATE UNIQUE INDEX entries_by_key ON entries (col, key);`
)

// migrations brings a store from a version to the one after it; an empty file becomes
// one of this version at once.
var migrations = [version]string{
	1: `ALTER TABLE entries RENAME TO entries1;` + table2 + `
		INSERT INTO entries (col, key, value) SELECT col, key, value FROM entries1 ORDER BY col, key;
		DROP TABLE entries1;` + index2,
}

const create = table2 + index2

// label is what a database says of itself.
type label struct{ application, version, tables int64 }

func (c *conn) label(ctx context.Context) (label, error) {
	row, err := c.ask(ctx, `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id, pragma_user_version`)
	if err != nil {
		return label{}, err
	}
	return label{row[0].(int64), row[1].(int64), row[2].(int64)}, nil
}

func (l label) blank() bool { return l == label{} }

// check refuses what is no store, and one of a newer version.
func (l label) check(f file) error {
	if l.application != applicationID || l.version < 1 {
		return fmt.Errorf("%w: %s is a database of another program (application_id %#x, user_version %d)",
			ErrNotStore, f.path, l.application, l.version)
	}
	if l.version > version {
		return fmt.Errorf("%w: %s is of version %d, this program knows up to %d: open it with the program that wrote it, or a newer one",
			ErrVersion, f.path, l.version, version)
	}
	return nil
}

// prepare makes the database that c writes to one of this version. Most are found to
// be, without a lock.
func prepare(ctx context.Context, c *conn) error {
	l, err := c.label(ctx)
	if err != nil {
		return err
	}
	if l.application != applicationID || l.version != version {
		if err := migrate(ctx, c); err != nil {
			return err
		}
	}
	row, err := c.ask(ctx, `PRAGMA journal_mode = WAL`)
	if err == nil && row[0] != "wal" {
		err = fmt.Errorf("sqlitekv: %s: no write-ahead log is possible on this file system: use a local one", c.file.path)
	}
	return err
}

// migrate brings a database to this version in one transaction, in which it looks
// again: another process may have been faster.
func migrate(ctx context.Context, c *conn) error {
	if _, err := c.exec(beginWriting); err != nil {
		return err
	}
	defer c.exec(rollback) // fails after a commit
	l, err := c.label(ctx)
	if err != nil {
		return err
	}
	if !l.blank() {
		if err := l.check(c.file); err != nil {
			return err
		}
	}
	if l.version == version {
		return nil
	}
	steps := []string{create}
	if !l.blank() {
		steps = migrations[l.version:]
	}
	for _, step := range steps {
		if err := c.run(ctx, step); err != nil {
			return err
		}
	}
	if err := c.run(ctx, fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, applicationID, version)); err != nil {
		return err
	}
	_, err = c.exec(commit)
	return err
}

// look finds out what a file is, changing nothing.
func (s *Store) look(ctx context.Context) error {
	return s.patiently(ctx, func() error {
		st, err := s.file.state()
		if err != nil {
			return err
		}
		if !st.log && st.size == 0 {
			if s.options.ReadOnly {
				return fmt.Errorf("%w: %s is empty: open it for writing first", ErrNotStore, s.file.path)
			}
			return nil
		}
		if st.log {
			// A foreign database is told from its file alone, so that SQLite does not make
			// an index of its log. Any other error may come of what is in the log only.
			if err := s.lookAt(ctx, state{}); errors.Is(err, ErrNotStore) {
				return err
			}
		}
		return s.lookAt(ctx, st)
	})
}

// lookAt reads what a file in a state says of itself; in no state, what it says without
// its log.
func (s *Store) lookAt(ctx context.Context, st state) error {
	c, err := dial(s.file, st.forReading())
	if err != nil {
		return err
	}
	defer c.close()
	c.state, c.watch = st, st != state{}
	l, err := c.label(ctx)
	if code(err) == sqlite3.SQLITE_NOTADB {
		return fmt.Errorf("%w: %s is no SQLite database", ErrNotStore, s.file.path)
	}
	if err != nil {
		return err
	}
	return l.check(s.file)
}

// forWriting returns the parameters of the connection that writes. The log is cut to
// 64 MiB when it has been copied whole into the database.
func forWriting(syncWrites bool) url.Values {
	params := url.Values{"mode": {"rw"}, "_pragma": {"synchronous(NORMAL)", "journal_size_limit(67108864)"}}
	if syncWrites {
		params["_pragma"][0] = "synchronous(FULL)"
	}
	return params
}
