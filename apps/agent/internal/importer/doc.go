// Package importer brings the conversations that package transcripts reads into a
// store, as sessions.
//
// # What it promises
//
//   - A second run adds only what is new. How far a source was read is stored in
//     the commit that stores what was read of it, so a run that is killed at any
//     instant leaves nothing half, and the next one goes on where it was.
//   - A message is stored once, by its ID in its format, whichever files hold copies
//     of it: a resumed or forked session has only what was said in it. Of two forms
//     of one message in one session, the one with more in it stays.
//   - A message of which more came is amended in its place.
//   - A session that was deleted here stays so, and is reported, unless
//     Options.Force brings it back. Messages that were truncated here stay away.
//   - Commits are of bounded size. When the context ends, Run stops between two.
//
// On a store that is not atomic, how far a source was read is written after the
// commit: what a crash leaves unsaid is read again, and found to be there. The text
// index is made anew by the next run.
//
// # How it is laid out
//
//	importer.go   Run: a goroutine that reads ahead, and the one that writes
//	reader.go     the order of sources: what forks come from is read before them
//	chunk.go      what becomes one commit
//	writer.go     one chunk into a batch of sessions; session.go its sessions
//	mend.go       what a store without transactions needs besides
//	convert.go    the transcripts' model as that of sessions
//	record.go     what is remembered: keys and values
//	plan.go       what a run would do, without doing it
//	report.go     what was done
//	index.go      the index of messages by ID: checked and made anew
//
// # Keys
//
//	Config    import/source/{digest of its name}   how far it was read: source
//	          import/session/{handle}              it was imported: tells deleted from unknown
//	          import/writing                       of a store that is not atomic: an import is going on
//	Session   idx/ext/{format}/{message id}        {handle}/{index}
package importer
