package sqlitekv

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"

	"modernc.org/sqlite"

	"github.com/crabstore/crabstore/kv"
)

// The statements that a connection prepares when they are first needed. They fit
// every version of the table. Bounds are always given: a scan without an end ends
// below a key that is longer than any. The plus keeps SQLite from preparing a scan anew
// whenever the column changes from or to 0 or 1, for which it might have another plan.
const (
	getValue = iota
	putValue
	deleteKey
	keysUp
	keysDown
	entriesUp
	entriesDown
	touch
	begin
	beginWriting
	commit
	rollback
	statements
)

var texts = [statements]string{
	getValue:     `SELECT value FROM entries WHERE col = ?1 AND key = ?2`,
	putValue:     `INSERT INTO entries (col, key, value) VALUES (?1, ?2, ?3) ON CONFLICT (col, key) DO UPDATE SET value = excluded.value`,
	deleteKey:    `DELETE FROM entries WHERE col = ?1 AND key = ?2`,
	keysUp:       `SELECT key FROM entries WHERE col = +?1 AND key >= ?2 AND key < ?3 ORDER BY key`,
	keysDown:     `SELECT key FROM entries WHERE col = +?1 AND key >= ?2 AND key < ?3 ORDER BY key DESC`,
	entriesUp:    `SELECT key, value FROM entries WHERE col = +?1 AND key >= ?2 AND key < ?3 ORDER BY key`,
	entriesDown:  `SELECT key, value FROM entries WHERE col = +?1 AND key >= ?2 AND key < ?3 ORDER BY key DESC`,
	touch:        `SELECT 1 FROM entries LIMIT 1`,
	begin:        `BEGIN`,
	beginWriting: `BEGIN IMMEDIATE`,
	commit:       `COMMIT`,
	rollback:     `ROLLBACK`,
}

// conn is a connection with its prepared statements, used by one goroutine at a time.
// It uses the driver without database/sql, which would copy every value once more and
// start goroutines for every query of a context that can end.
type conn struct {
	raw      driver.Conn
	prepared [statements]driver.Stmt
	file     file
	state    state // of the file when it was opened, for who only reads
	watch    bool  // that the state stays
}

func dial(f file, params url.Values) (*conn, error) {
	params.Set("_error_rc", "1") // an error's text is that of its code
	raw, err := new(sqlite.Driver).Open(f.name(params))
	if err != nil {
		return nil, err
	}
	return &conn{raw: raw, file: f}, nil
}

func (c *conn) close() error {
	for _, s := range c.prepared {
		if s != nil {
			_ = s.Close() // repeats the error of its last use
		}
	}
	return c.raw.Close()
}

func (c *conn) statement(id int) (driver.Stmt, error) {
	if c.prepared[id] == nil {
		s, err := c.raw.Prepare(texts[id])
		if err != nil {
			return nil, err
		}
		c.prepared[id] = s
	}
	return c.prepared[id], nil
}

func named(args []any) []driver.NamedValue {
	values := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	return values
}

// exec runs a prepared statement. It is given no context: one that ended while a
// statement committed would be its result.
func (c *conn) exec(id int, args ...any) (driver.Result, error) {
	s, err := c.statement(id)
	if err != nil {
		return nil, err
	}
	return s.(driver.StmtExecContext).ExecContext(context.Background(), named(args))
}

// query runs a prepared statement and hands each row to take, until that returns
// false. The row is valid during the call.
func (c *conn) query(id int, take func(row []driver.Value) (more bool, err error), args ...any) error {
	s, err := c.statement(id)
	if err != nil {
		return c.checked(err)
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), named(args))
	if err == nil {
		err = each(rows, take)
	}
	return c.checked(err)
}

// checked returns the error of a reading, or errChanged if what was read, or seems to be
// corrupt, may be a mixture of old and new.
func (c *conn) checked(err error) error {
	if !c.watch || c.state.log {
		return err
	}
	if now, changed := c.file.state(); changed != nil || now != c.state {
		return errors.Join(errChanged, changed)
	}
	return err
}

func each(rows driver.Rows, take func(row []driver.Value) (bool, error)) (err error) {
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(row); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if more, err := take(row); !more || err != nil {
			return err
		}
	}
}

// ask runs a query that is not prepared, of one row of numbers and texts.
func (c *conn) ask(ctx context.Context, text string) (row []driver.Value, err error) {
	rows, err := c.raw.(driver.QueryerContext).QueryContext(ctx, text, nil)
	if err == nil {
		err = each(rows, func(values []driver.Value) (bool, error) {
			row = append(row, values...)
			return false, nil
		})
	}
	if err == nil && row == nil {
		err = fmt.Errorf("no answer to %q", text)
	}
	return row, c.checked(err)
}

// run runs statements that are not prepared.
func (c *conn) run(ctx context.Context, text string) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(ctx, text, nil)
	return err
}

func (c *conn) get(col kv.Column, key []byte) (value []byte, err error) {
	err = c.query(getValue, func(row []driver.Value) (_ bool, err error) {
		value, err = bytesOf(row[0])
		return false, err
	}, int64(col), key)
	return value, err
}

func (c *conn) put(col kv.Column, key, value []byte) error {
	if value == nil {
		value = []byte{} // nil would be NULL
	}
	_, err := c.exec(putValue, int64(col), key, value)
	return err
}

func (c *conn) delete(col kv.Column, key []byte) (existed bool, err error) {
	result, err := c.exec(deleteKey, int64(col), key)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// bytesOf returns a value of the driver, which made it for us, as bytes: never nil
// where there is no error.
func bytesOf(value driver.Value) ([]byte, error) {
	b, ok := value.([]byte)
	if !ok {
		return nil, fmt.Errorf("%w: a %T where a BLOB belongs", kv.ErrCorrupt, value)
	}
	if b == nil {
		b = []byte{} // how the driver has an empty one
	}
	return b, nil
}
