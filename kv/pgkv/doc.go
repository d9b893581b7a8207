// Package pgkv makes a table of a PostgreSQL database a kv.KVStorage. With it any number
// of processes on any number of machines share a store.
//
// # What is there
//
// One table has a row for each key: (col smallint, key bytea) is its primary key and
// value a bytea, so that keys are compared as bytes whatever the collation of the
// database. Open creates the table when it is missing. The row (-1, "format"), which is
// in no column of kv, holds the number of the format; Open refuses a later one than it
// knows and changes nothing then. Nothing is asked of the server that CockroachDB or
// YugabyteDB lack: neither advisory locks nor notifications, exported snapshots or
// extensions. (YugabyteDB spreads a column of the store over its nodes when the table is
// created beforehand with PRIMARY KEY (col ASC, key ASC).) Nothing is asked of a session
// beyond the end of a transaction, so a pooler like PgBouncer may stand between; one that
// keeps no prepared statements wants default_query_exec_mode=exec in the URL.
//
// # Transactions
//
// Everything that writes, a Put too, is a SERIALIZABLE transaction: the server knows what
// it read and lets nobody come between. An Update reads at one snapshot, keeps what it
// writes in memory and sends it, in the order of the keys, when its function has
// returned: no row is locked while the caller's code runs, and a process that is killed
// leaves nothing locked. When the server reports a conflict (40001, 40P01) the function
// runs again, after a pause by chance; from its first conflict on a transaction waits for
// those of this process that had one before it. Half a minute of that is kv.ErrBusy.
//
// A View and a long scan are REPEATABLE READ, READ ONLY: they read one snapshot, are never
// refused for what others write and never the cause that others are refused.
// SERIALIZABLE would make them both. (A server that has no REPEATABLE READ takes it for
// more: CockroachDB for SERIALIZABLE.)
//
// # Scans
//
// A scan whose range has fewer than 500 entries (32 in reverse) that take no more than 1 MiB
// is one query, and holds no connection while the caller's code runs. A longer one
// holds a transaction and reads page after page behind the last key. A value over 1 MiB
// comes by itself, over 8 MiB in pieces, so that a page takes no more memory than that.
//
// # Connections
//
// pool_max_conns in the URL is how many connections a store has at most, 16 if nothing
// is said, and at least 2. A quarter of them, and at least one, is kept from transactions and
// long scans, for the calls in which none of the caller's code runs. So a Get or a Put goes
// on in the body of whatever scan. What is nested beyond the rest of them waits for 10
// seconds and then gets kv.ErrBusy.
//
// When the connection is lost, or the server restarts, what has surely written nothing is
// done again on a new one, for half a minute, and then is ErrUnreachable: a Get, a scan that
// has not yielded yet, all of an Update, a Put or Delete that was not sent. What is lost while
// a commit was on its way is kv.ErrOutcomeUnknown. That is never done again, not
// even a Put, which would be the same twice: another writer's value may have come between,
// and a first attempt that is still on its way to the server could replace it later on.
// A View, or a scan that has yielded, ends with ErrUnreachable: its moment is gone.
//
// # Limits
//
// Values have the 256 MiB of kv; a single write is sent as one message, which CockroachDB
// limits to 16 MiB unless told otherwise. A power loss takes what the settings of the
// server allow it to take: by default, nothing that was acknowledged. A server that
// vanishes from the network without a word is noticed when a context ends.
package pgkv
