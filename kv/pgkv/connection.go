package pgkv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/crabstore/crabstore/kv"
)

const (
	defaultConns    = 16               // where the URL says nothing
	defaultPatience = 30 * time.Second // for conflicts and lost connections
	defaultWait     = 10 * time.Second // for a connection to hold
	connectLimit    = 10 * time.Second // for one attempt to connect, where the URL says nothing
	cancelLimit     = time.Second      // for the server to give up what a context has ended
	firstPause      = 2 * time.Millisecond
	longestPause    = 250 * time.Millisecond
)

// newTable returns the table that an URL and options name. It does not connect.
func newTable(ctx context.Context, address string, o Options) (*table, error) {
	if len(o.Table) > 63 || strings.ContainsRune(o.Table, 0) {
		return nil, fmt.Errorf("pgkv: %q is no name for a table: it has up to 63 bytes, none of them 0", o.Table)
	}
	config, err := configOf(address)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("pgkv: %s: %w", placeOf(config.ConnConfig), err)
	}
	if o.Realm == "" {
		o.Realm = kv.DefaultRealm
	}
	conns := int(config.MaxConns)
	return &table{
		sql:      statementsFor(o.Table),
		place:    placeOf(config.ConnConfig),
		realm:    o.Realm,
		pool:     pool,
		slots:    make(chan struct{}, conns-max(1, conns/4)),
		turn:     make(chan struct{}, 1),
		patience: defaultPatience,
		wait:     defaultWait,
	}, nil
}

// configOf reads an URL, and adds what it does not say.
func configOf(address string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(address)
	if u, parsed := url.Parse(address); err != nil || parsed == nil && u.Scheme != "" && stranded(u, address) {
		return nil, misread(address, err)
	}
	if plain, err := pgx.ParseConfig(address); err == nil && plain.RuntimeParams["pool_max_conns"] == "" {
		config.MaxConns = defaultConns
	}
	config.MaxConns = max(2, config.MaxConns)
	conn := config.ConnConfig
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectLimit
	}
	if conn.RuntimeParams["application_name"] == "" {
		conn.RuntimeParams["application_name"] = "crabstore"
	}
	// When a context ends the server is asked to give up, so that it is known whether a
	// commit has happened, and the connection goes on.
	conn.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelLimit}
	}
	return config, nil
}

// misread is the error of an URL that is none. It repeats of it only what cannot hold a
// password: the driver's own error quotes all of it where it does not know its parts.
func misread(address string, err error) error {
	const want = "want postgres://user:password@host:5432/database?parameters, with / ? # and @ in a password escaped"
	u, parsed := url.Parse(address)
	if parsed != nil || u.User == nil {
		return errors.New("pgkv: the address of the database cannot be read; " + want)
	}
	_, why, _ := strings.Cut(err.Error(), "`: ") // what is before it is the address
	password, _ := u.User.Password()
	for _, secret := range []string{password, u.Query().Get("password"), u.Query().Get("sslpassword")} {
		if secret != "" && (strings.Contains(why, secret) || strings.Contains(why, url.QueryEscape(secret))) {
			why = "a parameter is wrong"
		}
	}
	return fmt.Errorf("pgkv: the address of the database cannot be read: %s; %s", why, want)
}

// stranded tells whether a password is where a parser takes it for something else,
// which happens when it has characters in it that should have been escaped.
func stranded(u *url.URL, address string) bool {
	return u.User == nil && strings.Contains(address, "@")
}

// placeOf names a database without secrets.
func placeOf(c *pgx.ConnConfig) string {
	u := url.URL{Scheme: "postgres", Path: "/" + c.Database}
	if strings.HasPrefix(c.Host, "/") {
		u.RawQuery = url.Values{"host": {c.Host}}.Encode()
	} else {
		u.Host = net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	}
	return u.String()
}

// call runs a step on a connection, inside the gate, again when the connection is lost.
// None of the caller's code runs in it.
func (t *table) call(ctx context.Context, step func(*pgx.Conn) error) error {
	leave, err := t.gate.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return t.retry(ctx, func() error { return t.try(ctx, step) })
}

// try runs a step on a connection of the pool and makes its error a *fault where it is
// one.
func (t *table) try(ctx context.Context, step func(*pgx.Conn) error) error {
	return t.once(ctx, func(conn *pgx.Conn) error { return t.failure(ctx, conn, step(conn)) })
}

// once runs a step on a connection of the pool, and rolls back what it left undone.
func (t *table) once(ctx context.Context, step func(*pgx.Conn) error) error {
	conn, err := t.pool.Acquire(ctx)
	if err != nil {
		return t.failure(ctx, nil, err)
	}
	defer release(conn)
	return step(conn.Conn())
}

// release gives a connection back, out of any transaction.
func release(conn *pgxpool.Conn) {
	if c := conn.Conn().PgConn(); !c.IsClosed() && c.TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.Background(), cancelLimit)
		defer cancel()
		_ = c.Exec(ctx, "rollback").Close() // a connection on which it fails is not used again
	}
	conn.Release()
}

// begin runs statements without parameters in one message.
func begin(ctx context.Context, conn *pgx.Conn, sql string) error {
	return conn.PgConn().Exec(ctx, sql).Close()
}

// retry repeats what failed by a *fault, with pauses, until it does not, or for as long
// as the table is patient.
func (t *table) retry(ctx context.Context, step func() error) error {
	var until time.Time
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := step()
		f, again := err.(*fault)
		if !again {
			return err
		}
		if until.IsZero() {
			until = time.Now().Add(t.patience)
		}
		if time.Now().After(until) {
			return t.tell(f)
		}
		if err := t.gate.Sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return err
		}
	}
}

// take waits for a place among tokens, which is given back by receiving from it. What
// does not come in time is kv.ErrBusy, with advice.
func (t *table) take(ctx context.Context, tokens chan struct{}, limit time.Duration, advice string) error {
	select {
	case tokens <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case tokens <- struct{}{}:
		return nil
	case <-timer.C:
		return fmt.Errorf("%w: %s: %s (waited for %v)", kv.ErrBusy, t.place, advice, limit)
	case <-t.gate.Closing():
		return kv.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}
