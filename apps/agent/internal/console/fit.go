package console

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Cells returns how many columns a text takes, styles not counted.
func Cells(s string) int { return text.StringWidthWithoutEscSequences(s) }

// Cut returns a line cut to so many columns, with … at the end when it was longer.
// Below one column there is no limit.
func Cut(s string, columns int) string {
	if columns < 1 {
		return s
	}
	return text.Snip(s, columns, "…")
}

// Indent returns the lines of a text behind an indentation. Where there is a
// terminal they are broken to fit, between words if possible.
func (p *Printer) Indent(indent, s string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		if room := p.width - Cells(indent); p.width > 0 && room > 8 && Cells(line) > room {
			line = wrap(line, room)
		}
		for part := range strings.SplitSeq(line, "\n") {
			b.WriteString(strings.TrimRight(indent+part, " "))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// wrap breaks a line between words, and keeps what it is indented by. In one with
// runs of spaces, which is code or a table, it keeps those and breaks anywhere.
func wrap(line string, room int) string {
	rest := strings.TrimLeft(line, " \t")
	indent := strings.ReplaceAll(line[:len(line)-len(rest)], "\t", "    ")
	rest = strings.ReplaceAll(rest, "\t", "    ")
	room -= len(indent)
	if room < narrow || strings.Contains(rest, "  ") {
		return breakAnywhere(indent+rest, room+len(indent))
	}
	return indent + strings.ReplaceAll(text.WrapSoft(rest, room), "\n", "\n"+indent)
}

// breakAnywhere breaks a line where the terminal would.
func breakAnywhere(line string, room int) string {
	var parts []string
	for Cells(line) > room {
		part := text.Trim(line, room)
		if part == "" || len(part) >= len(line) {
			break
		}
		parts, line = append(parts, part), line[len(part):]
	}
	return strings.Join(append(parts, line), "\n")
}

// narrow is how few columns are not worth an indentation.
const narrow = 16
