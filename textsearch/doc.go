// Package textsearch is ranked full-text search over any store: four operations
// that know nothing of what they index.
//
//	Put        indexes a text under a key, with a weight, in place of what was there
//	Drop       removes one document; DropPrefix all whose keys begin with a prefix
//	Search     returns the best documents for a query
//
// A [Batch] does many of the first two in one transaction. [Highlight] and
// [Snippet] show a text by what a query found in it. Literal search is beside it, in
// package literal.
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
//   - An index has the statistics, the scores and the order of a fresh one of the same
//     documents, whatever was put and dropped before: each operation is one
//     [kv.Update], and joins one that it is called in.
//   - [Check] tells whether an index agrees with its content, and a [Rebuild] makes it
//     anew beside the one that serves, while others search and write.
//
// # How a document scores
//
// A query is words, and each word is looked up: itself and its inflections, its
// parts, or all that begins so. A lookup counts in a document
//
//	idf · weight of the lookup · weight of the document · saturation
//	saturation = f·(k1+1) / (f + k1·(1 - b + b·length/average length))
//
// by the best of its terms there, where that of the very form that was asked for
// counts exactBonus more. idf is ln(1 + (N-df+½)/(df+½)), and df the documents that
// the terms have, each term on its own, at most N. A document's score is the sum over
// the lookups. Its length counts words with a letter; from 41 words on it is taken to
// four significant bits, rounded down.
//
// Postings lie in blocks of which it is known what the best of them can count. A
// search for one word opens the best blocks first, one for several goes through
// windows of 4,096 documents, those first that can have the best, and both end when
// what is left cannot be among the hits that are wanted. Lists that cannot make a
// document one of these are asked for the documents of others alone.
//
// # Layout
//
// All in column kv.Text, below {realm}/idx/text/{index}/: see package
// internal/inverted, which knows nothing of words. An index holds no text, and a
// search reads none.
package textsearch
