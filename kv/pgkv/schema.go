package pgkv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// formatVersion is the format that this build writes. Whatever a later one changes, the
// row with its number stays where it is and reads as a decimal number.
const formatVersion = 1

var formatKey = []byte("format")

// errAgain says that the table is to be looked at once more.
var errAgain = errors.New("pgkv: somebody else created the table, or it was just created")

// prepare finds the table in the format of this build, and creates it if it may. Others may
// do so at the same time.
func (t *table) prepare(ctx context.Context, readOnly bool) error {
	for range 20 {
		err := t.try(ctx, func(conn *pgx.Conn) error { return t.lookAt(ctx, conn, readOnly) })
		f, fault := err.(*fault)
		switch {
		case errors.Is(err, errAgain), fault && f.conflict:
			if err := t.gate.Sleep(ctx, firstPause); err != nil {
				return err
			}
		case fault:
			return t.unreachable(f.cause)
		default:
			return err
		}
	}
	return fmt.Errorf("pgkv: %s: the table comes and goes", t.place)
}

// lookAt returns errAgain when it has changed something.
func (t *table) lookAt(ctx context.Context, conn *pgx.Conn, readOnly bool) error {
	version, err := t.version(ctx, conn)
	switch sqlstate := code(err); {
	case sqlstate == "42P01" && readOnly:
		return fmt.Errorf("there is no table for the store: %w", fs.ErrNotExist)
	case sqlstate == "42P01":
		return t.create(ctx, conn)
	case sqlstate == "42703", sqlstate == "42883", sqlstate == "42804": // no such column, or of another type
		return fmt.Errorf("%w: %w", ErrNotStore, err)
	case err != nil:
		return err
	case version == "":
		return t.adopt(ctx, conn, readOnly)
	}
	n, err := strconv.Atoi(version)
	switch {
	case err != nil || n < 1:
		return fmt.Errorf("%w: its format is %.20q", ErrNotStore, version)
	case n > formatVersion:
		return fmt.Errorf("%w: it is %d, this build knows %d; use a newer build", ErrVersion, n, formatVersion)
	}
	return nil
}

// version returns what the row of the format holds, or nothing.
func (t *table) version(ctx context.Context, conn *pgx.Conn) (version string, err error) {
	rows, err := conn.Query(ctx, t.sql.format, formatKey)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for _, column := range rows.FieldDescriptions() {
		if column.DataTypeOID != pgtype.ByteaOID {
			return "", fmt.Errorf("%w: the column %s is no bytea", ErrNotStore, column.Name)
		}
	}
	for rows.Next() {
		var value []byte
		if err := rows.Scan(nil, &value); err != nil {
			return "", err
		}
		version = string(value)
	}
	return version, rows.Err()
}

// create creates the table, or finds that others just do: IF NOT EXISTS looks before
// they have committed.
func (t *table) create(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, t.sql.create)
	switch code(err) {
	case "42P07", "42710", "23505": // the table, its type, or a row about them is there
		return errAgain
	case "XX000": // "tuple concurrently updated"
		return errAgain
	}
	if err != nil {
		return fmt.Errorf("the table cannot be created: %w", err)
	}
	return errAgain
}

// adopt writes the row of the format into a table that has none because it was just
// created. One that holds something was made by somebody else.
func (t *table) adopt(ctx context.Context, conn *pgx.Conn, readOnly bool) error {
	var empty bool
	if err := conn.QueryRow(ctx, t.sql.empty).Scan(&empty); err != nil {
		return err
	}
	switch {
	case !empty:
		return t.adoptedMeanwhile(ctx, conn)
	case readOnly:
		return nil
	}
	if _, err := conn.Exec(ctx, t.sql.adopt, formatKey, []byte(strconv.Itoa(formatVersion))); err != nil {
		return err
	}
	return errAgain
}

// adoptedMeanwhile tells a foreign table from one of which the row of the format was
// written after it was looked for.
func (t *table) adoptedMeanwhile(ctx context.Context, conn *pgx.Conn) error {
	version, err := t.version(ctx, conn)
	switch {
	case err != nil:
		return err
	case version != "":
		return errAgain
	}
	return fmt.Errorf("%w: the table has rows, and none that tells its format", ErrNotStore)
}
