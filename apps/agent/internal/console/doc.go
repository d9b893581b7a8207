// Package console writes what people read: text, tables and progress, fitted to
// the terminal where there is one.
//
// # What it promises
//
//   - Style (bold, dim, underline) goes to terminals alone, and not where NO_COLOR
//     is set or TERM is dumb. The words are the same with and without.
//   - Text that comes from elsewhere, such as a transcript, passes through Line or
//     Text: what is left of it moves no cursor, changes no color and has no other
//     effect on a terminal.
//   - Nothing is cut or wrapped where there is no terminal: a program may be reading.
//
// # How it is laid out
//
// printer.go is a stream and its styles, clean.go makes text safe, fit.go cuts and
// wraps it, marked.go shows matches, table.go and progress.go what they say, and
// when.go times.
package console
