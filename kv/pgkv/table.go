package pgkv

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/gate"
)

// table is the whole table as a store.
type table struct {
	sql   statements
	place string // the address without secrets
	realm string
	cache kv.Cache

	pool  *pgxpool.Pool
	slots chan struct{} // holds a token for each connection that a transaction holds
	turn  chan struct{} // holds one while a transaction that met a conflict has its turn

	patience time.Duration // for conflicts and lost connections
	wait     time.Duration // for a slot

	gate gate.Gate
}

func (t *table) Realm() string    { return t.realm }
func (t *table) Cache() *kv.Cache { return &t.cache }

// Get returns the value of a key.
func (t *table) Get(ctx context.Context, col kv.Column, key []byte) (value []byte, err error) {
	if err := kv.CheckKey(key); err != nil {
		return nil, err
	}
	err = t.call(ctx, func(conn *pgx.Conn) (err error) {
		value, err = t.get(ctx, conn, col, key)
		return err
	})
	return found(value, err)
}

// found makes the absence of a value an error.
func found(value []byte, err error) ([]byte, error) {
	if err == nil && value == nil {
		err = kv.ErrNotFound
	}
	return value, err
}

// get returns the value of a key, or nil. It leaves the connection in a transaction when
// it needed one, so that the pieces of a value are of one moment.
func (t *table) get(ctx context.Context, conn *pgx.Conn, col kv.Column, key []byte) ([]byte, error) {
	value, size, err := t.small(ctx, conn, col, key)
	if err != nil || value != nil || size == 0 {
		return value, err
	}
	if conn.PgConn().TxStatus() == 'I' {
		if err := begin(ctx, conn, beginRead); err != nil {
			return nil, err
		}
		return t.get(ctx, conn, col, key)
	}
	return t.pieces(ctx, conn, col, key, size)
}

// small returns the value of a key, or nil and its size when it comes in pieces, or nil
// and 0 when there is none.
func (t *table) small(ctx context.Context, conn *pgx.Conn, col kv.Column, key []byte) (value []byte, size int64, err error) {
	err = conn.QueryRow(ctx, t.sql.get, int16(col), key).Scan(&size, &value)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, 0, nil
	case err == nil && size == 0:
		return []byte{}, 0, nil
	}
	return value, size, err
}

// pieces returns a value that takes more memory than a connection should.
func (t *table) pieces(ctx context.Context, conn *pgx.Conn, col kv.Column, key []byte, size int64) ([]byte, error) {
	value := make([]byte, 0, size)
	for len(value) < cap(value) {
		var piece []byte
		row := conn.QueryRow(ctx, t.sql.piece, int16(col), key, len(value)+1, min(pieceBytes, cap(value)-len(value)))
		if err := row.Scan(&piece); err != nil {
			return nil, err
		}
		if len(piece) == 0 || len(piece) > cap(value)-len(value) {
			return nil, fmt.Errorf("%w: a piece of %d bytes at %d of %d, of the value of %.80q in %s",
				kv.ErrCorrupt, len(piece), len(value), size, key, col)
		}
		value = append(value, piece...)
	}
	return value, nil
}

// Put sets the value of a key.
func (t *table) Put(ctx context.Context, col kv.Column, key, value []byte) error {
	if err := kv.CheckKey(key); err != nil {
		return err
	}
	if err := kv.CheckValue(value, kv.MaxValueSize); err != nil {
		return err
	}
	if value == nil {
		value = []byte{} // nil is NULL to the driver
	}
	_, err := t.commitAlone(ctx, kv.Change{Column: col, Key: key, Value: value})
	return err
}

// Delete removes a key.
func (t *table) Delete(ctx context.Context, col kv.Column, key []byte) (bool, error) {
	if err := kv.CheckKey(key); err != nil {
		return false, err
	}
	deleted, err := t.commitAlone(ctx, kv.Change{Column: col, Key: key, Delete: true})
	return deleted > 0, err
}

// ScanKeys yields the keys that begin with prefix.
func (t *table) ScanKeys(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[[]byte, error] {
	return kv.KeysOf(t.ScanRange(ctx, col, kv.Range{Prefix: prefix, KeysOnly: true}))
}

// Scan yields the entries whose keys begin with prefix.
func (t *table) Scan(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return t.ScanRange(ctx, col, kv.Range{Prefix: prefix})
}

// stats counts what begins with within.
func (t *table) stats(ctx context.Context, within []byte) (kv.Stats, error) {
	st := kv.Stats{Engine: "postgres", Location: t.place}
	s := spanOf(0, kv.Range{Prefix: within})
	err := t.call(ctx, func(conn *pgx.Conn) error {
		st.Detail = map[string]any{"server_version": conn.PgConn().ParameterStatus("server_version")}
		return conn.QueryRow(ctx, t.sql.stats, s.from, s.to).Scan(&st.Keys, &st.Bytes)
	})
	if err != nil {
		return kv.Stats{}, err
	}
	connections := t.pool.Stat()
	st.Detail["connections"], st.Detail["connections_max"] = int64(connections.TotalConns()), int64(connections.MaxConns())
	st.Detail["connections_held"] = int64(len(t.slots))
	return st, nil
}
