// Package memory keeps what is to be remembered beyond a conversation: notes,
// facts, preferences, the summaries of archived sessions.
//
// Every function takes any [kv.KVStorage], a transaction too, and does what
// belongs together in one kv.Update. An entry has a name and any number of
// aliases; all of them together are unique, so that one leads to one entry.
//
// # Names
//
// A name is any text of 1 to [MaxName] bytes that is valid UTF-8 and not blank.
// It is compared byte for byte: A is another name than a, and é in one code point
// another than é in two. A slash in a name is part of it (a/b is no folder a), but
// [Filter] can list what lies under one.
//
// # Promises
//
// Every change moves Revision; a writer that states the revision it has read gets
// [kv.ErrConflict] if another was faster. What is stored is valid UTF-8. Times
// are UTC.
//
// On a store whose updates are not atomic a crash can leave an entry that some of
// its aliases do not lead to, or, in the middle of a rename, under both names; it
// never leaves an alias that leads to an entry that has not that alias. [Reindex]
// mends the first.
//
// # Keys
//
//	Memory    memory/{name}         Entry
//	          idx/alias/{alias}     name
//	Text      idx/text/memory/…     a document {kind}/{name} for every entry
package memory
