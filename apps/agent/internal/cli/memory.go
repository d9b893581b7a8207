package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/memory"
	"github.com/crabstore/crabstore/textsearch"
)

// mostText is how many bytes of text a command takes.
const mostText = 16 << 20

func (a *app) rememberCommand() *cobra.Command {
	var e memory.Entry
	c := &cobra.Command{
		Use: "remember TEXT…", Short: "Keep a note, a fact, a preference", Args: takes("TEXT…"),
		Long: `Keep something to be remembered. The TEXT - reads it from stdin. With the --name of
an entry that is there it takes its place; without a name it gets one from its words.`,
		Example: `  agent remember "The staging database is reset every Monday."
  agent remember --name deploy/checklist --kind note - < checklist.md`,
	}
	c.RunE = a.run(func(ctx context.Context, args []string) error { return a.remember(ctx, e, args) })
	flags := c.Flags()
	flags.StringVar(&e.Name, "name", "", "its name, such as deploy/checklist")
	flags.StringVar(&e.Kind, "kind", "", "note (which it is by default), fact, preference, or another word in lower case")
	flags.StringSliceVar(&e.Aliases, "alias", nil, "other names that lead to it")
	flags.StringSliceVar(&e.Tags, "tag", nil, "tags")
	flags.StringVar(&e.Source, "source", "", "where it comes from")
	return c
}

func (a *app) remember(ctx context.Context, e memory.Entry, args []string) error {
	e.Content = strings.Join(args, " ")
	if len(args) == 1 && args[0] == "-" {
		data, err := a.readInput(ctx, "-", mostText)
		if err != nil {
			return err
		}
		e.Content = string(data)
	}
	if strings.TrimSpace(e.Content) == "" {
		return usage("there is nothing to remember")
	}
	for _, text := range slices.Concat([]string{e.Content, e.Name, e.Kind, e.Source}, e.Aliases, e.Tags) {
		if at := invalid(text); at >= 0 {
			return fail("the text is not valid UTF-8: the byte at offset %d is 0x%02x; nothing was stored", at, text[at])
		}
	}
	var stored memory.Entry
	err := a.writing(ctx, func(s kv.KVStorage) error {
		return kv.Update(ctx, s, func(tx kv.KVStorage) (err error) {
			stored, err = putEntry(ctx, tx, e)
			return err
		})
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(stored)
	}
	verb := "Remembered"
	if stored.Revision > 1 {
		verb = "Updated"
	}
	a.out.Printf("%s as %s.\n", verb, console.Line(stored.Name))
	return nil
}

// invalid returns where a text is not valid UTF-8 first, and -1 if it is.
func invalid(text string) int {
	for at, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[at:], string(r)) {
			return at
		}
	}
	return -1
}

// putEntry stores an entry. One with the name of another takes its place, and keeps
// of it what it does not say; one without a name gets one that is free.
func putEntry(ctx context.Context, tx kv.KVStorage, e memory.Entry) (memory.Entry, error) {
	if e.Name != "" {
		was, err := memory.Get(ctx, tx, e.Name)
		switch {
		case err == nil && was.Name == e.Name:
			e = over(was, e)
		case err != nil && !errors.Is(err, kv.ErrNotFound):
			return memory.Entry{}, err
		}
		return memory.Put(ctx, tx, e)
	}
	base := nameOf(e.Content)
	for n := 1; ; n++ {
		e.Name = base
		if n > 1 {
			e.Name = fmt.Sprintf("%s-%d", base, n)
		}
		_, err := memory.Get(ctx, tx, e.Name)
		if errors.Is(err, kv.ErrNotFound) {
			return memory.Put(ctx, tx, e)
		}
		if err != nil {
			return memory.Entry{}, err
		}
	}
}

// over returns an entry with what another has that it has not.
func over(was, e memory.Entry) memory.Entry {
	if e.Kind == "" {
		e.Kind = was.Kind
	}
	if e.Source == "" {
		e.Source = was.Source
	}
	if e.Aliases == nil {
		e.Aliases = was.Aliases
	}
	if e.Tags == nil {
		e.Tags = was.Tags
	}
	e.Session = was.Session
	return e
}

// nameWords and nameBytes bound a name that is made from words.
const (
	nameWords = 6
	nameBytes = 60
)

// head returns the first bytes of a text, without half a character at the end.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// nameOf makes a name of the first words of a text.
func nameOf(text string) string {
	words := strings.FieldsFunc(strings.ToLower(head(text, 1000)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
	name := ""
	for _, w := range words[:min(len(words), nameWords)] {
		if len(name)+1+len(w) > nameBytes {
			break
		}
		name = strings.TrimPrefix(name+"-"+w, "-")
	}
	if name == "" {
		return "note"
	}
	return name
}

func (a *app) recallCommand() *cobra.Command {
	q := memory.Query{}
	c := &cobra.Command{
		Use: "recall QUERY…", Short: "Find what is remembered by its words", Args: takes("QUERY…"),
	}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		q.Text = strings.Join(args, " ")
		if q.Limit < 1 {
			return usage("--limit is 1 or more")
		}
		return a.reading(ctx, func(s kv.KVStorage) error { return a.recall(ctx, s, q) })
	})
	c.Flags().StringVar(&q.Kind, "kind", "", "only entries of this kind")
	c.Flags().IntVar(&q.Limit, "limit", textsearch.DefaultLimit, "how many at most")
	return c
}

func (a *app) recall(ctx context.Context, s kv.KVStorage, q memory.Query) error {
	result, err := memory.Search(ctx, s, q)
	if err != nil {
		return err
	}
	if a.json {
		return writeLines(a, memoryHits(result.Hits))
	}
	for i, h := range result.Hits {
		if i > 0 {
			a.out.Println()
		}
		a.out.Printf("%s %s\n", a.out.Bold(console.Line(h.Entry.Name)), a.out.Dim(strings.Join(entryFacts(a, &h.Entry), " · ")))
		spans := make([]console.Span, len(h.Snippet.Spans))
		for i, span := range h.Snippet.Spans {
			spans[i] = console.Span(span)
		}
		a.out.Printf("%s", a.out.Indent("  ", a.out.Marked(h.Snippet.Text, spans)))
	}
	if result.Relaxed {
		a.err.Println("Nothing has all the words between quotation marks; any of them will do here.")
	}
	if len(result.Hits) == 0 {
		a.err.Printf("Nothing remembered says %q. %q lists all that is.\n", q.Text, "agent memories list")
	} else if result.Total > len(result.Hits) {
		a.err.Printf("%s of %d shown; --limit shows more.\n", console.Plural(len(result.Hits), "hit"), result.Total)
	}
	return nil
}

func entryFacts(a *app, e *memory.Entry) []string {
	facts := []string{console.Line(e.Kind), console.Ago(e.UpdatedAt, a.sys.Now())}
	if len(e.Tags) > 0 {
		facts = append(facts, console.Line(strings.Join(e.Tags, ", ")))
	}
	return facts
}

func (a *app) memoriesCommand() *cobra.Command {
	var f memory.Filter
	list := &cobra.Command{Use: "list", Short: "List what is remembered", Args: takes()}
	list.RunE = a.run(func(ctx context.Context, _ []string) error {
		return a.reading(ctx, func(s kv.KVStorage) error { return a.listMemories(ctx, s, f) })
	})
	list.Flags().StringVar(&f.Kind, "kind", "", "only entries of this kind")
	list.Flags().StringVar(&f.Under, "under", "", "only this entry and those below it: deploy for deploy/checklist")
	show := &cobra.Command{Use: "show NAME", Short: "Show an entry", Args: takes("NAME")}
	show.RunE = a.run(func(ctx context.Context, args []string) error {
		return a.reading(ctx, func(s kv.KVStorage) error { return a.showMemory(ctx, s, args[0]) })
	})
	return listing("memories", "List and show what is remembered", list, show)
}

func (a *app) listMemories(ctx context.Context, s kv.KVStorage, f memory.Filter) error {
	list, err := memory.List(ctx, s, f)
	if err != nil {
		return err
	}
	if a.json {
		return writeLines(a, slices.Values(list))
	}
	if len(list) == 0 {
		a.err.Println("Nothing is remembered.")
		return nil
	}
	t := &console.Table{Columns: []console.Column{{Title: "NAME"}, {Title: "KIND"}, {Title: "CONTENT", Flex: true}, {Title: "CHANGED"}}}
	for i := range list {
		e := &list[i]
		content := console.Line(head(e.Content, 400))
		t.Add(console.Cut(console.Line(e.Name), 40), console.Line(e.Kind), console.Cut(content, 80), console.Ago(e.UpdatedAt, a.sys.Now()))
	}
	a.out.Table(t)
	return nil
}

func (a *app) showMemory(ctx context.Context, s kv.KVStorage, name string) error {
	e, err := memory.Get(ctx, s, name)
	if errors.Is(err, kv.ErrNotFound) {
		return fail("nothing is remembered as %q", name)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(e)
	}
	a.out.Printf("%s %s\n", a.out.Bold(console.Line(e.Name)), a.out.Dim(strings.Join(entryFacts(a, &e), " · ")))
	for _, f := range []struct{ name, value string }{
		{"aliases", strings.Join(e.Aliases, ", ")}, {"source", e.Source}, {"session", e.Session},
	} {
		if f.value != "" {
			a.out.Println(a.out.Dim(fmt.Sprintf("%-8s ", f.name)) + console.Line(f.value))
		}
	}
	a.out.Printf("\n%s", a.out.Indent("", console.Text(e.Content)))
	return nil
}

func (a *app) forgetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "forget NAME…", Short: "Forget what is remembered under a name", Args: takes("NAME…"),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.changing(ctx, func(s kv.KVStorage) error { return a.forget(ctx, s, args) })
		}),
	}
}

// forget deletes entries, all or none.
func (a *app) forget(ctx context.Context, s kv.KVStorage, names []string) error {
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		for _, name := range names {
			e, err := memory.Get(ctx, tx, name)
			switch {
			case errors.Is(err, kv.ErrNotFound):
				return fail("nothing is remembered as %q", name)
			case err != nil:
				return err
			case e.Name != name:
				return fail("%s is another name of %s; forget %s", name, e.Name, e.Name)
			}
			if err := memory.Delete(ctx, tx, name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(map[string][]string{"forgotten": names})
	}
	a.out.Printf("Forgot %s.\n", console.Line(strings.Join(names, ", ")))
	return nil
}
