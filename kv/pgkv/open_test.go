package pgkv_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/pgkv"
	"github.com/crabstore/crabstore/kv/pgkv/pgtest"
)

// sql runs a statement beside the store and returns the first thing it answers, as text.
func sql(t testing.TB, address, statement string, args ...any) (answer string) {
	t.Helper()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatal(err)
		}
		answer = fmt.Sprint(values[0])
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return answer
}

const tables = "select count(*) from information_schema.tables where table_schema = current_schema()"

func with(address, name, value string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func TestManyCreateTheTableAtOnce(t *testing.T) {
	server := pgtest.Shared(t)
	for range 5 {
		address := server.URL(t)
		var openers sync.WaitGroup
		for i := range 8 {
			openers.Go(func() {
				s, err := pgkv.Open(ctx, address, pgkv.Options{})
				if err != nil {
					t.Errorf("opener %d: %v", i, err)
					return
				}
				defer s.Close()
				if err := s.Put(ctx, col, []byte{byte(i)}, nil); err != nil {
					t.Errorf("opener %d: %v", i, err)
				}
			})
		}
		openers.Wait()
		if n := sql(t, address, "select count(*) from crabstore"); n != "9" {
			t.Errorf("%s rows, want those of 8 openers and the format", n)
		}
	}
}

// What is refused is as it was.
func TestForeignAndNewerTablesAreRefused(t *testing.T) {
	server := pgtest.Shared(t)
	for name, c := range map[string]struct {
		make, fill string
		want       error
		says       []string
	}{
		"newer":         {"(col smallint, key bytea, value bytea, primary key (col, key))", "(-1, 'format', '2')", pgkv.ErrVersion, []string{"2", "1"}},
		"much newer":    {"(col smallint, key bytea, value bytea, more text)", "(-1, 'format', '17', 'x')", pgkv.ErrVersion, []string{"17"}},
		"no number":     {"(col smallint, key bytea, value bytea)", "(-1, 'format', 'one')", pgkv.ErrNotStore, nil},
		"number zero":   {"(col smallint, key bytea, value bytea)", "(-1, 'format', '0')", pgkv.ErrNotStore, nil},
		"other columns": {"(id int, name text)", "(1, 'x')", pgkv.ErrNotStore, nil},
		"text keys":     {"(col smallint, key text, value bytea)", "(1, 'x', 'y')", pgkv.ErrNotStore, nil},
		"text values":   {"(col smallint, key bytea, value text)", "(1, 'x', 'y')", pgkv.ErrNotStore, nil},
		"text columns":  {"(col text, key bytea, value bytea)", "('1', 'x', 'y')", pgkv.ErrNotStore, nil},
		"no format":     {"(col smallint, key bytea, value bytea)", "(1, 'x', 'y')", pgkv.ErrNotStore, nil},
	} {
		t.Run(name, func(t *testing.T) {
			address := server.URL(t)
			sql(t, address, "create table crabstore "+c.make)
			sql(t, address, "insert into crabstore values "+c.fill)
			const content = "select string_agg(crabstore::text, ';') from crabstore"
			before := sql(t, address, content)
			for _, readOnly := range []bool{false, true} {
				_, err := pgkv.Open(ctx, address, pgkv.Options{ReadOnly: readOnly})
				if !errors.Is(err, c.want) {
					t.Fatalf("Open: %v, want %v", err, c.want)
				}
				for _, part := range c.says {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q does not say %s", err, part)
					}
				}
			}
			if after := sql(t, address, content); after != before {
				t.Errorf("the table was %s, it is %s", before, after)
			}
		})
	}
}

// The creator of a table may be killed before the row of the format is there, or an
// administrator creates it.
func TestAnEmptyTableIsAdopted(t *testing.T) {
	address := pgtest.Shared(t).URL(t)
	sql(t, address, "create table crabstore (col smallint, key bytea, value bytea, primary key (col, key))")
	reader := open(t, address, pgkv.Options{ReadOnly: true})
	if n := sql(t, address, "select count(*) from crabstore"); n != "0" {
		t.Fatalf("opening to read left %s rows", n)
	}
	s := open(t, address, pgkv.Options{})
	if err := s.Put(ctx, col, []byte("k"), []byte("v")); err != nil {
		t.Fatal(err)
	}
	if v, err := reader.Get(ctx, col, []byte("k")); err != nil || string(v) != "v" {
		t.Errorf("%q, %v", v, err)
	}
	if v := sql(t, address, "select encode(value, 'escape') from crabstore where col = -1"); v != "1" {
		t.Errorf("the format is %q", v)
	}
}

func TestReadOnly(t *testing.T) {
	address := pgtest.Shared(t).URL(t)
	if _, err := pgkv.Open(ctx, address, pgkv.Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("Open of a missing table: %v", err)
	}
	if n := sql(t, address, tables); n != "0" {
		t.Fatalf("it made %s tables", n)
	}
	w := open(t, address, pgkv.Options{})
	if err := w.Put(ctx, col, []byte("local/k"), []byte("v")); err != nil {
		t.Fatal(err)
	}
	for _, realm := range []string{"", "local"} {
		s := open(t, address, pgkv.Options{ReadOnly: true, Realm: realm})
		if v, err := s.Get(ctx, col, []byte("local/k")); err != nil || string(v) != "v" {
			t.Errorf("%q, %v", v, err)
		}
		_, deleted := s.Delete(ctx, col, []byte("local/k"))
		updated := s.Update(ctx, func(tx kv.KVStorage) error { return tx.Put(ctx, col, []byte("local/k"), nil) })
		for _, err := range []error{s.Put(ctx, col, []byte("local/k"), nil), deleted, updated} {
			if !errors.Is(err, kv.ErrReadOnly) {
				t.Errorf("a write: %v", err)
			}
		}
		if got := s.Realm(); got != "local" {
			t.Errorf("the realm is %q", got)
		}
	}
}

func TestTablesHaveNames(t *testing.T) {
	address := pgtest.Shared(t).URL(t)
	for _, name := range []string{"", "Ünï", `quo"ted; drop table crabstore`, strings.Repeat("x", 63)} {
		s := open(t, address, pgkv.Options{Table: name})
		if err := s.Put(ctx, col, []byte("k"), []byte(name)); err != nil {
			t.Fatal(err)
		}
		if v, err := s.Get(ctx, col, []byte("k")); err != nil || string(v) != name {
			t.Errorf("the table %q holds %q, %v", name, v, err)
		}
	}
	if n := sql(t, address, tables); n != "4" {
		t.Errorf("%s tables", n)
	}
	for _, name := range []string{strings.Repeat("x", 64), "a\x00b"} { // the server would cut them
		if _, err := pgkv.Open(ctx, address, pgkv.Options{Table: name}); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
}

func TestUnixSocket(t *testing.T) {
	server := pgtest.Shared(t)
	if server.Socket() == "" {
		t.Skip("the server was not started by pgtest")
	}
	u, err := url.Parse(server.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	address := with(with(strings.Replace(u.String(), u.Host, "", 1), "host", server.Socket()), "port", u.Port())
	st, err := open(t, address, pgkv.Options{}).Stats(ctx)
	if err != nil || !strings.Contains(st.Location, url.QueryEscape(server.Socket())) {
		t.Errorf("%+v, %v", st, err)
	}
}

// No secret comes out, whatever is wrong with it.
func TestPasswordsStaySecret(t *testing.T) {
	const secret = "s3cr%65t/?#@:x" // the server gets s3cret/?#@:x
	escaped := url.UserPassword("u", secret).String()
	_, escaped, _ = strings.Cut(escaped, ":")
	for _, address := range []string{
		"postgres://u:" + escaped + "@127.0.0.1:1/db",
		"postgres://u:" + escaped + "@no.such.host.invalid/db",
		"postgres://u:" + escaped + "@127.0.0.1:1/db?sslmode=wrong",
		"postgres://u:" + escaped + "@127.0.0.1:1/db?pool_max_conns=" + escaped,
		"postgres://u:" + escaped + "@127.0.0.1:port/db",
		"postgres://u:" + secret + "@127.0.0.1:1/db",
		"postgres://u:12/s3cret@127.0.0.1:1/db",
		"postgres://u:12?s3cret@127.0.0.1:1/db",
		"postgres://u:12#s3cret@127.0.0.1:1/db",
		"postgres://127.0.0.1:1/db?user=u&password=s3cret&sslmode=wrong",
		"postgres://127.0.0.1:1/db?user=u&password=s3cret",
		"host=127.0.0.1 port=1 user=u password=s3cret",
		"host=127.0.0.1 port=s3cret user=u password='s3cret",
		"mysql://u:s3cret@127.0.0.1/db",
		"u:s3cret@127.0.0.1/db",
		"s3cret",
		"\x00s3cret",
	} {
		s, err := pgkv.Open(ctx, address, pgkv.Options{})
		if err == nil {
			s.Close()
			t.Errorf("%q could be opened", address)
			continue
		}
		for _, part := range []string{"s3cr", "cret", "%3F%23"} {
			if strings.Contains(fmt.Sprintf("%v %+v %q", err, err, err), part) {
				t.Errorf("%q of the password is in the error: %v", part, err)
			}
		}
		if !errors.Is(err, pgkv.ErrUnreachable) && !strings.Contains(err.Error(), "want postgres://") {
			t.Errorf("%q: the error does not help: %v", address, err)
		}
	}
}

func TestAWrongPasswordIsToldAtOnce(t *testing.T) {
	server := pgtest.Shared(t)
	u, err := url.Parse(server.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(u.User.Username(), "s3cret")
	_, err = pgkv.Open(ctx, u.String(), pgkv.Options{})
	if err == nil || errors.Is(err, pgkv.ErrUnreachable) || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), u.Host) {
		t.Errorf("Open with a wrong password: %v", err)
	}
}

func TestStats(t *testing.T) {
	address := pgtest.Shared(t).URL(t)
	s := open(t, address, pgkv.Options{})
	for c := range kv.Column(3) {
		if err := s.Put(ctx, c, []byte("key"), []byte("value")); err != nil {
			t.Fatal(err)
		}
	}
	st, err := s.Stats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if st.Engine != "postgres" || st.Keys != 3 || st.Bytes != 3*int64(len("key")+len("value")) || st.Location != "postgres://"+u.Host+u.Path {
		t.Errorf("%+v", st)
	}
	password, _ := u.User.Password()
	if strings.Contains(fmt.Sprint(st), password) {
		t.Errorf("the password is in %+v", st)
	}
}

func TestOpenHonoursItsContext(t *testing.T) {
	ended, stop := context.WithCancel(ctx)
	stop()
	if _, err := pgkv.Open(ended, pgtest.Shared(t).URL(t), pgkv.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with an ended context: %v", err)
	}
}
