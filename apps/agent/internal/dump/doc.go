// Package dump writes and reads what a store holds as text, one line a key:
//
//	column key value
//
// The column is a decimal number, key and value are lower-case hexadecimal; an empty
// one is an empty field, so that a line has two spaces always. Lines end in \n and
// are in the order of columns and keys. That is the form in which stores of other
// implementations are compared, and the plainest in which one can be kept.
package dump
