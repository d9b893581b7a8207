package pgkv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/crabstore/crabstore/kv"
)

var (
	// ErrNotStore is returned by Open when the table is not one that this package made.
	// Nothing was changed. Choose another name in Options.Table.
	ErrNotStore = errors.New("pgkv: the table is no store")

	// ErrVersion is returned by Open for a store of a later format than this build
	// knows. Nothing was changed. Use a newer build.
	ErrVersion = errors.New("pgkv: the store has a newer format")

	// ErrUnreachable is returned when the server cannot be reached, or was lost, for
	// longer than the store waits for it. Nothing was written.
	ErrUnreachable = errors.New("pgkv: the database cannot be reached")
)

// fault is a failure after which nothing was written, and what failed can be done again.
// It does not leave the package: tell makes an error of it that does.
type fault struct {
	conflict bool // another transaction was in the way; else the connection was lost
	cause    error
}

func (f *fault) Error() string { return f.cause.Error() }
func (f *fault) Unwrap() error { return f.cause }

// isConflict tells whether err is a fault of that kind.
func isConflict(err error) bool {
	f, ok := err.(*fault)
	return ok && f.conflict
}

// code returns the SQLSTATE of an error, or nothing.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// failure makes a *fault of what the driver returned, or the error that the caller gets.
// conn is nil when there was no connection yet.
func (t *table) failure(ctx context.Context, conn *pgx.Conn, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch sqlstate := code(err); {
	case sqlstate == "40001", sqlstate == "40P01", sqlstate == "55P03":
		return &fault{conflict: true, cause: err}
	case unserved(sqlstate), conn == nil && sqlstate == "":
		return &fault{cause: err}
	case conn != nil && conn.IsClosed():
		t.pool.Reset() // the others are probably lost too, and that is better noticed before a commit
		return &fault{cause: err}
	}
	return t.permanent(err)
}

// unserved tells whether a server says of itself that it cannot serve now: it shuts
// down or starts, has too many connections, or lost one itself.
func unserved(sqlstate string) bool {
	return strings.HasPrefix(sqlstate, "57P") || strings.HasPrefix(sqlstate, "08") || sqlstate == "53300"
}

// permanent is the error of what would fail again, or for a reason that the caller
// should know.
func (t *table) permanent(err error) error {
	sentinel := error(nil)
	switch sqlstate := code(err); {
	case sqlstate == "25006":
		sentinel = kv.ErrReadOnly
	case sqlstate == "57014": // a time limit of the server's: the context is asked before
		sentinel = kv.ErrBusy
	case strings.HasPrefix(sqlstate, "54"):
		sentinel = kv.ErrTxTooLarge
	}
	if sentinel != nil {
		return fmt.Errorf("%w: %s: %w", sentinel, t.place, err)
	}
	return fmt.Errorf("pgkv: %s: %w", t.place, err)
}

// tell is the error of a fault for the caller: in a transaction, which will run again if
// it can, or when it came for too long.
func (t *table) tell(f *fault) error {
	if f.conflict {
		return fmt.Errorf("%w: %s: other transactions are in the way: %w", kv.ErrBusy, t.place, f.cause)
	}
	return t.unreachable(f.cause)
}

func (t *table) unreachable(cause error) error {
	return fmt.Errorf("%w: %s: %w", ErrUnreachable, t.place, cause)
}

// outcome is failure for what ended with a commit.
func (t *table) outcome(ctx context.Context, conn *pgx.Conn, err error) error {
	if err == nil || !uncertain(conn, err) {
		return t.failure(ctx, conn, err)
	}
	t.pool.Reset()
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %s: %w: %w", kv.ErrOutcomeUnknown, t.place, ctx.Err(), err)
	}
	return fmt.Errorf("%w: %s: %w", kv.ErrOutcomeUnknown, t.place, err)
}

// uncertain tells whether a commit that failed may have happened. It has not when
// nothing was sent, or statements to be prepared alone, and when the server refused it
// on a connection that goes on, unless it says that it does not know itself: CockroachDB
// by 40003, and by an internal error whoever is distributed.
func uncertain(conn *pgx.Conn, err error) bool {
	var before pgx.ErrPreprocessingBatch
	if pgconn.SafeToRetry(err) || errors.As(err, &before) {
		return false
	}
	sqlstate := code(err)
	return conn.IsClosed() || sqlstate == "40003" || unserved(sqlstate) || strings.HasPrefix(sqlstate, "XX")
}
