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

// wrap breaks a line between words, but for one that begins with white space: that
// is code or a table, whose spaces are kept.
func wrap(line string, room int) string {
	if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
		return text.WrapHard(line, room)
	}
	return text.WrapSoft(line, room)
}
