package console

import "strings"

// Span is a part of a text: the bytes from Start up to, and without, End.
type Span struct{ Start, End int }

// Marked returns foreign text on one line with spans of it marked: in bold and
// underlined where there are styles, «between these» elsewhere.
func (p *Printer) Marked(s string, spans []Span) string {
	var b strings.Builder
	at := 0
	for _, span := range spans {
		if span.Start < at || span.End > len(s) || span.End <= span.Start {
			continue
		}
		b.WriteString(spaced(s[at:span.Start]))
		b.WriteString(p.mark(Line(s[span.Start:span.End])))
		at = span.End
	}
	b.WriteString(spaced(s[at:]))
	return strings.TrimSpace(b.String())
}

func (p *Printer) mark(s string) string {
	if p.styled {
		return p.style("1;4", s)
	}
	return "«" + s + "»"
}

// spaced is Line with the space at both ends kept.
func spaced(s string) string {
	line := Line(s)
	if line == "" {
		if s != "" {
			return " "
		}
		return ""
	}
	if strings.TrimLeft(s, " \t\r\n") != s {
		line = " " + line
	}
	if strings.TrimRight(s, " \t\r\n") != s {
		line += " "
	}
	return line
}
