package home

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/crabstore/crabstore/apps/agent/internal/files"
	"github.com/crabstore/crabstore/apps/agent/internal/migrate"
	"github.com/crabstore/crabstore/kv/sqlitekv"
)

func sqliteBackend() backend {
	return backend{
		name: SQLite, tag: "sqlite", file: "store.sqlite3", form: "sqlite:FILE", isDefault: sqliteIsDefault,
		open:    openSQLite,
		restore: restoreSQLite,
		is:      func(path string, info os.FileInfo) bool { return begins(path, info, "SQLite format 3\x00") },
	}
}

func openSQLite(ctx context.Context, place string, access Access) (Store, error) {
	return asStore(sqlitekv.Open(ctx, place, sqlitekv.Options{ReadOnly: access == Read}))
}

// restoreSQLite writes a database beside the place, reads all of it, and gives it the
// place's name.
func restoreSQLite(ctx context.Context, place string, r io.Reader) error {
	if something(place) {
		return fmt.Errorf("%s: %w; move it away first", place, os.ErrExist)
	}
	temp := place + ".restoring"
	err := files.Write(temp, false, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
	if err == nil {
		err = readAll(ctx, temp)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("not a sound backup: %w", err), os.Remove(temp))
	}
	return move(temp, place)
}

func readAll(ctx context.Context, path string) error {
	s, err := openSQLite(ctx, path, Read)
	if err != nil {
		return err
	}
	_, err = migrate.SumOf(ctx, s, nil)
	return errors.Join(err, s.Close())
}
