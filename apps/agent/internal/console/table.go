package console

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Column is one of a table.
type Column struct {
	Title string
	Right bool // numbers
	Flex  bool // gives way where the terminal is too narrow; one column at most
}

// Table is rows under titles.
type Table struct {
	Columns []Column
	Rows    [][]string // of one line each
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// gap stands between columns.
const gap = "  "

// Table writes a table, fitted to the terminal.
func (p *Printer) Table(t *Table) {
	p.fit(t)
	w := table.NewWriter()
	w.SetStyle(plain())
	header := make(table.Row, len(t.Columns))
	var configs []table.ColumnConfig
	for i, c := range t.Columns {
		header[i] = p.Bold(c.Title)
		align := text.AlignLeft
		if c.Right {
			align = text.AlignRight
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
	}
	w.AppendHeader(header)
	w.SetColumnConfigs(configs)
	for _, r := range t.Rows {
		row := make(table.Row, len(r))
		for i, cell := range r {
			row[i] = cell
		}
		w.AppendRow(row)
	}
	for line := range strings.SplitSeq(w.Render(), "\n") {
		p.Println(strings.TrimRight(line, " "))
	}
}

// plain is a style without lines.
func plain() table.Style {
	s := table.StyleDefault
	s.Box.PaddingLeft, s.Box.PaddingRight = "", gap
	s.Options = table.OptionsNoBordersAndSeparators
	s.Format.Header = text.FormatDefault
	return s
}

// least is how narrow a column that gives way may become.
const least = 12

// fit cuts the cells of the column that gives way, so that rows fit the terminal.
func (p *Printer) fit(t *Table) {
	if p.width == 0 {
		return
	}
	room, flex := p.width-len(gap)*(len(t.Columns)-1), -1
	for i, c := range t.Columns {
		if c.Flex {
			flex = i
			continue
		}
		widest := Cells(c.Title)
		for _, r := range t.Rows {
			widest = max(widest, Cells(r[i]))
		}
		room -= widest
	}
	if flex < 0 {
		return
	}
	for _, r := range t.Rows {
		r[flex] = Cut(r[flex], max(room, least))
	}
}
