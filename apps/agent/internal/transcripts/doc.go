// Package transcripts reads the conversations that other agents left on a machine and turns each
// of them into one neutral model: sessions, messages, blocks. It knows nothing of stores; an
// importer writes what it yields.
//
// Claude Code, Codex CLI, pi, OpenCode and ChatGPT exports are read, in every generation of their
// grammars that real files were found of. What a file is, is found by its content, never by its
// name or place.
//
// # Finding and reading
//
// [Walk] finds a [Source] for each unit below some paths: one file of JSON lines, one JSON
// document, one member of a .zip, one session of an OpenCode storage tree, one OpenCode database.
// [Read] yields a source as a series of [Batch] values. Each batch carries the [Cursor] to store
// beside it: an importer that writes a batch and its cursor in one commit can be killed at any
// instant, and the next run goes on behind the last commit, with nothing lost and nothing twice.
//
// # Promises
//
//   - A batch is whole: a session or message in it stands for all that was known of it when it was
//     cut, never for a difference. A message that is yielded again because more of it came has
//     Amends set, keeps its ID, and replaces what the same source yielded before.
//   - One reply of a model is one message, whatever number of lines it was written in, and its
//     usage is counted once. Tool results are messages of role tool in every format.
//   - A message ID is stable and unique within its format. A resumed or forked session that holds
//     copies of another's messages yields them under the same IDs where the format lets us see
//     that, so an importer can pass over what it has.
//   - What the person typed or was shown is told apart from what the harness put in its place or
//     around it: those blocks are kept, with Injected set.
//   - Damaged and oversized records are passed over, one at a time, and reported with file, line
//     and byte offset. Record types that nobody taught us are counted by name. A source of which
//     nothing at all was understood is an error.
//   - Every string that leaves here is valid UTF-8; what was not becomes U+FFFD. NUL is kept.
//   - Memory is bounded by the longest line ([Options].MaxLine) and one batch for files of lines,
//     by one conversation for exports, by one session for OpenCode.
//
// # The last line of a file
//
// A file of lines may still be written to. A last line that has no newline yet is taken when it
// is complete, that is, when all of it is one or more whole JSON objects: the prefix of an object
// is never an object, so nothing half-written is taken for whole. The cursor then stands behind
// it, and the newline that comes later is an empty line. Otherwise it is left where it is: the
// cursor stays before it, Batch.Unread says how many bytes there are, and the next run reads it.
//
// # Layout
//
//	model.go           the neutral model
//	source.go          Source, Cursor, Options, Batch: what Read takes and gives
//	read.go            Read: one reader per layout
//	lines.go           lines and their offsets; records.go: the values on a line, salvage
//	assembler.go       batches under construction: sessions, open replies, skips
//	framing.go         telling injected text from what was said
//	claude*.go codex*.go pi.go opencode*.go chatgpt.go replay.go     one grammar each
//	sniff.go walk.go places.go     what a file is, where files are
package transcripts
