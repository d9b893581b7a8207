// Package literal finds a string in texts as it is written, whatever its case: the
// part of literal search that looks at one text at a time.
//
//	Matcher     a needle; Find gives where it stands in a text
//	Trigrammer  the trigrams of a text, by which an index knows where to look
//	Preview     the surroundings of a match, to show
//	Display     a text that may not be UTF-8, to show
//	Page        a text in pieces of bounded size
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
// # Layout
//
// fold.go cuts a text into characters and folds them, matcher.go prepares a
// needle. It is found in two ways: where each character folds to one code point
// of the same length in UTF-8, by eight bytes at a time (pair.go); around others,
// and where a text is made to be slow, by a stream of folded code points that
// never goes back (stream.go). find.go decides between the two, so that the time
// is linear in the text whatever it and the needle are.
package literal
