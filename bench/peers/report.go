package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// report is a run, to be printed.
type report struct {
	bench
	machine machine
	figures figures
	date    time.Time
	args    []string
}

// markdown returns the table, with what is needed to judge and repeat it.
func (r *report) markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# crabdb beside other engines\n\n")
	fmt.Fprintf(&b, "%s. %s, %d cores, %s, %s, %s.\n", r.date.Format(time.DateOnly),
		r.machine.processor, r.machine.cores, r.machine.kernel, r.machine.fileSystem, r.machine.goVersion)
	fmt.Fprintf(&b, "%s keys of %d bytes in %s sessions that take turns, values of %d bytes that compress a little, "+
		"warm page cache. Medians of %s.\n\n    go run . %s\n\n",
		thousands(r.keys), keySize, thousands(r.keys/perSession), valueSize, plural(r.rounds, "round"), strings.Join(r.args, " "))
	b.WriteString(howToRead)
	r.table(&b)
	b.WriteString("\n## The floor\n\n|  | median | unit |\n|---|--:|---|\n")
	for _, l := range floorLines {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", l.title, r.cell(floorName, l.id), l.unit)
	}
	b.WriteString("\n## Versions and settings\n\n")
	for _, e := range r.engines {
		fmt.Fprintf(&b, "- **%s** `%s` %s. %s\n", e.title, e.module, r.machine.version(e), e.settings)
	}
	return b.Bytes()
}

// howToRead states what the lines are, and where they are not of the same.
const howToRead = `The lead is that of crabdb over the best peer: above 1 crabdb is ahead. "As loaded" is after the puts of the
first line, a kill and a clean close; "compacted" is after every value was overwritten and the engine's own compaction.
Times of get hold a copy of the value out of the store, which crabdb has verified. A put of crabdb, bbolt, badger and
SQLite is with the operating system when it returns, one of pebble may be in the process alone for
a while, and is lost with it. Deletes of crabdb and SQLite tell whether the key was there; the others are blind. Opening includes the
first get. Memory is what the process holds more than before it opened the store, garbage given back; mapped
pages are the page cache's and can be dropped. An empty cell: compaction excludes writers, so that there is nothing to
measure beside it. The store compacted beside a writer is of the size -stall-size says, and the writer puts as often as -stall-pace.
A batch adds 100 messages to one session.

`

func (r *report) table(b *bytes.Buffer) {
	b.WriteString("| line | unit | floor |")
	for _, e := range r.engines {
		fmt.Fprintf(b, " %s |", e.title)
	}
	b.WriteString(" lead |\n|---|---|--:|" + strings.Repeat("--:|", len(r.engines)) + "--:|\n")
	for _, l := range lines() {
		if !r.measured(l) {
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %s |", l.title, l.unit, r.cell(floorName, l.floor))
		for _, e := range r.engines {
			fmt.Fprintf(b, " %s |", r.cell(e.name, l.id))
		}
		fmt.Fprintf(b, " %s |\n", r.leadCell(l))
	}
}

// measured tells whether a line was asked for, and any store has a figure.
func (r *report) measured(l line) bool {
	if !(job{Groups: r.groups}).wants(l.group) {
		return false
	}
	for _, e := range r.engines {
		if _, ok := r.figures.median(e.name, l.id); ok {
			return true
		}
	}
	return false
}

func (r *report) cell(store, id string) string {
	value, ok := r.figures.median(store, id)
	if !ok {
		return ""
	}
	return significant(value)
}

// lead returns by what crabdb is better than the best peer, and which that is.
func (r *report) lead(l line) (ratio float64, peer string, ok bool) {
	ours, ok := r.figures.median(cmp.Or(l.of, crabdbEngine.name), l.id)
	if !ok || l.plain {
		return 0, "", false
	}
	for _, e := range r.engines {
		theirs, ok := r.figures.median(e.name, l.id)
		if e.ours || e.name == crabdbEngine.name || !ok {
			continue
		}
		if now := advantage(l, ours, theirs); peer == "" || now < ratio {
			ratio, peer = now, e.title
		}
	}
	return ratio, peer, peer != ""
}

// advantage returns by how many times the one figure is better than the other.
// What is too small to measure counts as a hundredth of the unit.
func advantage(l line, ours, theirs float64) float64 {
	ours, theirs = max(ours, 0.01), max(theirs, 0.01)
	if l.more {
		return ours / theirs
	}
	return theirs / ours
}

func (r *report) leadCell(l line) string {
	ratio, peer, ok := r.lead(l)
	if !ok {
		return ""
	}
	text := fmt.Sprintf("%.2g× %s", ratio, peer)
	if ratio >= 100 {
		text = fmt.Sprintf("%.0f× %s", ratio, peer)
	}
	if ratio > 1 {
		return "**" + text + "**"
	}
	return text
}

// significant prints three digits of a figure, and all before the point.
func significant(value float64) string {
	switch {
	case value >= 1000:
		return thousands(int(value + 0.5))
	case value >= 100 || value == 0:
		return strconv.FormatFloat(value, 'f', 0, 64)
	case value >= 10:
		return strconv.FormatFloat(value, 'f', 1, 64)
	case value >= 0.01 || value < 0:
		return strconv.FormatFloat(value, 'f', 2, 64)
	}
	return strconv.FormatFloat(value, 'g', 1, 64)
}

// thousands prints a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
