package transcripts

import (
	"strings"
	"time"
)

// Layout is how a source is laid out on disk.
type Layout string

// The layouts.
const (
	Lines    Layout = "lines"    // JSON values, one a line; plain, .gz or .zst
	Document Layout = "document" // one JSON value; plain, .gz, .zst or a member of a .zip
	Tree     Layout = "tree"     // the session file of an OpenCode storage tree
	Database Layout = "database" // OpenCode's SQLite file
)

// Source is one unit that Walk found and Read reads.
type Source struct {
	Path   string // of the file
	Member string // within it, when it is a .zip
	Format Format
	Layout Layout
}

// Key names the source, to keep its Cursor under.
func (s Source) Key() string {
	if s.Member == "" {
		return s.Path
	}
	return s.Path + "!" + s.Member
}

// label is Key as a valid string, for what leaves the package.
func (s Source) label() string { return strings.ToValidUTF8(s.Key(), "\uFFFD") }

// Cursor is how far a source has been read. The zero value is its beginning. It is plain data, to
// be stored as it is, in any codec, and given back to Read; its fields are of no use to others.
type Cursor struct {
	Offset  int64  // byte after the last record taken, in a file of lines
	Line    int64  // lines before Offset
	Size    int64  // of the file, when it was read
	ModTime int64  // of the file then, Unix nanoseconds
	Head    string // hash of the first bytes, at most up to Offset
	Tail    string // hash of the bytes before Offset
	Open    []int64
	State   []byte // what the grammar has to remember, JSON
	Records int64  // records taken so far, and of them those of known kinds
	Known   int64
}

// Limits that hold when Options leaves them zero.
const (
	DefaultMaxLine  = 64 << 20 // bytes; the longest lines seen in the wild, embedded images, are about 20 MiB
	DefaultMaxImage = 1 << 20  // bytes, decoded
)

// Options bounds what Read takes into memory. The zero value is right.
type Options struct {
	MaxLine  int // longest line, and longest record of a document, in bytes; longer ones are skipped
	MaxImage int // largest image whose bytes are kept; negative keeps none

	batch int // messages at which a batch is cut; for tests
}

func (o Options) withDefaults() Options {
	if o.MaxLine <= 0 {
		o.MaxLine = DefaultMaxLine
	}
	if o.MaxImage == 0 {
		o.MaxImage = DefaultMaxImage
	}
	if o.batch == 0 {
		o.batch = batchMessages
	}
	return o
}

// Batch is a piece of a source: write it and its Cursor together.
type Batch struct {
	Sessions []Session // new, or changed since the last batch; each whole, to be written over what is stored
	Messages []Message // in the order of the transcript
	Skips    []Skip
	Unknown  map[string]int // records and blocks of kinds that the grammar does not know, by type

	Records int   // records taken, of whatever kind
	Bytes   int64 // of the file, covered by this batch; 0 where that has no meaning

	// Restarted is set on the first batch when the cursor did not fit: the file was truncated or
	// replaced. It was read from its beginning, and every message has Amends set.
	Restarted bool

	// Unread is the number of bytes of an unfinished last line, which stay for the next run.
	Unread int64

	// Cursor is to be stored with the batch. Sources that are not files of lines can only be read
	// whole: until their last batch this is the cursor that Read was given.
	Cursor Cursor
}

func (b *Batch) empty() bool {
	return b.Records == 0 && len(b.Sessions) == 0 && len(b.Messages) == 0 &&
		len(b.Skips) == 0 && b.Bytes == 0 && b.Unread == 0
}

// utc is the form in which times are kept.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}
