// Package textsearch is ranked full-text search over any store: four operations
// that know nothing of what they index.
//
//	Put        indexes a text under a key, with a weight, in place of what was there
//	Drop       removes one document; DropPrefix all whose keys begin with a prefix
//	Search     returns the best documents for a query
//
// A [Batch] does many of the first two in one transaction. [Highlight] and
// [Snippet] show a text by what a query found in it.
//
// # What it promises
//
//   - A word finds its inflections and the exact form ranks first; identifiers are
//     found whole and by their parts; languages without spaces by any two
//     characters or one; a prefix with * by the words as written. What counts as a
//     word, and how it is folded, is written in internal/analysis.
//   - A query is data: whatever a person types is no error ([Query]).
//   - Scores are BM25 times the weight, finite and above zero. Hits are ordered by
//     score and then by key, so that pages neither repeat nor skip.
//   - An index is what a fresh one of the same documents would be, byte for byte,
//     whatever was put and dropped before: each operation is one [kv.Update], and
//     joins one that it is called in.
//
// # Layout
//
// All in column kv.Text, below {realm}/idx/text/{index}/, parts escaped as in
// every key:
//
//	doc/{key}           uvarint length, weight, count; and count times
//	                    uvarint n, term of n bytes, uvarint frequency
//	term/{term}/{key}   uvarint frequency, length, weight: the posting
//	stem/{stem}/{term}  empty: a term in use that has another stem than itself
//	stats               document count, total length, language; msgpack
//
// The length is that of the document in words. The weight is a float64 as its bits
// reversed by bytes, in a uvarint: the usual ones take three bytes.
//
// Terms are surface forms, so the postings of a word serve its exact form, its
// prefixes and, by way of stem, its inflections. A posting holds all that scoring
// needs: search reads no document.
//
// Every posting is listed in its document. On a store whose updates are not
// atomic, writes are ordered so that a crash keeps it so: postings go before the
// document that lists them changes, and come after it. What is then amiss, [Check]
// finds and [Repair] puts right, from the documents alone.
//
// layout.go and record.go know this layout; analysis, scoring and ranking do not.
package textsearch
