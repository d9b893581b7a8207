package pgkv

import "time"

// The sizes at which tests look closer.
const (
	PageRows   = pageRows
	PageBytes  = pageBytes
	PieceBytes = pieceBytes
)

// Wait sets how long a store waits: for conflicts and lost connections, and for a
// connection to hold.
func (s *Store) Wait(patience, slot time.Duration) { s.table.patience, s.table.wait = patience, slot }

// Held returns how many connections are held.
func (s *Store) Held() int { return len(s.table.slots) }
