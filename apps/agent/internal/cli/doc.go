// Package cli is the command line of agent.
//
// # What it promises
//
//   - What goes to a person is text and tables, what goes to a program, with --json,
//     is JSON: one value, or one a line for lists. Diagnostics are on stderr.
//   - The exit code is 0 when all was done, 1 when it failed, 2 for wrong usage, 3
//     when it was done but part of the input was skipped, and 130 when it was
//     interrupted.
//   - Commands that read open the store to be read, beside whoever writes it, and
//     create nothing.
//   - Wherever a session's handle is asked for, the beginning of one will do, if no
//     other begins so.
//
// # How it is laid out
//
// run.go runs a command line and says how it ended, app.go is what commands share,
// usage.go how they are called, errors.go what is said of errors, json.go the form
// for programs, handle.go short handles. Then there is one file a command, or a
// few for one with many.
package cli
