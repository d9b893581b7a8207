package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/apps/agent/internal/importer"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/sessions"
)

// showing is one run of the sessions show command.
type showing struct {
	*app
	full, raw bool
}

func (a *app) sessionsShow() *cobra.Command {
	s := &showing{app: a}
	c := &cobra.Command{
		Use: "show HANDLE", Short: "Show what was said in a session", Args: takes("HANDLE"),
		Long: `Show what was said in a session. Reasoning, tools and what programs put into the
conversation are folded, unless with --full.`,
	}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		return a.reading(ctx, func(store kv.KVStorage) error {
			handle, err := resolve(ctx, store, args[0])
			if err != nil {
				return err
			}
			if s.raw || s.json {
				return a.exportSession(ctx, store, handle)
			}
			return s.show(ctx, store, handle)
		})
	})
	c.Flags().BoolVar(&s.full, "full", false, "show all of it")
	c.Flags().BoolVar(&s.raw, "raw", false, "write it as sessions export does")
	return c
}

func (s *showing) show(ctx context.Context, store kv.KVStorage, handle string) error {
	m, err := sessions.Load(ctx, store, handle)
	if err != nil {
		return err
	}
	s.head(&m)
	unread := 0
	for msg, err := range sessions.Messages(ctx, store, handle, sessions.Range{}) {
		switch {
		case errors.Is(err, kv.ErrCorrupt):
			unread++
			s.out.Printf("\n%s\n", s.out.Dim(fmt.Sprintf("#%d cannot be read", msg.Index)))
			s.unreadable(msg.Index, err)
		case err != nil:
			return err
		default:
			s.message(&msg)
		}
	}
	return partial(unread)
}

// head says what is known of a session.
func (s *showing) head(m *sessions.Meta) {
	s.out.Println(s.out.Bold(titleOf(m)))
	fact := func(name, value string) {
		if value != "" {
			s.out.Printf("%s %s\n", s.out.Dim(fmt.Sprintf("%-9s", name)), console.Line(value))
		}
	}
	fact("handle", m.Handle)
	fact("agent", strings.TrimSpace(m.Agent+" "+extra(m, importer.ExtraAgent)))
	fact("model", m.Model)
	fact("in", strings.TrimSpace(m.Cwd+" "+extra(m, importer.ExtraBranch)))
	fact("started", console.Stamp(m.CreatedAt))
	fact("last", console.Stamp(m.UpdatedAt))
	fact("messages", console.Count(m.Messages))
	fact("tokens", usageOfTokens(m.Usage))
	if m.Parent != nil {
		fact("from", fmt.Sprintf("%s of %s, message %d", m.Parent.Kind, m.Parent.Handle, m.Parent.Index))
	}
	if m.Origin != nil {
		fact("read from", m.Origin.Path)
	}
	fact("tags", strings.Join(m.Tags, ", "))
	fact("summary", m.Summary)
}

func extra(m *sessions.Meta, name string) string {
	value, _ := m.Extra[name].(string)
	return value
}

func usageOfTokens(u sessions.Usage) string {
	if u == (sessions.Usage{}) {
		return ""
	}
	return fmt.Sprintf("%s in, %s out, %s from cache", console.Count(u.Input), console.Count(u.Output), console.Count(u.CacheRead))
}

// message writes one message, or the folded form of it.
func (s *showing) message(m *sessions.Message) {
	var body strings.Builder
	for i := range m.Blocks {
		body.WriteString(s.block(m, &m.Blocks[i]))
	}
	if body.Len() == 0 {
		return
	}
	who := string(m.Role)
	if m.Name != "" {
		who += " " + console.Line(m.Name)
	}
	s.out.Printf("\n%s %s\n%s", s.out.Bold(who), s.out.Dim(fmt.Sprintf("#%d %s", m.Index, console.Stamp(m.At))), body.String())
}

// block returns a block as lines for a person.
func (s *showing) block(m *sessions.Message, b *sessions.Block) string {
	switch {
	case b.Injected && !s.full:
		return s.fold("injected", b.Text)
	case b.Type == sessions.Thinking && !s.full:
		return s.fold("thinking", b.Text)
	case b.Type == sessions.Text, b.Type == sessions.Thinking:
		return s.out.Indent("  ", console.Text(b.Text))
	case b.Type == sessions.ToolUse:
		return s.call(b)
	case b.Type == sessions.ToolResult:
		return s.result(b)
	}
	return s.out.Indent("  ", s.out.Dim("["+strings.TrimSpace("image "+console.Line(b.MIME))+", "+console.Size(max(b.Size, int64(len(b.Data))))+"]"))
}

// fold stands for a text that is not shown.
func (s *showing) fold(what, text string) string {
	if text == "" {
		return ""
	}
	room := 60
	if s.out.Terminal() {
		room = max(s.out.Width()-30, 20)
	}
	return s.out.Indent("  ", s.out.Dim(fmt.Sprintf("[%s, %s] %s", what, console.Size(int64(len(text))), console.Cut(console.Line(text), room))))
}

// call writes what a tool was asked, on one line or, in full, with its arguments
// set out.
func (s *showing) call(b *sessions.Block) string {
	name := "→ " + s.out.Bold(console.Line(b.Name))
	if s.full {
		var set bytes.Buffer
		if json.Indent(&set, b.Input, "", "  ") != nil {
			set.Reset()
			set.Write(b.Input)
		}
		return s.out.Indent("  ", name+"\n"+console.Text(set.String()))
	}
	line := console.Line(string(b.Input))
	if s.out.Terminal() {
		line = console.Cut(line, max(s.out.Width()-console.Cells(name)-3, 0))
	} else {
		line = console.Cut(line, 200)
	}
	return "  " + name + " " + s.out.Dim(line) + "\n"
}

// resultLines is how many lines of what a tool returned are shown.
const resultLines = 3

func (s *showing) result(b *sessions.Block) string {
	text := strings.TrimRight(console.Text(b.Text), " \t\n")
	if text == "" {
		text = "(nothing)"
	}
	mark := "← "
	if b.IsError {
		mark = "← error: "
	}
	lines := strings.Split(text, "\n")
	if s.full {
		return s.out.Indent("  ", mark+text)
	}
	var folded strings.Builder
	for i, line := range lines[:min(len(lines), resultLines)] {
		if i > 0 {
			mark = "  "
		}
		room := 200
		if s.out.Terminal() {
			room = s.out.Width() - 5
		}
		folded.WriteString("  " + s.out.Dim(console.Cut(mark+strings.ReplaceAll(line, "\t", "    "), room)) + "\n")
	}
	if more := len(lines) - resultLines; more > 0 {
		folded.WriteString("  " + s.out.Dim("  … "+console.Plural(more, "more line")) + "\n")
	}
	return folded.String()
}
