package transcripts

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// A batch is cut at the end of a record, when it holds this much.
const (
	batchMessages = 512
	batchBytes    = 1 << 20 // of text and images
	batchSkips    = 256
	batchRead     = 8 << 20 // of the file
)

// openSessions is how many sessions of one source are remembered between runs. There is one,
// but for the sidechains of old Claude Code and for files of several sessions.
const openSessions = 32

// maxSpans bounds the lines of one reply that are remembered, to be read again when more of it
// comes. A longer reply is continued as a new message.
const maxSpans = 256

// unknownTypes bounds how many types are told apart in Batch.Unknown.
const unknownTypes = 64

// assembler builds batches. A grammar gives it sessions and messages as its records come; what
// has been yielded already is yielded again when more of it comes.
type assembler struct {
	source   Source
	opts     Options
	amending bool // every message may have been yielded before
	batch    Batch
	size     int64
	records  int64 // over all runs
	known    int64 // of them, of kinds that the grammar knows
	asked    int   // how often a session was asked for

	at        record // the one being read
	replaying bool   // it was read before: see reading.resume
	sessions  map[string]*openSession
	touched   []*openSession    // in this batch
	replies   map[string]*reply // by session and role
	fresh     []*reply          // in this batch
	pending   []*Message        // of this batch
	parents   *recent           // ids of records to IDs of messages
}

// openSession is a session and what was yielded of it.
type openSession struct {
	Session
	yielded Session
	touched bool // in this batch
	used    int  // assembler.asked, when this one last was
}

// reply is a message that further records may add to.
type reply struct {
	key     string
	message *Message // in pending, or a copy of what was yielded
	fresh   bool     // message is in pending
	spans   []int64  // offsets of its records
}

func newAssembler(src Source, opts Options) *assembler {
	return &assembler{source: src, opts: opts, sessions: map[string]*openSession{},
		replies: map[string]*reply{}, parents: newRecent(4096)}
}

// session gives the session of that id, to be filled in, making it if it is new.
func (a *assembler) session(id string) *Session {
	s := a.sessions[id]
	if s == nil {
		s = &openSession{Session: Session{Format: a.source.Format, ID: id, Kind: Main, Source: a.source.label()}}
		a.sessions[id] = s
	}
	a.asked++
	s.used = a.asked
	if !s.touched {
		s.touched = true
		a.touched = append(a.touched, s)
	}
	return &s.Session
}

// add takes a message that is complete. It gives nil when there is nothing in it.
func (a *assembler) add(m Message) *Message {
	if len(m.Blocks) == 0 && !m.Compaction {
		return nil
	}
	m.At = utc(m.At)
	m.Amends = m.Amends || a.amending
	if id, ok := a.parents.get(m.ParentID); ok {
		m.ParentID = id
	}
	p := &m
	a.pending = append(a.pending, p)
	a.size += sizeOf(m.Blocks)
	return p
}

// pass notes a record that holds no message: what names it as its parent follows the message that
// it follows.
func (a *assembler) pass(id, parent string) {
	if _, known := a.parents.get(id); !known {
		message, _ := a.parents.get(parent)
		a.parents.put(id, message)
	}
}

// reply gives the message that the current record adds to: the open one of that session and role
// if it has this key, else a new one made by first. What is added must go through extend.
func (a *assembler) reply(session string, role Role, key string, first func() Message) *reply {
	r := a.replies[slot(session, role)]
	if r != nil && r.key == key && len(r.spans) < maxSpans {
		r.spans = append(r.spans, a.at.offset)
		return r
	}
	m := first()
	m.SessionID, m.Role = session, role
	if id, ok := a.parents.get(m.ParentID); ok {
		m.ParentID = id
	}
	m.Amends = a.amending
	r = &reply{key: key, message: &m, spans: []int64{a.at.offset}}
	a.replies[slot(session, role)] = r
	return r
}

// extend adds blocks to a reply.
func (a *assembler) extend(r *reply, blocks ...Block) {
	if len(blocks) == 0 {
		return
	}
	a.renew(r)
	r.message.Blocks = append(r.message.Blocks, blocks...)
	a.size += sizeOf(blocks)
}

// use counts the usage of a reply once, however often it is repeated or grows: the record with
// the most output has it all.
func (a *assembler) use(r *reply, u Usage) {
	if u.Output < r.message.Usage.Output || u == (Usage{}) || u == r.message.Usage {
		return
	}
	if len(r.message.Blocks) > 0 {
		a.renew(r)
	}
	r.message.Usage = u
}

// renew puts a reply that was yielded before into this batch.
func (a *assembler) renew(r *reply) {
	if r.fresh {
		return
	}
	m := *r.message // what was yielded belongs to the caller now
	m.Blocks = slices.Clone(m.Blocks)
	m.Amends = m.Amends || len(m.Blocks) > 0
	m.At = utc(m.At)
	r.message, r.fresh = &m, true
	a.fresh = append(a.fresh, r)
	a.pending = append(a.pending, &m)
}

// close ends the open reply of a session and role: what comes next is a new message.
func (a *assembler) close(session string, role Role) {
	delete(a.replies, slot(session, role))
}

func (a *assembler) skip(offset int64, reason string) {
	a.batch.Skips = append(a.batch.Skips, Skip{Path: a.source.label(), Line: a.at.line, Offset: offset, Reason: reason})
}

// unknown counts a record, or a part of one, of a type that the grammar does not know.
func (a *assembler) unknown(typ string) {
	if a.batch.Unknown == nil {
		a.batch.Unknown = map[string]int{}
	}
	const longest = 80
	typ = validText(typ[:min(len(typ), longest)])
	if _, seen := a.batch.Unknown[typ]; !seen && len(a.batch.Unknown) >= unknownTypes {
		typ = "(others)"
	}
	a.batch.Unknown[typ]++
}

// full tells whether the batch should be cut. Before anything was understood, nothing is yielded:
// a source of which nothing is will yield an error alone.
func (a *assembler) full(read int64) bool {
	return a.known > 0 && (len(a.pending) >= a.opts.batch || a.size >= batchBytes || read >= batchRead) ||
		len(a.batch.Skips) >= batchSkips
}

// cut ends the batch and begins the next.
func (a *assembler) cut() Batch {
	b := a.batch
	for _, m := range a.pending {
		b.Messages = append(b.Messages, *m)
	}
	for _, s := range a.touched {
		s.touched = false
		if s.Session != s.yielded {
			s.yielded = s.Session
			b.Sessions = append(b.Sessions, s.Session)
		}
	}
	for _, r := range a.fresh {
		r.fresh = false
	}
	a.batch, a.touched, a.fresh, a.pending, a.size = Batch{}, nil, nil, nil, 0
	return b
}

// discard drops what the batch holds: it was yielded before.
func (a *assembler) discard() { a.cut() }

// memory is what an assembler has to know at the next run.
type memory struct {
	Sessions []Session       `json:"sessions,omitempty"`
	Parents  *recent         `json:"parents,omitempty"`
	Grammar  json.RawMessage `json:"grammar,omitempty"`
}

// save gives the offsets of the records of open replies and the memory, for a cursor.
func (a *assembler) save(g grammar) (spans []int64, state []byte, err error) {
	m := memory{Parents: a.parents}
	if m.Grammar, err = json.Marshal(g); err != nil {
		return nil, nil, err
	}
	kept := slices.SortedFunc(maps.Values(a.sessions), func(x, y *openSession) int { return cmp.Compare(y.used, x.used) })
	for _, s := range kept[:min(len(kept), openSessions)] {
		m.Sessions = append(m.Sessions, s.Session)
		for _, role := range []Role{User, Assistant, Tool} {
			if r := a.replies[slot(s.ID, role)]; r != nil {
				spans = append(spans, r.spans...)
			}
		}
	}
	slices.Sort(spans)
	state, err = json.Marshal(m)
	return slices.Compact(spans), state, err
}

// load takes up what save kept.
func (a *assembler) load(g grammar, state []byte) error {
	m := memory{Parents: a.parents}
	if err := json.Unmarshal(state, &m); err != nil {
		return err
	}
	clear(a.sessions)
	for _, s := range m.Sessions {
		a.sessions[s.ID] = &openSession{Session: s, yielded: s}
	}
	return json.Unmarshal(m.Grammar, g)
}

func slot(session string, role Role) string { return session + "\x00" + string(role) }

func sizeOf(blocks []Block) (n int64) {
	for _, b := range blocks {
		n += int64(len(b.Text)+len(b.Input)+len(b.Data)) + 64
	}
	return n
}

// begin moves the start of a session back to t.
func (s *Session) begin(t time.Time) {
	if !t.IsZero() && (s.StartedAt.IsZero() || t.Before(s.StartedAt)) {
		s.StartedAt = utc(t)
	}
}

// set puts v where it says something.
func set(field *string, v text) {
	if v != "" {
		*field = string(v)
	}
}

// setFirst is set for what is said first.
func setFirst(field *string, v text) {
	if *field == "" {
		*field = string(v)
	}
}

func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
