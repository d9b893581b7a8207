// Package inverted is an inverted index in the keys of a store: documents under
// keys, and for each term the documents that have it. Ranked and literal search are
// made of it.
//
// # Segments
//
// Documents come into the index one by one or many at once, and lie in segments.
// One that is there is never changed. It has, as tables sorted by key (table.go),
//
//	documents  by key: the length; a document is known in its segment by its number,
//	           which is its place in this order, so that of equal documents the one
//	           with the lesser key has the lesser number
//	terms      a term: its postings, or where they are (list.go)
//	groups     a group, the byte 0 and a term of the group that has another name
//
// and besides, for each window of 4,096 documents, their lengths and weights
// (norms.go). Postings come in blocks of 128 (block.go), and of each block it is
// known, without reading it, which frequencies and lengths it has at best.
//
// A document that is dropped, or put anew, is marked as gone in its segment. A few
// documents that were written one by one are kept as they came, in a log, until
// there are enough for a segment (writer.go). Segments of about one size are merged
// to one, a slice of that at each write, so that no write waits for it; what is gone
// is left out (merge.go).
//
// # Keys
//
// Below the root of an index, {realm}/idx/{kind}/{index}/:
//
//	stats          counts, the number of the next operation, the generation
//	building       the same of a generation that is being built (rebuild.go)
//	{gen}/list     the segments and the merges under way
//	{gen}/new/{n}  an operation that no segment has yet
//	{gen}/key/{k}  the number of the operation that added the document k
//	{gen}/seg/{id}/{kind}/{n}   the values of a segment
//
// Ids are random and never used again, so that whatever is read of a segment can be
// kept in memory, in the store's kv.Cache, and is right in every snapshot and
// transaction. The stats are written after all that they count, and what is no
// longer needed is deleted after them: on a store whose updates are not atomic, a
// crash leaves the index as it was before or after, but that what was being dropped
// may be gone and still be counted, until a rebuild; and values that nothing leads
// to, which Check finds and Sweep deletes.
package inverted
