package sessions

import (
	"encoding/json"
	"time"
)

// Event is one entry of a session's event log.
type Event struct {
	Seq  int             `json:"seq"` // from 1, no gaps; given by AppendEvents
	Type string          `json:"type"`
	At   time.Time       `json:"at,omitempty,omitzero"` // UTC; the time of AppendEvents when that was given none
	Data json.RawMessage `json:"data,omitempty"`        // one JSON value
}
