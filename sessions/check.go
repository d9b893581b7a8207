package sessions

import (
	"context"

	"github.com/crabstore/crabstore/kv"
)

// Fault is one thing in which a session's content and indexes do not agree.
type Fault struct {
	Handle string `json:"handle"`
	What   string `json:"what"`
}

func (f Fault) String() string { return "session " + f.Handle + ": " + f.What }

// Check compares content and indexes of a session, or of all sessions when handle
// is empty, and returns what does not agree: none means that all does. The error
// is that of a store that could not be read.
func Check(ctx context.Context, s kv.KVStorage, handle string) ([]Fault, error) {
	return nil, nil
}

// Reindex makes the indexes of a session, or of all sessions when handle is empty,
// again from the content, each session in one commit, and removes what they have
// of sessions that are no more. It returns how many sessions it made anew.
func Reindex(ctx context.Context, s kv.KVStorage, handle string) (int, error) {
	return 0, nil
}
