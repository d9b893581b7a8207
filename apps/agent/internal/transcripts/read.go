package transcripts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
)

// grammar turns the records of one format into sessions and messages. Its exported fields are
// what it has to remember between runs; they are kept as JSON.
type grammar interface {
	// take reads one record, a JSON object. It tells whether the record was of a known kind, and
	// fails, having done nothing, when it cannot be decoded.
	take(a *assembler, r record) (known bool, err error)
}

// newGrammar is the grammar of the records of a source.
func newGrammar(src Source) grammar {
	switch {
	case src.Format == Codex:
		return &codex{}
	case src.Format == Pi:
		return &pi{}
	case src.Format == ChatGPT:
		return &chatGPT{}
	case src.Format == ClaudeReplay:
		return &turns{}
	case src.Format == OpenCode && src.Layout == Lines:
		return &openCodeEvents{}
	case src.Format == OpenCode:
		return &openCodeExport{}
	default:
		return newClaude(src)
	}
}

// Read yields what the source holds beyond the cursor, as batches. There is none when nothing is
// new. At most one error ends it: ErrNotUnderstood, ErrDamaged, ErrChanged, one of the file
// system, or of ctx; what was yielded before it stands. It opens files for reading only and
// changes none.
func Read(ctx context.Context, src Source, from Cursor, opts Options) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		opts = opts.withDefaults()
		r := &reading{ctx: ctx, src: src, from: from, opts: opts, yield: yield,
			asm: newAssembler(src, opts), grammar: newGrammar(src)}
		r.asm.records, r.asm.known = from.Records, from.Known
		if err := r.run(); err != nil && !errors.Is(err, errStopped) {
			yield(Batch{}, fmt.Errorf("%s: %w", src.Key(), err))
		}
	}
}

// errStopped ends a reading whose caller has had enough.
var errStopped = errors.New("stopped")

// reading is one call of Read.
type reading struct {
	ctx     context.Context
	src     Source
	from    Cursor
	opts    Options
	yield   func(Batch, error) bool
	asm     *assembler
	grammar grammar
	file    *file
	mark    func(last bool) (Cursor, error) // makes the cursors

	restarted bool  // not yet told
	began     int64 // offset where the batch under construction begins
	lines     int64 // before the end of what was taken
	taken     int64 // offset after the last record taken
}

func (r *reading) run() (err error) {
	switch r.src.Layout {
	case Tree:
		return r.readTree()
	case Database:
		return r.readDatabase()
	}
	if r.file, err = openFile(r.src); err != nil {
		return err
	}
	defer r.file.Close()
	r.mark = r.cursor
	fits, err := r.file.fits(r.from)
	if err != nil {
		return err
	}
	if r.file.whole {
		return r.readWhole(fits)
	}
	if !fits {
		r.restart()
	}
	return r.readLines()
}

// restart forgets the cursor: the file is not the one it was made for.
func (r *reading) restart() {
	r.from = Cursor{}
	r.asm.records, r.asm.known = 0, 0
	r.asm.amending, r.restarted = true, true
}

// readWhole reads a source that cannot be read from its middle, unless it is as it was.
func (r *reading) readWhole(unchanged bool) error {
	if unchanged && r.from.Size > 0 {
		return nil
	}
	if r.from.Size > 0 {
		r.restart()
	}
	if r.src.Layout == Document {
		return r.readDocument()
	}
	return r.readLines()
}

// readLines reads lines from the cursor on.
func (r *reading) readLines() error {
	if err := r.resume(); err != nil {
		return err
	}
	stream, err := r.file.stream(r.from.Offset)
	if err != nil {
		return err
	}
	before, err := r.linesBefore()
	if err != nil {
		return err
	}
	lr := newLineReader(stream, r.opts.MaxLine, r.from.Offset, before)
	r.began, r.taken, r.lines = r.from.Offset, r.from.Offset, r.from.Line
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		l, err := lr.next()
		if l.ended {
			r.takeLine(l)
		} else {
			r.takeTail(l)
		}
		if err != nil || !l.ended {
			return r.finish(r.file.explain(err))
		}
		if r.asm.full(r.taken - r.began) {
			if err := r.emit(false); err != nil {
				return err
			}
		}
	}
}

// linesBefore is how many lines end before the cursor: it may stand within one, behind a record
// whose newline was not there yet.
func (r *reading) linesBefore() (int64, error) {
	if r.from.Offset == 0 || r.from.Line == 0 {
		return r.from.Line, nil
	}
	last := make([]byte, 1)
	if _, err := r.file.ReadAt(last, r.from.Offset-1); err != nil {
		return 0, r.file.explain(err)
	}
	if last[0] != '\n' {
		return r.from.Line - 1, nil
	}
	return r.from.Line, nil
}

// resume brings the assembler to where it was when the cursor was made: it reads the records of
// the replies that were open once more, yielding nothing, and takes up the rest from the state.
func (r *reading) resume() error {
	if r.from.State == nil {
		return nil
	}
	if err := r.asm.load(r.grammar, r.from.State); err != nil {
		return fmt.Errorf("the cursor is not one of ours: %w", err)
	}
	if err := r.replay(); err != nil {
		return err
	}
	r.asm.discard()
	r.asm.records, r.asm.known = r.from.Records, r.from.Known
	return r.asm.load(r.grammar, r.from.State)
}

// replay reads the records of the replies that are open.
func (r *reading) replay() error {
	open := r.from.Open
	if len(open) == 0 {
		return nil
	}
	stream, err := r.file.stream(open[0])
	if err != nil {
		return err
	}
	r.asm.replaying = true
	lr := newLineReader(io.LimitReader(stream, r.from.Offset-open[0]), r.opts.MaxLine, open[0], 0)
	for {
		l, err := lr.next()
		if i, _ := slices.BinarySearch(open, l.offset); i < len(open) && open[i] < l.offset+l.size && !l.tooLong {
			r.takeValues(l)
		}
		if err != nil || !l.ended {
			r.asm.replaying = false
			return r.file.explain(err)
		}
	}
}

func (r *reading) takeLine(l line) {
	r.asm.at = record{offset: l.offset, line: l.number}
	if l.tooLong {
		r.asm.skip(l.offset, r.tooLong(l))
	} else {
		r.takeValues(l)
	}
	r.taken, r.lines = l.offset+l.size, l.number
}

// takeTail takes a last line without its newline if it is whole; see the package comment.
func (r *reading) takeTail(l line) {
	if wholeObjects(l.data) {
		r.takeLine(l)
		return
	}
	r.asm.at = record{offset: l.offset, line: l.number}
	if l.tooLong {
		r.asm.skip(l.offset, r.tooLong(l))
	}
	r.asm.batch.Unread = l.size
}

func (r *reading) tooLong(l line) string {
	return fmt.Sprintf("line of %d bytes; the limit is %d", l.size, r.opts.MaxLine)
}

// takeValues takes the records of a line.
func (r *reading) takeValues(l line) {
	if len(l.data) > 0 && l.data[0] == '{' && r.take(record{raw: l.data, offset: l.offset, line: l.number}) == nil {
		return
	}
	splitLine(l.data, func(raw []byte, at int) {
		rec := record{raw: raw, offset: l.offset + int64(at), line: l.number}
		if err := r.take(rec); err != nil {
			r.asm.skip(rec.offset, reason(err))
		}
	}, func(at int, reason string) {
		r.asm.at = record{offset: l.offset + int64(at), line: l.number}
		r.asm.skip(l.offset+int64(at), reason)
	})
}

func (r *reading) take(rec record) error {
	if r.asm.replaying {
		if _, open := slices.BinarySearch(r.from.Open, rec.offset); !open {
			return nil
		}
	}
	r.asm.at = rec
	known, err := r.grammar.take(r.asm, rec)
	if err != nil {
		return err
	}
	r.asm.records++
	r.asm.batch.Records++
	if known {
		r.asm.known++
	}
	return nil
}

// finish yields what is left, and then says how it ended.
func (r *reading) finish(cause error) error {
	if r.asm.known > 0 || r.asm.records == 0 && len(r.asm.batch.Skips) == 0 {
		if err := r.emit(cause == nil); err != nil {
			return err
		}
	}
	if cause != nil {
		return cause
	}
	return r.verdict()
}

// verdict fails for a source of which nothing was understood, at every run anew.
func (r *reading) verdict() error {
	if r.asm.known > 0 || r.asm.records == 0 && len(r.asm.batch.Skips) == 0 {
		return nil
	}
	types := slices.Sorted(maps.Keys(r.asm.batch.Unknown))
	return fmt.Errorf("%w (%d records, of types %q; %d skipped)", ErrNotUnderstood, r.asm.records, types, len(r.asm.batch.Skips))
}

// emit yields the batch with its cursor.
func (r *reading) emit(last bool) error {
	b := r.asm.cut()
	b.Bytes = r.taken - r.began
	b.Restarted, r.restarted = r.restarted, false
	r.began = r.taken
	var err error
	if b.Cursor, err = r.mark(last); err != nil {
		return err
	}
	if b.empty() && !b.Restarted {
		return nil
	}
	if !r.yield(b, nil) {
		return errStopped
	}
	return nil
}

// cursor stands behind the last record taken.
func (r *reading) cursor(last bool) (Cursor, error) {
	if r.file.whole && !last {
		return r.from, nil
	}
	c := Cursor{Offset: r.taken, Line: r.lines, Records: r.asm.records, Known: r.asm.known}
	if r.file.whole {
		c.Offset = r.file.size
	} else {
		var err error
		if c.Open, c.State, err = r.asm.save(r.grammar); err != nil {
			return Cursor{}, err
		}
	}
	return c, r.file.identify(&c)
}
