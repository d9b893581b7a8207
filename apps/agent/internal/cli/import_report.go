package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/apps/agent/internal/importer"
)

// report says what an import did: what was stored on stdout, what was not on stderr.
func (i *importing) report(r *importer.Report) error {
	if i.json {
		return i.writeJSON(r)
	}
	if !i.quiet {
		i.stored(r)
	}
	if err := i.out.Flush(); err != nil { // before what is said on stderr, where a terminal shows both
		return err
	}
	i.skipped(r)
	i.leftOut(r)
	if !i.quiet {
		i.remarks(r)
	}
	return nil
}

// stored says what is in the store now that was not.
func (i *importing) stored(r *importer.Report) {
	t := &console.Table{Columns: []console.Column{{Title: "FORMAT"}, {Title: "FILES", Right: true},
		{Title: "NEW SESSIONS", Right: true}, {Title: "UPDATED", Right: true},
		{Title: "NEW MESSAGES", Right: true}, {Title: "UPDATED", Right: true}, {Title: "KNOWN", Right: true}}}
	var total importer.FormatReport
	row := func(name string, f *importer.FormatReport) {
		s := f.Sources
		t.Add(name, console.Count(s.Read+s.Unchanged+s.Failed), console.Count(f.Sessions.New), console.Count(f.Sessions.Updated),
			console.Count(f.Messages.New), console.Count(f.Messages.Updated), console.Count(f.Messages.Unchanged))
	}
	for _, f := range r.Formats {
		row(string(f.Format), &f)
		total.Add(&f)
	}
	if len(r.Formats) > 1 {
		row("total", &total)
	}
	i.out.Table(t)
	took := r.Duration.Round(10 * time.Millisecond)
	messages := total.Messages.New + total.Messages.Updated
	switch {
	case r.Interrupted:
		i.out.Printf("Interrupted after %v: what is counted above is stored, the next import goes on from there.\n", took)
	case r.DryRun:
		i.out.Println("A dry run: nothing was written.")
	case !r.Changed():
		i.out.Printf("Nothing new (%v).\n", took)
	case messages >= 1000:
		i.out.Printf("Done in %v, %s messages a second.\n", took, console.Count(int(float64(messages)/r.Duration.Seconds())))
	default:
		i.out.Printf("Done in %v.\n", took)
	}
	if i.sample && !r.DryRun && r.Changed() {
		i.out.Println("Try: agent search flaky reconnect")
	}
}

// skipped says what of the input could not be taken.
func (i *importing) skipped(r *importer.Report) {
	if n := len(r.Failed); n > 0 {
		i.err.Printf("%s could not be read:\n", console.Plural(n, "file"))
		list(i, r.Failed, func(f importer.Failure) string {
			if strings.HasPrefix(f.Reason, f.Path) {
				return f.Reason
			}
			return f.Path + ": " + f.Reason
		})
	}
	if n := r.SkippedTotal; n > 0 {
		i.err.Printf("%s skipped:\n", console.Plural(n, "record"))
		list(i, r.Skipped, func(s importer.Skip) string {
			if s.Line > 0 {
				return fmt.Sprintf("%s:%d: %s", s.Path, s.Line, s.Reason)
			}
			return s.Path + ": " + s.Reason
		})
		if more := n - len(r.Skipped); more > 0 && i.verbose {
			i.err.Printf("  and %d more\n", more)
		}
	}
}

// list names the first of some things, or with --verbose all.
func list[T any](i *importing, things []T, name func(T) string) {
	shown := things
	if !i.verbose {
		shown = things[:min(len(things), firstNamed)]
	}
	for _, t := range shown {
		i.err.Println("  " + console.Line(name(t)))
	}
	if more := len(things) - len(shown); more > 0 {
		i.err.Printf("  and %d more (-v names them)\n", more)
	}
}

// leftOut says what was deleted here and stays so.
func (i *importing) leftOut(r *importer.Report) {
	n := len(r.LeftOut)
	if n == 0 {
		return
	}
	i.err.Printf("%s deleted here, left out (--force brings them back):\n", console.Plural(n, "session"))
	list(i, r.LeftOut, func(d importer.Deleted) string { return d.Handle + "  " + d.Format + " " + d.ID })
}

// remarks says what is worth knowing and no loss.
func (i *importing) remarks(r *importer.Report) {
	if n := len(r.Unfinished); n > 0 {
		i.err.Printf("%s whose last line is not whole yet; the next import reads it:\n", console.Plural(n, "file"))
		list(i, r.Unfinished, func(path string) string { return path })
	}
	if len(r.Unknown) > 0 {
		var types []string
		for _, t := range slices.Sorted(maps.Keys(r.Unknown)) {
			types = append(types, fmt.Sprintf("%s (%d)", t, r.Unknown[t]))
		}
		i.err.Println("Records of unknown types, passed over: " + console.Line(strings.Join(types, ", ")))
	}
	if n := len(r.NotSessions); n > 0 && i.verbose {
		i.err.Printf("%s that hold no session:\n", console.Plural(n, "file"))
		list(i, r.NotSessions, func(f importer.Failure) string { return f.Path + ": " + f.Reason })
	} else if n > 0 && !i.sample {
		i.err.Printf("%s held no session (-v names them).\n", console.Plural(n, "other file"))
	}
}
