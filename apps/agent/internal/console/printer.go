package console

import (
	"bufio"
	"fmt"
	"os"

	"golang.org/x/term"
)

// Printer is a stream that people read. It buffers; Flush it at the end. It is for
// one goroutine.
type Printer struct {
	w      *bufio.Writer
	file   *os.File
	styled bool
	width  int // in columns; 0 when it is no terminal
}

// New returns a printer to a file, for an environment as os.Getenv gives it.
func New(file *os.File, getenv func(string) string) *Printer {
	p := &Printer{w: bufio.NewWriter(file), file: file}
	fd := int(file.Fd())
	if !term.IsTerminal(fd) {
		return p
	}
	p.width = defaultWidth
	if w, _, err := term.GetSize(fd); err == nil && w > 0 {
		p.width = w
	}
	p.styled = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return p
}

// defaultWidth is that of a terminal which does not say.
const defaultWidth = 80

// Terminal tells whether a person is looking.
func (p *Printer) Terminal() bool { return p.width > 0 }

// Width returns the width in columns, or 0 when it is no terminal.
func (p *Printer) Width() int { return p.width }

// Write writes bytes as they are.
func (p *Printer) Write(b []byte) (int, error) { return p.w.Write(b) }

// Printf formats and writes. An error is kept for Flush.
func (p *Printer) Printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

// Println writes its arguments and a newline. An error is kept for Flush.
func (p *Printer) Println(args ...any) { fmt.Fprintln(p.w, args...) }

// Flush writes what is held back, and returns the first error of any writing.
func (p *Printer) Flush() error { return p.w.Flush() }

// Bold returns text in bold, where there are styles.
func (p *Printer) Bold(s string) string { return p.style("1", s) }

// Dim returns text that stands back, where there are styles.
func (p *Printer) Dim(s string) string { return p.style("2", s) }

func (p *Printer) style(code, s string) string {
	if !p.styled || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
