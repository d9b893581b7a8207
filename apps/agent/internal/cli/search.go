package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/apps/agent/internal/importer"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/sessions"
)

// searching is one run of the search command.
type searching struct {
	*app
	query        sessions.Query
	since, until string
	context      int
}

func (a *app) searchCommand() *cobra.Command {
	s := &searching{app: a}
	c := &cobra.Command{
		Use:   "search QUERY…",
		Short: "Find sessions by what was said in them",
		Long: `Find sessions by what was said in them, by their titles and summaries, the best
first. A word finds its inflections and ranks its exact form first; word* finds
what begins so; "several words" between quotation marks have to be there all.
What tools returned, reasoning and injected framing are not searched.`,
		Example: `  agent search flaky reconnect
  agent search --agent codex --since 30d 'systemd timer*'
  agent search -C 2 backup`,
		Args: takes("QUERY…"),
	}
	flags := c.Flags()
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		if s.query.Handle == "" && flags.Changed("session") {
			return usage("--session is empty")
		}
		return s.run(ctx, args)
	})
	flags.StringVar(&s.query.Agent, "agent", "", "only sessions of this agent, such as claude-code")
	flags.StringVar(&s.query.Handle, "session", "", "only this session")
	flags.StringVar(&s.since, "since", "", "only what was said then or later: 2026-01-31, 7d, 12h")
	flags.StringVar(&s.until, "until", "", "only what was said before")
	flags.IntVar(&s.query.Limit, "limit", sessions.DefaultHits, "how many sessions at most")
	flags.IntVarP(&s.context, "context", "C", 0, "how many messages to show before and after each match")
	return c
}

// Most is how many hits, and messages about each, a search may be asked for.
const (
	mostHits    = 1000
	mostContext = 50
)

func (s *searching) run(ctx context.Context, args []string) (err error) {
	s.query.Text = strings.Join(args, " ")
	if s.query.Limit < 1 || s.query.Limit > mostHits {
		return usage("--limit is 1 to %d", mostHits)
	}
	if s.context < 0 || s.context > mostContext {
		return usage("--context is 0 to %d", mostContext)
	}
	if s.query.Since, err = s.time("since", s.since, false); err != nil {
		return err
	}
	if s.query.Until, err = s.time("until", s.until, true); err != nil {
		return err
	}
	s.query.Window = 2*s.context + 1
	return s.reading(ctx, func(store kv.KVStorage) error { return s.search(ctx, store) })
}

func (s *searching) search(ctx context.Context, store kv.KVStorage) (err error) {
	if s.query.Handle != "" {
		if s.query.Handle, err = resolve(ctx, store, s.query.Handle); err != nil {
			return err
		}
	}
	results, err := sessions.Search(ctx, s.ranked(store), s.query)
	if err != nil {
		return err
	}
	if s.json {
		return writeLines(s.app, slices.Values(results.Hits))
	}
	for i := range results.Hits {
		s.show(ctx, store, i+1, &results.Hits[i])
	}
	if results.Partial {
		s.err.Println("The query is so broad that not all of it was looked up.")
	}
	if results.Relaxed {
		s.err.Println("No message has all the words between quotation marks; any of them will do here.")
	}
	if len(results.Hits) == 0 {
		return s.nothing(ctx, store)
	}
	return nil
}

// ranked is a store whose searches return as much as was asked for.
type ranked struct {
	kv.KVStorage
	ranking sessions.Ranking
}

func (r ranked) Unwrap() kv.KVStorage             { return r.KVStorage }
func (r ranked) SessionRanking() sessions.Ranking { return r.ranking }

// snippet is how many bytes of a message a person is shown. A program gets the
// default.
const snippet = 320

func (s *searching) ranked(store kv.KVStorage) kv.KVStorage {
	r := sessions.Ranking{Hits: s.query.Limit, Window: s.query.Window}
	if !s.json {
		r.Snippet = snippet
	}
	return ranked{store, r}
}

// show writes a hit for a person.
func (s *searching) show(ctx context.Context, store kv.KVStorage, rank int, h *sessions.Hit) {
	title := titleOf(&h.Session)
	if h.Session.Title != "" {
		title = s.out.Marked(h.Session.Title, spansOf(h.Title))
	}
	if rank > 1 {
		s.out.Println()
	}
	number := fmt.Sprintf("%d. ", rank)
	s.out.Printf("%s%s\n", s.out.Dim(number), s.out.Bold(s.line(title, len(number))))
	s.out.Printf("   %s\n", s.out.Dim(s.line(strings.Join(s.facts(ctx, store, h), " · "), 3)))
	if h.Best < 0 {
		s.summary(h)
	}
	for i := range h.Window {
		s.item(&h.Window[i], h.Window[i].Index == h.Best)
	}
}

// line returns text cut to what is left of a line on a terminal.
func (s *searching) line(text string, taken int) string {
	if !s.out.Terminal() {
		return text
	}
	return console.Cut(text, max(s.out.Width()-taken, 1))
}

// facts are what is said of a session in one line.
func (s *searching) facts(ctx context.Context, store kv.KVStorage, h *sessions.Hit) []string {
	m := &h.Session
	facts := []string{short(ctx, store, m.Handle), console.Line(m.Agent)}
	if m.Parent != nil {
		facts = append(facts, string(m.Parent.Kind))
	}
	facts = append(facts, console.Ago(m.UpdatedAt, s.sys.Now()), console.Plural(m.Messages, "message"))
	if m.Cwd != "" {
		facts = append(facts, console.Line(m.Cwd))
	}
	return facts
}

func (s *searching) summary(h *sessions.Hit) {
	if len(h.Summary) > 0 {
		s.out.Printf("%s", s.out.Indent("   ", console.Cut(s.out.Marked(h.Session.Summary, spansOf(h.Summary)), snippet)))
	}
}

// item writes one message of a hit: who said it, when, and the words around the
// match.
func (s *searching) item(it *sessions.Item, best bool) {
	words := s.out.Marked(it.Snippet, spansOf(it.Spans))
	if it.Before {
		words = "… " + words
	}
	if it.After {
		words += " …"
	}
	if !best {
		words = s.line(words, 5)
	}
	s.out.Println("   " + s.out.Dim(fmt.Sprintf("#%d %s %s", it.Index, it.Role, console.Stamp(it.At))))
	s.out.Printf("%s", s.out.Indent("     ", words))
}

func spansOf(list []sessions.Span) []console.Span {
	out := make([]console.Span, len(list))
	for i, s := range list {
		out[i] = console.Span(s)
	}
	return out
}

// nothing says that nothing was found, where, and what to try.
func (s *searching) nothing(ctx context.Context, store kv.KVStorage) error {
	n := 0
	for _, err := range allSessions(ctx, store, sessions.Filter{Agent: s.query.Agent}) {
		if err != nil {
			return err
		}
		n++
	}
	s.err.Printf("Nothing found for %q in %s.\n", s.query.Text, console.Plural(n, "session"))
	switch {
	case n == 0 && s.query.Agent != "":
		s.err.Println(`No session is of that agent; "agent sessions list" shows whose there are.`)
	case n == 0:
		s.err.Println(`"agent import" brings in what your coding agents left here.`)
	case s.query.Agent+s.query.Handle+s.since+s.until != "":
		s.err.Println("Try it without --agent, --session, --since and --until.")
	default:
		s.err.Println("Try fewer words, or the beginning of one with a star: deploy*")
	}
	return nil
}

// titleOf returns what a session is called: its title, or else the first words said
// in it.
func titleOf(m *sessions.Meta) string {
	if m.Title != "" {
		return console.Line(m.Title)
	}
	if words, ok := m.Extra[importer.ExtraOpening].(string); ok && words != "" {
		return "“" + console.Line(words) + "”"
	}
	return "(untitled)"
}

// time reads a point in time: a date, a date with a time, or how long ago. A date
// alone is the beginning of that day, and with end its end, in the local zone.
func (a *app) time(flag, given string, end bool) (time.Time, error) {
	if given == "" {
		return time.Time{}, nil
	}
	if ago, ok := duration(given); ok {
		return a.sys.Now().Add(-ago), nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, given, time.Local); err == nil {
		if end {
			day = day.AddDate(0, 0, 1)
		}
		return day, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, given, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usage("--%s %q is no time; write 2026-01-31, 2026-01-31T15:04, 7d or 12h", flag, given)
}

// duration reads how long ago something was: hours, days, weeks or what Go reads.
func duration(given string) (time.Duration, bool) {
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour}} {
		var n int
		if number, found := strings.CutSuffix(given, unit.name); found {
			if _, err := fmt.Sscanf(number+" ", "%d ", &n); err == nil && n >= 0 && n < 1e5 && fmt.Sprint(n) == number {
				return time.Duration(n) * unit.length, true
			}
		}
	}
	d, err := time.ParseDuration(given)
	return d, err == nil && d >= 0
}
