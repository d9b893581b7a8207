package main

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// fts5Settings is true of all tokenizers.
const fts5Settings = "A contentless table (contentless_delete) and, beside it, a table of the keys by rowid, without an index over " +
	"keys, so that no earlier document is looked for. Pages as they are by default; WAL, mmap_size 4 GiB, cache_size 64 MiB; one connection, " +
	"prepared statements. No sync: synchronous NORMAL; durable: FULL. Optimized: 'optimize' and VACUUM."

// fts5Indexers are FTS5 with each of its tokenizers, through the driver that this
// program was built with.
func fts5Indexers() []indexer {
	of := func(name, tokenizer, what string) indexer {
		return indexer{
			name: name, title: "FTS5 " + name + fts5Language, module: fts5Module, literals: name == "trigram",
			settings: fmt.Sprintf("tokenize = '%s': %s. %s", tokenizer, what, fts5Settings),
			open:     func(dir string, synced bool) (index, error) { return openFTS5(dir, tokenizer, synced) },
		}
	}
	return []indexer{
		of("unicode61", "unicode61", "words as they stand, ranked by BM25"),
		of("porter", "porter unicode61", "Porter's stems, ranked by BM25; a prefix is looked for among stems"),
		of("trigram", "trigram", "literals, unranked: any ten"),
	}
}

type fts5Index struct {
	db                                   *sql.DB
	addText, addKey, ranked, any, counts *sql.Stmt
}

func openFTS5(dir, tokenizer string, synced bool) (index, error) {
	level := "NORMAL"
	if synced {
		level = "FULL"
	}
	pragmas := fmt.Sprintf(`PRAGMA journal_mode=WAL; PRAGMA synchronous=%s; PRAGMA mmap_size=4294967296; PRAGMA cache_size=-65536`, level)
	x := &fts5Index{db: sql.OpenDB(connector{fts5Driver, filepath.Join(dir, "fts5.db"), pragmas})}
	x.db.SetMaxOpenConns(1)
	if err := x.prepare(tokenizer); err != nil {
		return nil, errors.Join(err, x.close())
	}
	return x, nil
}

func (x *fts5Index) prepare(tokenizer string) error {
	_, err := x.db.Exec(fmt.Sprintf(`
		CREATE TABLE IF NOT EXISTS message (id INTEGER PRIMARY KEY, key TEXT NOT NULL);
		CREATE VIRTUAL TABLE IF NOT EXISTS found USING fts5(text, content='', contentless_delete=1, tokenize='%s')`, tokenizer))
	if err != nil {
		return err
	}
	const keys = `SELECT key FROM found JOIN message ON message.id = found.rowid WHERE found MATCH ? `
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&x.addKey, `INSERT INTO message (key) VALUES (?)`},
		{&x.addText, `INSERT INTO found (rowid, text) VALUES (?, ?)`},
		{&x.ranked, keys + `ORDER BY rank LIMIT ?`},
		{&x.any, keys + `LIMIT ?`},
		{&x.counts, `SELECT count(*) FROM found WHERE found MATCH ?`},
	} {
		if *p.stmt, err = x.db.Prepare(p.text); err != nil {
			return err
		}
	}
	return nil
}

func (x *fts5Index) add(docs []document) error {
	tx, err := x.db.Begin()
	if err != nil {
		return err
	}
	addKey, addText := tx.Stmt(x.addKey), tx.Stmt(x.addText)
	for _, d := range docs {
		if err := addBoth(addKey, addText, d); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

func addBoth(addKey, addText *sql.Stmt, d document) error {
	added, err := addKey.Exec(d.key)
	if err != nil {
		return err
	}
	id, err := added.LastInsertId()
	if err != nil {
		return err
	}
	_, err = addText.Exec(id, d.text)
	return err
}

// match is a query in FTS5's language: strings, which are quoted as SQL's names are.
func match(q query) string {
	quoted := query{Kind: q.Kind}
	for _, w := range q.Words {
		quoted.Words = append(quoted.Words, strings.ReplaceAll(w, `"`, `""`))
	}
	text := quoted.text(" OR ", `"%s"`)
	if q.Kind == prefix {
		text += "*"
	}
	return text
}

func (x *fts5Index) top(q query) ([]string, error) {
	stmt := x.ranked
	if q.Kind == literal {
		stmt = x.any
	}
	rows, err := stmt.Query(match(q), topHits)
	if err != nil {
		return nil, err
	}
	var keys []string
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		keys = append(keys, key)
	}
	return keys, errors.Join(rows.Err(), rows.Close())
}

func (x *fts5Index) count(q query) (n int, err error) {
	err = x.counts.QueryRow(match(q)).Scan(&n)
	return n, err
}

func (x *fts5Index) optimize() error {
	_, err := x.db.Exec(`INSERT INTO found (found) VALUES ('optimize'); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

func (x *fts5Index) close() error { return x.db.Close() }
