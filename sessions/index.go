package sessions

import (
	"strings"

	"github.com/crabstore/crabstore/kv"
)

// TextIndex is the name of the text index of sessions. Its documents are
//
//	{handle}/msg/{idx:012}    what a message says
//	{handle}/title
//	{handle}/summary
const TextIndex = "sess"

// doc is a document to be put into the text index, or, without text, to be taken
// from it.
type doc struct {
	key, text string
	weight    float64
}

func messageDoc(handle string, index int) string {
	return kv.Join(handle, "msg", string(numbered(nil, index)))
}

func titleDoc(handle string) string   { return kv.Join(handle, "title") }
func summaryDoc(handle string) string { return kv.Join(handle, "summary") }

// docsOf is the prefix of a session's documents.
func docsOf(handle string) string { return kv.Join(handle, "") }

// spoken returns what Search finds of a message, and its weight: what a user or an
// assistant says, and the names of the functions that an assistant calls. A
// message that calls and says something weighs as what it says. Tool results,
// arguments of calls, reasoning, images and injected framing are not found: they
// would drown what people look for.
func (r *Ranking) spoken(m *Message) (text string, weight float64) {
	var said, called []string
	for i := range m.Blocks {
		b := &m.Blocks[i]
		switch {
		case b.Type == Text && b.Text != "" && !b.Injected:
			said = append(said, b.Text)
		case b.Type == ToolUse && b.Name != "":
			called = append(called, b.Name)
		}
	}
	switch {
	case m.Role == User:
		return strings.Join(said, "\n"), r.User
	case m.Role != Assistant:
		return "", 0
	case len(said) == 0:
		return strings.Join(called, "\n"), r.ToolCall
	}
	return strings.Join(append(said, called...), "\n"), r.Assistant
}

// indexMessage has a message indexed when the batch is flushed.
func (b *Batch) indexMessage(d *draft, m *Message) {
	text, weight := b.ranking.spoken(m)
	b.index(doc{messageDoc(d.now.Handle, m.Index), text, weight})
}

// indexMeta has title and summary indexed where they changed.
func (b *Batch) indexMeta(d *draft) {
	var stored Meta
	if d.stored != nil {
		stored = *d.stored
	}
	if d.now.Title != stored.Title {
		b.index(doc{titleDoc(d.now.Handle), d.now.Title, b.ranking.Title})
	}
	if d.now.Summary != stored.Summary {
		b.index(doc{summaryDoc(d.now.Handle), d.now.Summary, b.ranking.Summary})
	}
}

// index holds a document back; of two of one key the later counts.
func (b *Batch) index(d doc) {
	if i, held := b.docAt[d.key]; held {
		b.docs[i] = d
		return
	}
	b.docAt[d.key] = len(b.docs)
	b.docs = append(b.docs, d)
}

// unindex takes the documents of the keys for which gone is true out of what is
// held back.
func (b *Batch) unindex(gone func(key string) bool) {
	kept := b.docs[:0]
	clear(b.docAt)
	for _, d := range b.docs {
		if !gone(d.key) {
			b.docAt[d.key] = len(kept)
			kept = append(kept, d)
		}
	}
	b.docs = kept
}
