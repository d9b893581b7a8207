package importer

import (
	"maps"
	"slices"
	"time"

	"github.com/crabstore/crabstore/apps/agent/internal/transcripts"
)

// MaxSkipped is how many of the records that were passed over a report names. It
// counts them all.
const MaxSkipped = 1000

// Report says what a run did.
type Report struct {
	Formats []FormatReport `json:"formats"` // by name; those of which something was found

	Skipped      []Skip         `json:"skipped,omitempty"` // the first MaxSkipped records that were passed over
	SkippedTotal int            `json:"skipped_total"`
	Failed       []Failure      `json:"failed,omitempty"`        // files that could not be read, or not to their end
	Unknown      map[string]int `json:"unknown_types,omitempty"` // records of types that the readers do not know, by type
	Unfinished   []string       `json:"unfinished,omitempty"`    // files whose last line is not whole yet; the next run reads it
	LeftOut      []Deleted      `json:"left_out,omitempty"`      // sessions that were deleted here
	NotSessions  []Failure      `json:"not_sessions,omitempty"`  // files that are something else
	Empty        int            `json:"empty_files"`

	DryRun      bool          `json:"dry_run,omitempty"`
	Interrupted bool          `json:"interrupted,omitempty"` // the context ended before the work did
	Duration    time.Duration `json:"duration_ns"`
}

// FormatReport says what was done for one format.
type FormatReport struct {
	Format   transcripts.Format `json:"format"`
	Sources  Sources            `json:"sources"`
	Sessions Counts             `json:"sessions"` // Unchanged are those in sources that were read
	Messages Counts             `json:"messages"`
}

// Add adds what was done for another format.
func (r *FormatReport) Add(o *FormatReport) {
	r.Sources.Read += o.Sources.Read
	r.Sources.Unchanged += o.Sources.Unchanged
	r.Sources.Failed += o.Sources.Failed
	r.Sessions.add(o.Sessions)
	r.Messages.add(o.Messages)
}

// Sources counts units of reading: files, mostly.
type Sources struct {
	Read      int `json:"read"`
	Unchanged int `json:"unchanged"` // nothing new since the last run
	Failed    int `json:"failed"`
}

// Counts counts what was stored, changed, and found to be stored.
type Counts struct {
	New       int `json:"new"`
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	LeftOut   int `json:"left_out,omitempty"` // deleted or truncated here
}

func (c *Counts) add(d Counts) {
	c.New += d.New
	c.Updated += d.Updated
	c.Unchanged += d.Unchanged
	c.LeftOut += d.LeftOut
}

// Skip is a record, or some bytes, that were passed over.
type Skip struct {
	Path   string `json:"path"`
	Line   int64  `json:"line,omitempty"` // from 1; 0 where there are no lines
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
}

// Failure is a file with which something is the matter.
type Failure struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Deleted is a session that was deleted here and is in a source.
type Deleted struct {
	Handle string `json:"handle"`
	Format string `json:"format"`
	ID     string `json:"id"` // in the transcript
}

// Partial tells whether some of the input was not taken.
func (r *Report) Partial() bool { return r.SkippedTotal > 0 || len(r.Failed) > 0 }

// Changed tells whether anything was stored, or would be.
func (r *Report) Changed() bool {
	return slices.ContainsFunc(r.Formats, func(f FormatReport) bool {
		return f.Sessions.New+f.Sessions.Updated+f.Messages.New+f.Messages.Updated > 0
	})
}

// account gathers a report.
type account struct {
	Report
	formats  map[transcripts.Format]*FormatReport
	sessions map[string]*sessionTally // by handle
	leftOut  map[string]Deleted       // by handle
}

// sessionTally is what became of a session.
type sessionTally struct {
	format       transcripts.Format
	new, updated bool
}

func newAccount() *account {
	return &account{
		Report:   Report{Unknown: map[string]int{}},
		formats:  map[transcripts.Format]*FormatReport{},
		sessions: map[string]*sessionTally{},
		leftOut:  map[string]Deleted{},
	}
}

func (a *account) format(f transcripts.Format) *FormatReport {
	r := a.formats[f]
	if r == nil {
		r = &FormatReport{Format: f}
		a.formats[f] = r
	}
	return r
}

func (a *account) fail(path string, reason string) {
	a.Failed = append(a.Failed, Failure{path, reason})
}

func (a *account) skip(s Skip) {
	if a.SkippedTotal++; len(a.Skipped) < MaxSkipped {
		a.Skipped = append(a.Skipped, s)
	}
}

// find takes account of what was found that is no source.
func (a *account) find(f transcripts.Finding) {
	switch f.Status {
	case transcripts.Empty:
		a.Empty++
	case transcripts.NotSession:
		a.NotSessions = append(a.NotSessions, Failure{f.Path, f.Reason})
	case transcripts.Unreadable, transcripts.Unsupported:
		a.fail(f.Path, f.Reason)
	}
}

// read takes account of a piece of a source, beside what its messages became.
func (a *account) read(p *piece) {
	for _, s := range p.batch.Skips {
		a.skip(Skip(s))
	}
	for name, n := range p.batch.Unknown {
		a.Unknown[name] += n
	}
	if p.batch.Unread > 0 {
		a.Unfinished = append(a.Unfinished, p.unit.name)
	}
	if !p.ended {
		return
	}
	sources := &a.format(p.unit.Format).Sources
	switch {
	case p.err != nil:
		sources.Failed++
		a.fail(p.unit.name, p.err.Error())
	case p.unchanged:
		sources.Unchanged++
		a.format(p.unit.Format).Messages.Unchanged += p.known
	default:
		sources.Read++
	}
}

// merge takes account of what a commit made of messages.
func (a *account) merge(t *tally) {
	for format, counts := range t.messages {
		a.format(format).Messages.add(*counts)
	}
	for handle, s := range t.sessions {
		was := a.sessions[handle]
		if was == nil {
			a.sessions[handle] = s
			continue
		}
		was.new, was.updated = was.new || s.new, was.updated || s.updated
	}
	maps.Copy(a.leftOut, t.leftOut)
	for _, s := range t.skips {
		a.skip(s)
	}
}

// close finishes the report.
func (a *account) close() *Report {
	for _, s := range a.sessions {
		counts := &a.format(s.format).Sessions
		switch {
		case s.new:
			counts.New++
		case s.updated:
			counts.Updated++
		default:
			counts.Unchanged++
		}
	}
	for _, handle := range slices.Sorted(maps.Keys(a.leftOut)) {
		d := a.leftOut[handle]
		a.LeftOut = append(a.LeftOut, d)
		a.format(transcripts.Format(d.Format)).Sessions.LeftOut++
	}
	for _, name := range slices.Sorted(maps.Keys(a.formats)) {
		a.Formats = append(a.Formats, *a.formats[name])
	}
	return &a.Report
}

// tally is what one commit makes of messages. It is made anew when the commit is
// tried again.
type tally struct {
	messages map[transcripts.Format]*Counts
	sessions map[string]*sessionTally
	leftOut  map[string]Deleted
	skips    []Skip
}

func newTally() *tally {
	return &tally{map[transcripts.Format]*Counts{}, map[string]*sessionTally{}, map[string]Deleted{}, nil}
}

func (t *tally) count(f transcripts.Format) *Counts {
	c := t.messages[f]
	if c == nil {
		c = &Counts{}
		t.messages[f] = c
	}
	return c
}

func (t *tally) session(f transcripts.Format, handle string) *sessionTally {
	s := t.sessions[handle]
	if s == nil {
		s = &sessionTally{format: f}
		t.sessions[handle] = s
	}
	return s
}
