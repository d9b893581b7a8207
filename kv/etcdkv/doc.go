// Package etcdkv makes an etcd cluster a kv.KVStorage: a store that several machines
// share and that outlives any minority of them.
//
// # Promises
//
// What a write has returned for is on the disks of a majority of the members, so a
// power loss or a killed process takes nothing. Reads are linearizable: they see all
// that was acknowledged before, by whichever process. Updates are serializable and all
// or nothing, of whatever size up to the limits, over a crash of the client at any step
// as well. Any number of processes may have a store open.
//
// A call asks for at most Options.Timeout (10 s; a commit whose answer is lost for
// twice as long again), and then says ErrUnavailable, or kv.ErrOutcomeUnknown of a
// commit that it could not follow up. While a majority of the members is up that does
// not happen: an answer that is lost is found out about. The end of a context does not
// take back a commit that has been sent; the call then waits for what comes of it.
//
// # Limits
//
//   - A value is at most MaxValue, 16 MiB; what one transaction writes MaxTransaction,
//     64 MiB. Values above 64 KiB cost a round trip more.
//   - A store is at most what etcd is: a quota of 2 GiB by default, 8 GiB advised at
//     most, of which every key takes a part in memory on every member. When it is used
//     up every write says ErrNoSpace. It is for metadata and sessions, not for a
//     terabyte of artifacts.
//   - Every commit in a store, of whatever process, is one after the other. Measured on
//     a cluster of three on one machine of two cores, busy otherwise, with fsync (go test
//     -bench Cluster): 660 Puts of 1 KiB a second by one writer, 3,600 by 64; 420 Updates
//     that read and write a key; 17,000 keys a second in Updates of 1,000; 1,700 Gets by
//     one reader.
//   - etcd keeps every version of every key until it is compacted, which by default is
//     never. Run it with --auto-compaction-mode=periodic --auto-compaction-retention=1h
//     and defragment it now and then. A scan or View that lasts longer than the
//     retention says ErrHistoryGone.
//   - A scan in reverse makes etcd list the keys of its range, without values, for each
//     page: kv.Last on a prefix of 20,000 keys takes some milliseconds. Members before
//     3.7 read the values for that too.
//   - etcd's --max-txn-ops and --max-request-bytes may not be below their defaults.
//
// # Layout
//
// All keys of a store begin with its name and a slash:
//
//	format                    the version of this layout, in decimal
//	guard                     {state} {epoch:016x} {txid}
//	d/{column}{key}           a value: its tag, and itself or a reference; see value.go
//	v/{length}{column}{key}{id}{n}    chunk n of the value of a key; length and n are u16, big-endian
//	s/{txid}/{n}              piece n, u32, of a commit that is staged; see record.go
//
// # How it works
//
// Every commit is one transaction of etcd that writes the guard among others. An Update
// reads everything at the revision at which it read the guard, and commits on the
// condition that the guard has the revision that it had then. A plain Put or Delete has
// read nothing and commits whatever revision the guard has, if it is clean.
//
// What is too large for one transaction of etcd is first written to the stage, where
// nothing reaches it. It is committed, all of it at once, by the guard's becoming
// pending. Who reads at a revision at which it is reads the stage too, over what is in
// place. The records are then put in place, each batch on the condition that the guard
// is still that one, and the guard is made clean. If whoever is at that dies, the next
// who wants to write does it: it may be done twice and by several at once. Large values
// are written in chunks before the commit that refers to them, and removed by the one
// that replaces them; what a client that crashed leaves of either is removed by Compact,
// by a commit, so that an Update on its way fails and writes it anew.
//
// An Update that others were faster than runs again: with the turn among those of its
// process, then having claimed the guard, for which the others wait, but not for long.
//
// A request whose answer is lost is not made again, for it may arrive yet. Instead the
// epoch in the guard is raised, on which all commits are conditional in one way or the
// other, so that it cannot; then the history of the guard tells whether it had arrived.
// So the outcome is known, and who is told that nothing was written may write again.
//
// # Files
//
// store.go opens a store and has its single reads and writes, tx.go its transactions;
// moment.go is the store at a revision and scan.go walks it. guard.go, commit.go and
// stage.go are how it is committed, value.go and record.go how values and staged records
// lie in etcd, upkeep.go what looks after it. request.go asks etcd, errors.go has what
// it says, and address.go where it is.
package etcdkv
