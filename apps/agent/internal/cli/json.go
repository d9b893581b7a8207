package cli

import (
	"encoding/json"
	"io"
	"iter"
)

// newEncoder returns an encoder of values, one a line, as they are meant: < stays <.
func newEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// writeJSON writes a value as one line of JSON.
func (a *app) writeJSON(v any) error { return newEncoder(a.out).Encode(v) }

// writeLines writes values as lines of JSON.
func writeLines[T any](a *app, list iter.Seq[T]) error {
	for v := range list {
		if err := a.writeJSON(v); err != nil {
			return err
		}
	}
	return nil
}
