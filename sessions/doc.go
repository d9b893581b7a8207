// Package sessions keeps conversations: messages, events, state and what
// describes them, as functions over any kv.KVStorage.
//
// # What it promises
//
//   - A session is addressed by a handle that encodes nothing.
//   - The order of messages is that of appending, whatever clocks say. An index is
//     given once. Nothing but Truncate, and Delete, removes history.
//   - What belongs together is one commit: messages with the counters in Meta, the
//     list entry and the text index. Update makes several changes one commit.
//   - Every commit that changes a session moves Meta.Revision by one. A writer that
//     states the revision it has read, with Batch.Expect, gets kv.ErrConflict when
//     another was faster.
//   - Events are one log per session, sequences from 1 without gaps, given in the
//     commit that stores them.
//   - What enters is valid UTF-8 and valid JSON, or is made so with U+FFFD; and so is
//     what comes out of older stores. A message that cannot be decoded is an error in
//     its place and does not hide the others.
//   - Check tells whether indexes and content agree, and Reindex makes the indexes
//     again from the content. On a store without transactions a crash leaves content
//     that nothing reaches, never an index entry that points at nothing.
//
// # How it is laid out
//
// meta.go, message.go and event.go are the types, key.go their keys and clean.go
// the door. Every writing function is a method of Batch (batch.go) that is called
// in an Update; session.go, append.go, events.go, state.go, truncate.go and
// compact.go have one kind of change each, and pairing.go the rule by which a
// context is cut. read.go, list.go and export.go read. index.go says what of a
// message is found, text.go writes it to the text index, search.go finds it and
// window.go shows it. check.go and reindex.go compare index and content.
package sessions
