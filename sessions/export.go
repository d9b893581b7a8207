package sessions

import (
	"context"
	"errors"
	"iter"

	"github.com/crabstore/crabstore/kv"
)

// Record is one part of an exported session: one of its fields is not nil.
type Record struct {
	Meta    *Meta    `json:"meta,omitempty"`
	Message *Message `json:"message,omitempty"`
	Event   *Event   `json:"event,omitempty"`
	State   []byte   `json:"state,omitempty"`
}

// Export yields all that is stored of a session as it is at one moment: its meta,
// every message, every event, and the state of its worker when there is one. What
// it yields is valid UTF-8 and has a JSON form. Like Messages it goes on behind a
// message that cannot be decoded.
func Export(ctx context.Context, s kv.KVStorage, handle string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		going := true // when it is not, yield must not be called again
		err := kv.View(ctx, s, func(s kv.KVStorage) error {
			return export(ctx, s, handle, func(r Record, err error) bool {
				going = yield(r, err)
				return going
			})
		})
		if err != nil && going {
			yield(Record{}, err)
		}
	}
}

// export returns the error that ends the iteration, without yielding it. It yields
// nothing more when yield was false.
func export(ctx context.Context, s kv.KVStorage, handle string, yield func(Record, error) bool) error {
	meta, err := loadMeta(ctx, s, handle)
	if err != nil || !yield(Record{Meta: &meta}, nil) {
		return err
	}
	for m, err := range Messages(ctx, s, handle, Range{}) {
		if err != nil && !errors.Is(err, kv.ErrCorrupt) {
			return err
		}
		if !yield(Record{Message: &m}, err) {
			return nil
		}
	}
	for e, err := range Events(ctx, s, handle, 0) {
		if err != nil || !yield(Record{Event: &e}, nil) {
			return err
		}
	}
	state, err := State(ctx, s, handle)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return nil
	case err == nil:
		yield(Record{State: state}, nil)
	}
	return err
}
