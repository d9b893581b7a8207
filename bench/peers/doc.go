// Command peers measures crabdb beside the engines that people would otherwise
// link, each through its own API and in the setting that its documentation
// recommends for the workload, and beside the floor: what the operating system
// and an in-memory B-tree take for the same. So it measures textsearch beside
// libraries for search.
//
//	go run . -rounds 3 -out ../RESULTS.md -svg ../peers.svg
//	go run . corpus
//	go run -tags sqlite_fts5 . search -out ../SEARCH.md
//
// # How it measures
//
// A round gives each store its turn, and rounds follow one another, so that what
// the machine does meanwhile meets all alike. Each stage of a store's turn is a
// process of its own, so that no heap, cache or background work carries over; it
// sends its figures to the parent as JSON on a pipe. The table shows medians.
//
// Every stage also sends answers: how many keys it found, and sums over the bytes
// read. They are the same for all stores, or the run fails, so nobody measures an
// empty store.
//
// # How it is laid out
//
//	main.go, parent.go, child.go        flags; rounds; one stage in a process
//	lines.go                            the lines of the table
//	workload.go, histogram.go           keys and values; latencies
//	load.go, read.go, write.go, stall.go   the stages
//	process.go                          memory and disk use
//	store.go and one file per engine    the adapters
//	floor.go                            the floor
//	report.go, chart.go, machine.go     the table, the plot, what it ran on
//	search.go, searchreport.go          search: flags and rounds; lines and table
//	query.go, indexing.go               its queries, drawn; its stages
//	index.go and one file per engine    its adapters
//	corpus.go, prose.go                 its messages: packages, and what is cut from them
//
// It runs on Linux, whose /proc tells how memory is used.
package main
