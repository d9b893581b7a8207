package pgkv

import (
	"fmt"

	"github.com/jackc/pgx/v5"
)

// How transactions begin. The query behind it makes that the snapshot is of now: BEGIN
// alone leaves that to the first query.
const (
	beginWrite = "begin isolation level serializable read write"
	beginRead  = "begin isolation level repeatable read read only"
	freeze     = "; select 1"
)

// The sizes of what is read and sent at once.
const (
	pageRows    = 500     // entries in a page of a scan
	reverseRows = 32      // in the first page of one in reverse, which often wants the last entry alone
	pageBytes   = 1 << 20 // values in a page; a larger value comes by itself
	pieceBytes  = 8 << 20 // a larger value comes in pieces
	batchRows   = 1000    // changes in a statement
	batchBytes  = 1 << 20 // changes after which the server is asked how it went
)

// statements are the SQL of a table.
type statements struct {
	create, format, adopt, empty string

	get      string // size, and value if it is no larger than a piece
	piece    string // so many bytes of a value from a place on, the first is 1
	put, del string
	scan     [2]string // from $2 to before $3, ascending and descending
	scanKeys [2]string
	stats    string
}

func statementsFor(table string) statements {
	name := pgx.Identifier{table}.Sanitize()
	s := statements{
		create: "create table if not exists " + name +
			" (col smallint not null, key bytea not null, value bytea not null, primary key (col, key))",
		format: "select key, value from " + name + " where col = -1 and key = $1",
		adopt:  "insert into " + name + " (col, key, value) values (-1, $1, $2) on conflict (col, key) do nothing",
		empty:  "select not exists (select 1 from " + name + ")",
		get: fmt.Sprintf("select octet_length(value), case when octet_length(value) <= %d then value end from %s"+
			" where col = $1 and key = $2", pieceBytes, name),
		piece: "select substring(value from $3::int for $4::int) from " + name + " where col = $1 and key = $2",
		put: "insert into " + name + " (col, key, value) select * from unnest($1::smallint[], $2::bytea[], $3::bytea[])" +
			" on conflict (col, key) do update set value = excluded.value",
		del: "delete from " + name + " where col = $1 and key = any($2::bytea[])",
		stats: "select count(*), coalesce(sum(octet_length(key) + octet_length(value)), 0)::bigint from " + name +
			" where col >= 0 and key >= $1 and key < $2",
	}
	for i, order := range []string{"key", "key desc"} {
		page := " from " + name + " where col = $1 and key >= $2 and key < $3 order by " + order + " limit $4"
		s.scanKeys[i] = "select key" + page
		s.scan[i] = fmt.Sprintf("select key, size, case when size <= %[1]d then value end, found from ("+
			"select key, value, size, sum(size) over (order by %[2]s) as upto, count(*) over () as found from ("+
			"select key, value, octet_length(value) as size%[3]s) as page) as measured"+
			" where upto <= %[1]d or upto = size order by %[2]s", pageBytes, order, page)
	}
	return s
}
