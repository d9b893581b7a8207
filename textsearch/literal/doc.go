// Package literal finds a string in texts as it is written, whatever its case: in one
// text, and by an index in any number of them that lie in a store.
//
//	Matcher     a needle; Find gives where it stands in a text
//	Preview     the surroundings of a match, to show
//	Display     a text that may not be UTF-8, to show
//	Page        a text in pieces of bounded size
//	Trigrammer  the trigrams of a text, by which an index knows where to look
//
//	Put         indexes a text under a key, in place of what was there
//	Drop        removes one text; DropPrefix all whose keys begin with a prefix
//	Search      returns the texts in which a needle stands, in the order of their keys
//
// A [Batch] does many of the second three in one transaction. [Check] compares an index
// with the texts, and a [Rebuild] makes it anew beside the one that serves.
//
// # What is a match
//
// A text is a sequence of characters, and folding gives for each of them one or
// several code points, which depend on nothing around it. A part of a text that
// begins and ends on the borders of characters matches when it folds to what the
// needle folds to. Matches are taken from the left and do not overlap. Their
// bytes are those of the text as it is, however long the folded form is.
//
// A needle that folds to fewer than three code points is found byte for byte,
// case and all; the empty one nowhere. A needle is data: white space, line breaks
// and bytes that are not UTF-8 are looked for like anything else.
//
// # Folding
//
// It is that of Unicode's canonical caseless matching, full case folding between
// canonical decompositions, for each character alone, and i. It does not depend
// on a locale, a process or the version of a library: fold.txt is all of it, but
// for Hangul, which is decomposed by rule.
//   - Case is folded in full: ß and ẞ are ss, ﬁ is fi, ſ is s, final sigma is
//     sigma. A match never ends inside one of them: "sta" is not in "aßta".
//   - Composed and decomposed forms are equal: é is e and an acute accent, 한 its
//     three jamo, the Kelvin sign k. Marks are significant and characters of their
//     own; several on one letter count in the order in which they stand.
//   - I, i, İ and ı are all i, whatever the language, because the text does not tell
//     which language it is in; and so is each of I, i and ı with the dot above that
//     follows it (U+0307), one character with it.
//   - A byte that is not UTF-8 is a character that equals the same byte only.
//   - Nothing else is equal: full-width letters, superscripts, soft hyphens and
//     joiners are themselves. This is where literal search differs from the words
//     of package textsearch, which are in NFKC.
//
// # The index
//
// An index holds of each text its key and its distinct trigrams, and not the text: a
// search asks a [Source] for those that have all trigrams of the needle, in the order
// of their keys, and finds it in them with a Matcher. So a hit is always right, and a
// text that is gone, or is another one by now, is none. What is indexed and not there
// costs time alone; what is there and not indexed is not found, which is why a text
// and its index are written in one [kv.Update].
//
// A needle that folds to fewer than three code points has no trigram. All texts of the
// index are looked at then, as many at a time as [MaxRead] says.
//
// It lies in column kv.Archive, below {realm}/idx/tri/{index}/, in the segments of
// package inverted. The term of a trigram is its three code points in UTF-8. Of
// 200,000 messages of 330 bytes, 65 MB of English, the index takes 31 MiB.
//
// # Layout
//
// fold.go cuts a text into characters and folds them, matcher.go prepares a
// needle. It is found in two ways: where each character folds to one code point
// of the same length in UTF-8, by eight bytes at a time (pair.go); around others,
// and where a text is made to be slow, by a stream of folded code points that
// never goes back (stream.go). find.go decides between the two, so that the time
// is linear in the text whatever it and the needle are.
//
// search.go carries out a search: candidate.go merges what sources have by their keys,
// and posting.go goes through one list, opening no block that it can pass over.
package literal
