package kvtest

import (
	"runtime"
	"sync/atomic"
)

// pace keeps writers from being through before readers have looked: it lets them
// make a step for each that a reader made.
type pace struct {
	ticks   atomic.Int64
	readers atomic.Int32 // that still read
	writers atomic.Int32 // that still write
}

// tick tells that a reader got on.
func (p *pace) tick() {
	p.ticks.Add(1)
	runtime.Gosched()
}

// keep waits until readers have made as many steps as the writer, or are gone.
func (p *pace) keep(step int) {
	for p.ticks.Load() < int64(step) && p.readers.Load() > 0 {
		runtime.Gosched()
	}
}

// readWhileWriting runs writers, which keep the pace, and readers that read over
// and over, for the last time when all writers have ended.
func (f *fixture) readWhileWriting(writers, readers int, write, read func(i int, p *pace) error) {
	f.Helper()
	var p pace
	p.readers.Store(int32(readers))
	p.writers.Store(int32(writers))
	f.together(writers+readers, func(i int) error {
		if i < writers {
			defer p.writers.Add(-1)
			p.keep(1) // a reader has read the store as it was before
			return write(i, &p)
		}
		defer p.readers.Add(-1)
		for {
			last := p.writers.Load() == 0
			if err := read(i-writers, &p); err != nil || last {
				return err
			}
			p.tick()
		}
	})
}
