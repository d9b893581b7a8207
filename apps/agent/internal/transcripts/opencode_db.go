package transcripts

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// opencode.db holds two generations of tables: session, message and part (1.2 on), and session_v2
// and session_message (2.0 on; some late 1.x wrote session_message beside the others). A database
// may have either or both: 2.0 copied the sessions that it found, once, and left the old tables.
// A session that is in both is read from where it was touched last.

// openSQLite opens a database to read. Where its log (-wal) is to be read with it, SQLite wants
// the log's index (-shm) beside it too, and makes that if it is not there; else nothing is
// created, and SQLite is told that the file does not change.
func openSQLite(path string, log bool) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	query := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(1)"}}
	if !log {
		query.Set("immutable", "1")
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	return sql.Open("sqlite", name.String())
}

// hasLog tells whether a database has a log: it is in use, or was when its writer died.
func hasLog(path string) bool {
	_, err := os.Stat(path + "-wal")
	return err == nil
}

// tablesIn tells which tables a database has, leaving its log alone unless it has none without.
func tablesIn(ctx context.Context, path string) (tables map[string]bool, err error) {
	for _, log := range []bool{false, true} {
		if log && (len(tables) > 0 || !hasLog(path)) {
			break
		}
		db, err := openSQLite(path, log)
		if err != nil {
			return nil, err
		}
		tables, err = tablesOf(ctx, db)
		db.Close()
		if err != nil {
			return nil, err
		}
	}
	return tables, nil
}

func isOpenCode(tables map[string]bool) bool {
	return tables["session"] && tables["message"] && tables["part"] || tables["session_v2"] && tables["session_message"]
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func tablesOf(ctx context.Context, q querier) (map[string]bool, error) {
	tables := map[string]bool{}
	err := query(ctx, q, func(row row) error {
		tables[row.text("name")] = true
		return nil
	}, `SELECT name FROM sqlite_master WHERE type = 'table'`)
	return tables, err
}

// row is one row by the names of its columns: versions differ in which there are.
type row map[string]any

func (r row) text(column string) string {
	switch v := r[column].(type) {
	case string:
		return validText(v)
	case []byte:
		return validText(string(v))
	}
	return ""
}

func (r row) raw(column string) []byte {
	switch v := r[column].(type) {
	case string:
		return []byte(v)
	case []byte:
		return v
	}
	return nil
}

func (r row) number(column string) int64 {
	n, _ := r[column].(int64)
	return n
}

func query(ctx context.Context, q querier, each func(row) error, statement string, args ...any) error {
	rows, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		r := row{}
		for i, name := range names {
			r[name] = values[i]
		}
		if err := each(r); err != nil {
			return err
		}
	}
	return rows.Err()
}

// openCodeDB is one reading of a database.
type openCodeDB struct {
	reading *reading
	tx      querier
	tables  map[string]bool
	since   int64 // what changed before, Unix milliseconds, was read
	latest  int64 // change that there is
}

// dbState is what is remembered of a database.
type dbState struct{ Since int64 }

func (r *reading) readDatabase() error {
	now, err := identifyDB(r.src.Path)
	if err != nil {
		return err
	}
	if now.Size == r.from.Size && now.Head == r.from.Head {
		return nil
	}
	var state dbState
	if r.from.State != nil {
		if err := json.Unmarshal(r.from.State, &state); err != nil {
			return fmt.Errorf("the cursor is not one of ours: %w", err)
		}
	}
	db, err := openSQLite(r.src.Path, hasLog(r.src.Path))
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(r.ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer tx.Rollback() // it wrote nothing
	d := &openCodeDB{reading: r, tx: tx, since: state.Since, latest: state.Since}
	r.asm.amending = state.Since > 0
	r.mark = func(last bool) (Cursor, error) {
		if !last {
			return r.from, nil
		}
		now.Records, now.Known = r.asm.records, r.asm.known
		now.State, err = json.Marshal(dbState{Since: d.latest})
		return now, err
	}
	return d.read()
}

// identifyDB knows a database by size and time, its log included.
func identifyDB(path string) (Cursor, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Cursor{}, err
	}
	print := []string{strconv.FormatInt(info.Size(), 10), strconv.FormatInt(info.ModTime().UnixNano(), 10)}
	if log, err := os.Stat(path + "-wal"); err == nil {
		print = append(print, strconv.FormatInt(log.Size(), 10), strconv.FormatInt(log.ModTime().UnixNano(), 10))
	}
	return Cursor{Size: info.Size(), ModTime: info.ModTime().UnixNano(), Head: digest(print...)}, nil
}

// dbSession is a session and the generation it is read from.
type dbSession struct {
	row     row
	second  bool
	updated int64
}

func (d *openCodeDB) read() (err error) {
	if d.tables, err = tablesOf(d.reading.ctx, d.tx); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !isOpenCode(d.tables) {
		return ErrChanged
	}
	sessions, err := d.sessions()
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if s.updated < d.since {
			continue
		}
		if err := d.session(s); err != nil {
			return err
		}
	}
	return d.reading.emit(true)
}

// sessions lists the sessions, each once, oldest first, with the time of their last change.
func (d *openCodeDB) sessions() ([]dbSession, error) {
	byID := map[string]dbSession{}
	for _, generation := range []string{"session", "session_v2"} {
		if !d.tables[generation] {
			continue
		}
		changed, err := d.changes(generation)
		if err != nil {
			return nil, err
		}
		err = query(d.reading.ctx, d.tx, func(r row) error {
			id := r.text("id")
			s := dbSession{row: r, second: generation == "session_v2", updated: max(r.number("time_updated"), changed[id])}
			d.latest = max(d.latest, s.updated)
			if before, both := byID[id]; !both || s.updated >= before.updated {
				byID[id] = s
			}
			return nil
		}, `SELECT * FROM `+generation)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return slices.SortedFunc(maps.Values(byID), func(x, y dbSession) int {
		return cmp.Or(cmp.Compare(x.row.number("time_created"), y.row.number("time_created")), cmp.Compare(x.row.text("id"), y.row.text("id")))
	}), nil
}

// changes gives the time of the last change below each session of a generation.
func (d *openCodeDB) changes(generation string) (map[string]int64, error) {
	tables := []string{"message", "part", "session_message"}
	if generation == "session_v2" {
		tables = tables[2:]
	}
	changed := map[string]int64{}
	for _, table := range tables {
		if !d.tables[table] {
			continue
		}
		err := query(d.reading.ctx, d.tx, func(r row) error {
			id := r.text("session_id")
			changed[id] = max(changed[id], r.number("updated"))
			return nil
		}, `SELECT session_id, max(time_updated) AS updated FROM `+table+` GROUP BY session_id`)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return changed, nil
}

// session yields a session and those of its messages that changed.
func (d *openCodeDB) session(s dbSession) error {
	o := openCodeSession{ID: text(s.row.text("id")), ParentID: text(s.row.text("parent_id")), ForkedID: text(s.row.text("fork_session_id")),
		Directory: text(s.row.text("directory")), Title: text(s.row.text("title")), Version: text(s.row.text("version")), Agent: text(s.row.text("agent"))}
	o.Time.V.Created.Time = unixTime(float64(s.row.number("time_created")))
	if raw := s.row.raw("model"); raw != nil {
		_ = decode(raw, &o.Model) // what cannot be read says nothing
	}
	session := o.open(d.reading.asm)
	if !s.second {
		n, err := d.messages(session)
		if n > 0 || err != nil {
			return err
		}
	}
	if !d.tables["session_message"] {
		return nil
	}
	return d.secondMessages(session)
}

// messages yields the messages of the first generation, and how many there are.
func (d *openCodeDB) messages(s *Session) (n int, err error) {
	parts, changed := map[string][]openCodePart{}, map[string]int64{}
	err = query(d.reading.ctx, d.tx, func(r row) error {
		var p openCodePart
		if d.object(r, &p) {
			p.ID = text(r.text("id"))
			id := r.text("message_id")
			parts[id] = append(parts[id], p)
			changed[id] = max(changed[id], r.number("time_updated"))
		}
		return nil
	}, `SELECT id, message_id, time_updated, data FROM part WHERE session_id = ? ORDER BY id`, s.ID)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return n, d.each(s, &n, func(r row, m *openCodeMessage) int64 {
		m.Parts = parts[r.text("id")]
		return changed[r.text("id")]
	}, `SELECT id, time_created, time_updated, data FROM message WHERE session_id = ? ORDER BY time_created, id`)
}

// secondMessages yields the messages of the second generation.
func (d *openCodeDB) secondMessages(s *Session) error {
	order := "time_created, id"
	err := query(d.reading.ctx, d.tx, func(r row) error {
		if r.text("name") == "seq" {
			order = "seq"
		}
		return nil
	}, `SELECT name FROM pragma_table_info('session_message')`)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var n int
	return d.each(s, &n, func(r row, m *openCodeMessage) int64 {
		m.Type = text(r.text("type"))
		return 0
	}, `SELECT id, type, time_created, time_updated, data FROM session_message WHERE session_id = ? ORDER BY `+order)
}

// each adds the messages that a statement selects and that changed. complete brings what is not
// in the row's data, and tells when that changed.
func (d *openCodeDB) each(s *Session, n *int, complete func(row, *openCodeMessage) int64, statement string) error {
	r := d.reading
	var rows []row
	err := query(r.ctx, d.tx, func(row row) error {
		rows = append(rows, row)
		return nil
	}, statement, s.ID)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	*n = len(rows)
	for _, row := range rows {
		m := &openCodeMessage{}
		if !d.object(row, m) {
			continue
		}
		m.ID = text(row.text("id"))
		if max(complete(row, m), row.number("time_updated")) < d.since {
			continue
		}
		if m.Time.V.Created.IsZero() {
			m.Time.V.Created.Time = unixTime(float64(row.number("time_created")))
		}
		if err := m.take(r, s); err != nil {
			return err
		}
	}
	return nil
}

// object reads the data of a row. A damaged one is skipped.
func (d *openCodeDB) object(r row, into any) bool {
	raw := r.raw("data")
	err := decode(raw, into)
	if err == nil && len(raw) > d.reading.opts.MaxLine {
		err = fmt.Errorf("row of %d bytes; the limit is %d", len(raw), d.reading.opts.MaxLine)
	}
	if err != nil {
		d.reading.asm.batch.Skips = append(d.reading.asm.batch.Skips,
			Skip{Path: d.reading.src.label(), Reason: r.text("id") + ": " + reason(err)})
		return false
	}
	return true
}
