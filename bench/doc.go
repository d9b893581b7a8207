// Package bench measures the stores that ship here, one beside the other in the
// same run, through the five methods and transactions that everything else uses,
// and the text index above them:
//
//	go test -run '^$' -bench . ./bench
//
// Keys are shaped as sessions have them, local/session/{ulid}/msg/{idx:012}, in
// sessions that take turns; values are 256 bytes that compress a little. Figures
// are a call, or an entry where the name says so. bench/ir measures how good the
// ranking is.
package bench
