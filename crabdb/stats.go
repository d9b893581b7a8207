package crabdb

import "context"

// Stats says how a store is. Sizes are in bytes.
type Stats struct {
	Path       string
	Sealed     bool  // false is the plain format
	Keys       int64 // live keys
	File       int64 // length of the log
	Live       int64 // of these, the records that the index points at
	Dead       int64 // the rest but the header and the index: what a compaction would give back
	Index      int64 // heap that the index takes
	Checkpoint int64 // up to where the file was synced when the header was written last

	Recovery   Recovery // what opening found
	Poisoned   error    // why writes are refused, if they are
	Background error    // the failure of the last work in the background, if it failed
}

// Stats returns how the store is now.
func (db *DB) Stats(ctx context.Context) (Stats, error) {
	s, err := db.acquire(ctx)
	if err != nil {
		return Stats{}, err
	}
	defer s.log.release()
	st := Stats{
		Path:       db.path,
		Sealed:     s.log.sealed,
		Keys:       int64(s.view.Len()),
		File:       s.end,
		Live:       s.live,
		Dead:       deadBytes(s.end, s.live, s.named),
		Index:      s.view.Bytes(),
		Checkpoint: db.checkpointed.Load(),
		Recovery:   db.recoveryNow(),
		Poisoned:   db.poisoned(),
	}
	if err := db.background.failed.Load(); err != nil {
		st.Background = *err
	}
	return st, nil
}

func (db *DB) recoveryNow() Recovery {
	db.treeMu.Lock()
	defer db.treeMu.Unlock()
	return db.recovery
}
