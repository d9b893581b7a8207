package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
)

// sqliteSettings is true of both drivers.
const sqliteSettings = "A table WITHOUT ROWID with the primary key (col, key); pages of 8 KiB, since rows of such a table " +
	"should be under a twentieth of a page; WAL; mmap_size 4 GiB, cache_size 64 MiB; one connection that writes and a pool " +
	"that reads, prepared statements. No sync: synchronous NORMAL. With fsync: synchronous FULL. " +
	"Compaction: VACUUM, which excludes writers, and wal_checkpoint(TRUNCATE)."

type sqliteStore struct {
	writer, reader *sql.DB

	putStmt, deleteStmt           *sql.Stmt // of writer
	getStmt, keysStmt, valuesStmt *sql.Stmt // of reader
}

// openSQLite opens a database through a driver, which says where pragmas go in no
// common way; so they are statements.
func openSQLite(d driver.Driver, dir string, m mode) (store, error) {
	level := "NORMAL"
	if m.synced {
		level = "FULL"
	}
	pragmas := fmt.Sprintf(`PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=%s;
		PRAGMA busy_timeout=10000; PRAGMA mmap_size=4294967296; PRAGMA cache_size=-65536`, level)
	c := connector{d, filepath.Join(dir, "sqlite.db"), pragmas}
	s := &sqliteStore{writer: sql.OpenDB(c), reader: sql.OpenDB(c)}
	s.writer.SetMaxOpenConns(1)
	readers := max(2, runtime.NumCPU())
	s.reader.SetMaxOpenConns(readers)
	s.reader.SetMaxIdleConns(readers)
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *sqliteStore) prepare() error {
	_, err := s.writer.Exec(`CREATE TABLE IF NOT EXISTS kv (
		col INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (col, key)) WITHOUT ROWID`)
	if err != nil {
		return err
	}
	for _, p := range []struct {
		stmt **sql.Stmt
		db   *sql.DB
		text string
	}{
		{&s.putStmt, s.writer, `INSERT INTO kv VALUES (?, ?, ?) ON CONFLICT (col, key) DO UPDATE SET value = excluded.value`},
		{&s.deleteStmt, s.writer, `DELETE FROM kv WHERE col = ? AND key = ?`},
		{&s.getStmt, s.reader, `SELECT value FROM kv WHERE col = ? AND key = ?`},
		{&s.keysStmt, s.reader, `SELECT key FROM kv WHERE col = ? AND key >= ? AND key < ? ORDER BY key`},
		{&s.valuesStmt, s.reader, `SELECT key, value FROM kv WHERE col = ? AND key >= ? AND key < ? ORDER BY key`},
	} {
		if *p.stmt, err = p.db.Prepare(p.text); err != nil {
			return err
		}
	}
	return nil
}

func (s *sqliteStore) put(key, value []byte) error {
	_, err := s.putStmt.Exec(column, key, value)
	return err
}

func (s *sqliteStore) putBatch(entries []entry) error {
	tx, err := s.writer.Begin()
	if err != nil {
		return err
	}
	put := tx.Stmt(s.putStmt)
	for _, e := range entries {
		if _, err := put.Exec(column, e.key, e.value); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

func (s *sqliteStore) get(key, _ []byte) ([]byte, error) {
	var value []byte
	err := s.getStmt.QueryRow(column, key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		err = errAbsent
	}
	return value, err
}

func (s *sqliteStore) delete(key []byte) error {
	_, err := s.deleteStmt.Exec(column, key)
	return err
}

func (s *sqliteStore) scan(prefix []byte, values bool, visit func(key, value []byte)) error {
	stmt := s.keysStmt
	var key, value sql.RawBytes
	into := []any{&key}
	if values {
		stmt, into = s.valuesStmt, []any{&key, &value}
	}
	rows, err := stmt.Query(column, prefix, prefixEnd(prefix))
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return errors.Join(err, rows.Close())
		}
		visit(key, value)
	}
	return errors.Join(rows.Err(), rows.Close())
}

func (s *sqliteStore) compact() error {
	_, err := s.writer.Exec(`VACUUM; PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

func (s *sqliteStore) close() error { return errors.Join(s.reader.Close(), s.writer.Close()) }

// connector opens connections that all have the same pragmas.
type connector struct {
	driver  driver.Driver
	path    string
	pragmas string
}

func (c connector) Driver() driver.Driver { return c.driver }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.path)
	if err != nil {
		return nil, err
	}
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T executes no statements", conn), conn.Close())
	}
	if _, err := execer.ExecContext(ctx, c.pragmas, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
