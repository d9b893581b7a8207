package sessions_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest/brittle"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
	"github.com/crabstore/crabstore/textsearch"
)

// fillSmall makes two sessions that have something of everything.
func fillSmall(ctx context.Context) func(s kv.KVStorage) error {
	spent := assistant("reply", "c")
	spent.Usage = &sessions.Usage{Output: 3}
	return func(s kv.KVStorage) error {
		return sessions.Update(ctx, s, func(b *sessions.Batch) error {
			for _, h := range []string{"a", "b"} {
				_, err := b.Create(ctx, sessions.Meta{Handle: h, Agent: "ag", CreatedBy: "by", CreatedAt: at(1), Title: "title"})
				if err == nil {
					_, err = b.Append(ctx, h, user("question of the user"), spent, result("c", "r"))
				}
				if err == nil {
					_, err = b.AppendEvents(ctx, h, sessions.Event{Type: "1"}, sessions.Event{Type: "2"}, sessions.Event{Type: "3"})
				}
				if err == nil {
					_, err = b.Compact(ctx, h, sessions.Compaction{Summary: "summary"})
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func small(t *testing.T) kv.KVStorage {
	s := memkv.New()
	if err := fillSmall(t.Context())(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// damaged is a store on its way there.
type damaged struct {
	t *testing.T
	s kv.KVStorage
}

func (d damaged) put(col kv.Column, value string, parts ...string) {
	if err := d.s.Put(d.t.Context(), col, kv.Key(d.s, parts...), []byte(value)); err != nil {
		d.t.Fatal(err)
	}
}

func (d damaged) remove(col kv.Column, parts ...string) {
	existed, err := d.s.Delete(d.t.Context(), col, kv.Key(d.s, parts...))
	if err != nil || !existed {
		d.t.Fatalf("%v: existed %v, %v", parts, existed, err)
	}
}

func (d damaged) index(key, text string) {
	if err := textsearch.Put(d.t.Context(), d.s, sessions.TextIndex, key, text, 1.5); err != nil {
		d.t.Fatal(err)
	}
}

// The document of a message of small, and when its sessions were made.
const (
	doc0    = "a/msg/000000000000"
	created = "2026-05-06T07:08:01.000000000Z"
)

var damages = []struct {
	name   string
	damage func(d damaged)
	want   string // in a fault
	lost   bool   // cannot be repaired: content is gone
	wide   bool   // not of this session, or not of it alone: seen when all are checked
}{
	{name: "a message is not indexed", want: "is missing", damage: func(d damaged) {
		must[bool](d.t)(textsearch.Drop(d.t.Context(), d.s, sessions.TextIndex, doc0))
	}},
	{name: "a title is not indexed", want: "is missing", damage: func(d damaged) {
		must[bool](d.t)(textsearch.Drop(d.t.Context(), d.s, sessions.TextIndex, "a/title"))
	}},
	{name: "other text is indexed", want: "other terms", damage: func(d damaged) { d.index(doc0, "other") }},
	{name: "a message that is not there is indexed", want: "there is none", damage: func(d damaged) { d.index("a/msg/000000000009", "other") }},
	{name: "a tool's message is indexed", want: "there is none", damage: func(d damaged) { d.index("a/msg/000000000002", "r") }},
	{name: "the statistics are gone", want: "values that nothing leads to", wide: true, damage: func(d damaged) { d.remove(kv.Text, "idx", "text", "sess", "stats") }},
	{name: "the statistics are damaged", want: "text index", wide: true, damage: func(d damaged) { d.put(kv.Text, "x", "idx", "text", "sess", "stats") }},
	{name: "a session that is not there is indexed", want: "there is none", wide: true, damage: func(d damaged) { d.index("c/title", "x") }},
	{name: "not listed", want: "missing in column session: \"local/idx/sess/ag/by", damage: func(d damaged) {
		d.remove(kv.Session, "idx", "sess", "ag", "by", created, "a")
	}},
	{name: "listed as another", want: "not as the content says in column session", damage: func(d damaged) {
		d.put(kv.Session, "b", "idx", "sess", "ag", "by", created, "a")
	}},
	{name: "listed twice", want: "too much in column session", wide: true, damage: func(d damaged) {
		d.put(kv.Session, "a", "idx", "sess", "other", "by", created, "a")
	}},
	{name: "listed and not there", want: "too much in column session", wide: true, damage: func(d damaged) {
		d.put(kv.Session, "c", "idx", "sess", "ag", "by", created, "c")
	}},
	{name: "a message is gone", want: "not as the content says in column session: \"local/session/a/meta", damage: func(d damaged) {
		d.remove(kv.Session, "session", "a", "msg", "000000000001")
	}},
	{name: "a message without usage is gone", want: "not as the content says in column session: \"local/session/a/meta", damage: func(d damaged) {
		d.remove(kv.Session, "session", "a", "msg", "000000000002")
	}},
	{name: "a message is damaged", want: "corrupt", lost: true, damage: func(d damaged) {
		d.put(kv.Session, "\xc1", "session", "a", "msg", "000000000000")
	}},
	{name: "an event is gone", want: "event 1 is followed by event 3", lost: true, damage: func(d damaged) {
		d.remove(kv.Session, "session", "a", "evt", "000000000002")
	}},
	{name: "the last event is gone", want: "the last event is 2 and not 3", lost: true, damage: func(d damaged) {
		d.remove(kv.Session, "session", "a", "evt", "000000000003")
	}},
	{name: "an event is damaged", want: "corrupt", lost: true, damage: func(d damaged) {
		d.put(kv.Session, "", "session", "a", "evt", "000000000002")
	}},
	{name: "the marker is gone", want: "no summary stands", lost: true, damage: func(d damaged) {
		d.remove(kv.Session, "session", "a", "archive")
	}},
	{name: "the boundary is ahead", want: "the boundary is 9", lost: true, damage: func(d damaged) {
		m := must[sessions.Meta](d.t)(sessions.Load(d.t.Context(), d.s, "a"))
		m.Boundary = 9
		if err := kv.Store(d.t.Context(), d.s, kv.Session, kv.Key(d.s, "session", "a", "meta"), m); err != nil {
			d.t.Fatal(err)
		}
	}},
	{name: "the meta is damaged", want: "corrupt", lost: true, damage: func(d damaged) { d.put(kv.Session, "x", "session", "a", "meta") }},
}

func TestCheckFindsAndReindexRepairs(t *testing.T) {
	for _, c := range damages {
		t.Run(c.name, func(t *testing.T) {
			ctx, s := t.Context(), small(t)
			wantSound(t, s)
			c.damage(damaged{t, s})
			for _, handle := range []string{"", "a"} {
				faults := must[[]sessions.Fault](t)(sessions.Check(ctx, s, handle))
				said := ""
				for _, f := range faults {
					said += f.String() + "\n"
				}
				if wanted := !c.wide || handle == ""; wanted && (said == "" || !strings.Contains(said, c.want)) {
					t.Errorf("check of %q finds %q, want %q", handle, said, c.want)
				}
			}
			if others := must[[]sessions.Fault](t)(sessions.Check(ctx, s, "b")); len(others) > 0 && !c.wide {
				t.Errorf("the other session has %v", others)
			}
			n, err := sessions.ReindexAll(ctx, s, nil)
			if c.lost {
				return
			}
			if err != nil || n != 2 {
				t.Errorf("reindexed %d, %v", n, err)
			}
			wantSound(t, s)
		})
	}
}

func TestADamagedMetaHidesNoOtherSession(t *testing.T) {
	ctx, s := t.Context(), small(t)
	if err := s.Put(ctx, kv.Session, kv.Key(s, "session", "a", "meta"), []byte("damaged")); err != nil {
		t.Fatal(err)
	}
	page := must[sessions.Page](t)(sessions.List(ctx, s, sessions.Filter{}))
	wantEqual(t, "listed", handles(page.Sessions), []string{"b"})
	wantEqual(t, "unreadable", page.Unreadable, []string{"a"})
	wantEqual(t, "found", found(find(t, s, sessions.Query{Text: "question"})), []string{"b"})
	n, err := sessions.ReindexAll(ctx, s, nil)
	wantError(t, "reindex", err, kv.ErrCorrupt)
	if n != 1 {
		t.Errorf("went through %d sessions", n)
	}
	if err := sessions.Delete(ctx, s, "a"); err != nil {
		t.Fatal(err)
	}
	wantSound(t, s)
	if err := sessions.Delete(ctx, s, "b"); err != nil {
		t.Fatal(err)
	}
	wantEmpty(t, s)
}

func TestReindexChangesNothingThatIsRight(t *testing.T) {
	s := small(t)
	before := withoutText(brittle.Dump(t, s))
	if n := must[int](t)(sessions.ReindexAll(t.Context(), s, nil)); n != 2 {
		t.Errorf("went through %d sessions", n)
	}
	wantSound(t, s)
	if after := withoutText(brittle.Dump(t, s)); after != before {
		t.Errorf("before\n%safter\n%s", before, after)
	}
	err := sessions.Reindex(t.Context(), s, "none")
	wantError(t, "reindex of none", err, kv.ErrNotFound)
	_, err = sessions.Check(t.Context(), s, "none")
	wantError(t, "check of none", err, kv.ErrNotFound)
}

// withoutText leaves out the lines of a dump that are of text indexes, which hold the
// same in many forms.
func withoutText(dump string) string {
	lines := strings.SplitAfter(dump, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "/idx/text/") }), "")
}
