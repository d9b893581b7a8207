package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/apps/agent/internal/files"
	"github.com/crabstore/crabstore/apps/agent/internal/importer"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/sessions"
)

func (a *app) sessionsCommand() *cobra.Command {
	return listing("sessions", "List, show, export and delete sessions",
		a.sessionsList(), a.sessionsShow(), a.sessionsExport(), a.sessionsDelete())
}

func (a *app) sessionsList() *cobra.Command {
	var f sessions.Filter
	c := &cobra.Command{Use: "list", Short: "List sessions, the newest first", Args: takes()}
	c.RunE = a.run(func(ctx context.Context, _ []string) error {
		if f.Limit < 0 {
			return usage("--limit is 0, for all, or more")
		}
		return a.reading(ctx, func(s kv.KVStorage) error { return a.listSessions(ctx, s, f) })
	})
	c.Flags().StringVar(&f.Agent, "agent", "", "only sessions of this agent, such as claude-code")
	c.Flags().IntVar(&f.Limit, "limit", 30, "how many at most; 0 for all")
	c.Flags().StringVar(&f.Cursor, "after", "", "go on behind a list before, as that said at its end")
	return c
}

func (a *app) listSessions(ctx context.Context, s kv.KVStorage, f sessions.Filter) error {
	if f.Limit == 0 && a.json {
		for m, err := range allSessions(ctx, s, f) {
			if err == nil {
				err = a.writeJSON(m)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	page, err := sessionPage(ctx, s, f)
	if errors.Is(err, sessions.ErrInvalid) {
		return usage("--after: %w", err)
	}
	if err != nil {
		return err
	}
	if a.json {
		for _, m := range page.Sessions {
			if err := a.writeJSON(m); err != nil {
				return err
			}
		}
	} else {
		a.sessionTable(ctx, s, page.Sessions)
	}
	if err := a.out.Flush(); err != nil {
		return err
	}
	if page.Next != "" {
		a.err.Printf("There are more: --after %s\n", page.Next)
	}
	return nil
}

// sessionPage returns a page, or all when there is no limit.
func sessionPage(ctx context.Context, s kv.KVStorage, f sessions.Filter) (sessions.Page, error) {
	if f.Limit > 0 {
		return sessions.List(ctx, s, f)
	}
	var page sessions.Page
	for m, err := range allSessions(ctx, s, f) {
		if err != nil {
			return page, err
		}
		page.Sessions = append(page.Sessions, m)
	}
	return page, nil
}

// allSessions yields the sessions that a filter means, whatever its limit.
func allSessions(ctx context.Context, s kv.KVStorage, f sessions.Filter) iter.Seq2[sessions.Meta, error] {
	return func(yield func(sessions.Meta, error) bool) {
		f.Limit = 1000
		for {
			page, err := sessions.List(ctx, s, f)
			if err != nil {
				yield(sessions.Meta{}, err)
				return
			}
			for _, m := range page.Sessions {
				if !yield(m, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			f.Cursor = page.Next
		}
	}
}

func (a *app) sessionTable(ctx context.Context, s kv.KVStorage, list []sessions.Meta) {
	if len(list) == 0 {
		a.err.Println("No sessions.")
		return
	}
	t := &console.Table{Columns: []console.Column{{Title: "HANDLE"}, {Title: "STARTED"}, {Title: "AGENT"},
		{Title: "MESSAGES", Right: true}, {Title: "TITLE", Flex: true}}}
	for i := range list {
		m := &list[i]
		title := titleOf(m)
		if m.Parent != nil {
			title = "↳ " + string(m.Parent.Kind) + ": " + title
		}
		t.Add(short(ctx, s, m.Handle), console.Ago(m.CreatedAt, a.sys.Now()), console.Line(m.Agent), console.Count(m.Messages), title)
	}
	a.out.Table(t)
}

func (a *app) sessionsExport() *cobra.Command {
	var file string
	var force bool
	c := &cobra.Command{
		Use: "export HANDLE", Short: "Write a session as lines of JSON", Args: takes("HANDLE"),
		Long: `Write all that is stored of a session as lines of JSON: {"meta":…}, then {"message":…}
for each message, {"event":…} for each event, and the {"state":…} of its worker, if any.`,
	}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		return a.reading(ctx, func(s kv.KVStorage) error {
			handle, err := resolve(ctx, s, args[0])
			if err != nil {
				return err
			}
			if file == "" || file == "-" {
				return a.exportSession(ctx, s, handle)
			}
			unread := 0
			err = files.Write(file, !force, func(w io.Writer) (err error) {
				unread, err = a.exportTo(ctx, s, handle, w)
				return err
			})
			if err != nil {
				return err
			}
			return partial(unread)
		})
	})
	c.Flags().StringVarP(&file, "output", "o", "", "file to write")
	c.Flags().BoolVar(&force, "force", false, "write over a file that exists")
	return c
}

func (a *app) sessionsDelete() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete HANDLE…", Short: "Delete sessions and all that is of them", Args: takes("HANDLE…"),
		Long: `Delete sessions with their messages, events, state and index entries. An import
does not bring them back, unless with --force.`,
	}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		return a.changing(ctx, func(s kv.KVStorage) error { return a.deleteSessions(ctx, s, args, yes) })
	})
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// leastDeleted is how much of a handle has to be given to delete by it.
const leastDeleted = 4

// deleteSessions deletes sessions, all or none, having asked.
func (a *app) deleteSessions(ctx context.Context, s kv.KVStorage, given []string, yes bool) error {
	var handles []string
	for _, g := range given {
		handle, err := resolve(ctx, s, g)
		if err != nil {
			return err
		}
		if len(g) < leastDeleted && !strings.EqualFold(g, handle) {
			return usage("%q is too little of a handle to delete by; give %d characters or more", g, leastDeleted)
		}
		m, err := sessions.Load(ctx, s, handle)
		if err != nil {
			return err
		}
		handles = append(handles, handle)
		if !yes {
			a.note("%s  %s (%s)", short(ctx, s, handle), titleOf(&m), console.Plural(m.Messages, "message"))
		}
	}
	if err := a.confirm(ctx, yes, "Delete "+console.Plural(len(handles), "session")+"?"); err != nil {
		return err
	}
	err := sessions.Update(ctx, s, func(b *sessions.Batch) error {
		for _, handle := range handles {
			if err := importer.Forget(ctx, b, handle); err != nil {
				return err
			}
			if err := b.Delete(ctx, handle); err != nil && !errors.Is(err, kv.ErrNotFound) { // named twice
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(map[string][]string{"deleted": handles})
	}
	a.out.Printf("Deleted %s.\n", console.Plural(len(handles), "session"))
	return nil
}

// exportTo writes a session as lines of JSON, and returns how many messages could
// not be read. They are named on stderr.
func (a *app) exportTo(ctx context.Context, s kv.KVStorage, handle string, w io.Writer) (unread int, err error) {
	enc := newEncoder(w)
	for r, err := range sessions.Export(ctx, s, handle) {
		switch {
		case errors.Is(err, kv.ErrCorrupt) && r.Message != nil:
			unread++
			a.unreadable(r.Message.Index, err)
			continue
		case err == nil:
			err = enc.Encode(r)
		}
		if err != nil {
			return unread, err
		}
	}
	return unread, nil
}

func (a *app) exportSession(ctx context.Context, s kv.KVStorage, handle string) error {
	unread, err := a.exportTo(ctx, s, handle, a.out)
	if err != nil {
		return err
	}
	return partial(unread)
}

// unreadable names a message that is damaged.
func (a *app) unreadable(index int, err error) {
	a.err.Printf("message %d cannot be read: %s\n", index, console.Line(words(err)))
}

// partial is how a command ends that had to leave so many things out.
func partial(left int) error {
	if left == 0 {
		return nil
	}
	return &exit{exitPartial, nil}
}

// confirm asks a person. Where there is none to ask it refuses.
func (a *app) confirm(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	if !isTerminal(a.sys.In) {
		return usage("%s There is no terminal to ask on; say --yes", question)
	}
	a.err.Printf("%s [y/N] ", question)
	a.err.Flush()
	answer, err := bufio.NewReader(a.input(ctx)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return nil
	}
	return fail("nothing was deleted")
}
