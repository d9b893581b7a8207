package console

import (
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
)

// Progress is a bar on a terminal. Where there is none it is nothing.
type Progress struct {
	writer  progress.Writer
	tracker *progress.Tracker
	done    chan struct{}
}

// Progress begins a bar.
func (p *Printer) Progress(title string) *Progress {
	if !p.Terminal() {
		return &Progress{}
	}
	b := &Progress{writer: progress.NewWriter(), done: make(chan struct{})}
	b.tracker = &progress.Tracker{Message: title, Total: 1, Units: progress.UnitsBytes, AutoStopDisabled: true, RemoveOnCompletion: true}
	b.writer.SetOutputWriter(p.file)
	b.writer.SetStyle(progress.StyleBlocks)
	style := b.writer.Style()
	style.Visibility = progress.StyleVisibility{Percentage: true, Tracker: true, ETA: true}
	b.writer.SetTrackerLength(min(30, p.width/4))
	b.writer.SetMessageLength(max(10, min(44, p.width/2)))
	b.writer.SetUpdateFrequency(100 * time.Millisecond)
	b.writer.AppendTracker(b.tracker)
	go func() {
		b.writer.Render()
		close(b.done)
	}()
	return b
}

// Set says how far it is, of a total, and what it is at.
func (b *Progress) Set(value, total int64, title string) {
	if b.tracker == nil {
		return
	}
	total = max(total, 1)
	b.tracker.UpdateTotal(total)
	b.tracker.SetValue(min(value, total))
	b.tracker.UpdateMessage(title)
}

// End ends the bar and leaves it as it is.
func (b *Progress) End() {
	if b.tracker == nil {
		return
	}
	b.tracker.MarkAsDone()
	b.writer.Stop()
	<-b.done
}
