package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// searchReport is a run of the comparison of search, to be printed.
type searchReport struct {
	report
	search searchBench
}

func (b *searchBench) report(m machine, f figures, date time.Time, args []string) *searchReport {
	r := &searchReport{report{machine: m, figures: f, date: date, args: args}, *b}
	r.rounds = b.rounds
	for _, e := range b.indexers {
		r.engines = append(r.engines, e.column())
	}
	return r
}

// searchLines are all lines, in the order of the table.
func searchLines() []line {
	all := []line{
		{id: "commit", title: "one message a commit, no sync", unit: "/s", more: true},
		{id: "commit-median", title: "a commit, median", unit: "µs"},
		{id: "commit-99", title: "a commit, 99 %", unit: "µs"},
		{id: "durable", title: "one message a commit, durable", unit: "/s", more: true},
		{id: "durable-median", title: "a durable commit, median", unit: "µs"},
		{id: "durable-99", title: "a durable commit, 99 %", unit: "µs"},
		{id: "bulk", title: "in bulk, 1,000 a commit, durable", unit: "/s", more: true},
		{id: "size-loaded", title: "size on disk, as loaded", unit: "MiB"},
		{id: "optimize", title: "optimizing what was loaded", unit: "s", plain: true},
		{id: "size", title: "size on disk, optimized", unit: "MiB"},
		{id: "anonymous-opened", title: "anonymous memory after open", unit: "MiB"},
		{id: "anonymous-used", title: "anonymous memory, all queries made", unit: "MiB"},
		{id: "mapped-used", title: "mapped file pages, all queries made", unit: "MiB", plain: true},
	}
	for _, k := range queryKinds {
		of := ""
		if k.id == literal {
			of = crabliteralIndexer.name
		}
		all = append(all,
			line{id: k.id + "-median", of: of, title: k.title + ", median", unit: "µs"},
			line{id: k.id + "-99", of: of, title: k.title + ", 99 %", unit: "µs"})
	}
	for _, k := range queryKinds {
		all = append(all, line{id: k.id + "-hits", title: "documents found, mean: " + k.title, plain: true})
	}
	return all
}

// markdown returns the table, with what is needed to judge and repeat it.
func (r *searchReport) markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# textsearch beside other engines\n\n")
	fmt.Fprintf(&b, "%s. %s, %d cores, %s, %s, %s.\n", r.date.Format(time.DateOnly),
		r.machine.processor, r.machine.cores, r.machine.kernel, r.machine.fileSystem, r.machine.goVersion)
	fmt.Fprintf(&b, "%s messages of English prose, %d to %d words each, under keys of %d bytes; %s of them one a commit, a tenth of that durably; "+
		"%d queries of each kind, each %d times, warm. Medians of %s.\n\n    go run . search %s\n\n",
		thousands(r.search.messages), shortestMessage, longestMessage, keySize, thousands(min(r.search.commits, r.search.messages)),
		r.search.queries, queryRepeats, plural(r.rounds, "round"), strings.Join(r.args, " "))
	b.WriteString(howToReadSearch)
	b.WriteString("| line | unit |")
	for _, e := range r.engines {
		fmt.Fprintf(&b, " %s |", e.title)
	}
	b.WriteString(" lead |\n|---|---|" + strings.Repeat("--:|", len(r.engines)) + "--:|\n")
	for _, l := range searchLines() {
		fmt.Fprintf(&b, "| %s | %s |", l.title, l.unit)
		for _, e := range r.engines {
			fmt.Fprintf(&b, " %s |", r.cell(e.name, l.id))
		}
		fmt.Fprintf(&b, " %s |\n", r.leadCell(l))
	}
	b.WriteString("\n## Versions and settings\n\n")
	for _, e := range r.engines {
		fmt.Fprintf(&b, "- **%s** `%s` %s. %s\n", e.title, e.module, r.machine.version(e), e.settings)
	}
	return b.Bytes()
}

// howToReadSearch states what the lines are, and where they are not of the same.
const howToReadSearch = `The lead is that of textsearch over the best peer: above 1 textsearch is ahead. Every search
returns the keys of the best ten, and queries are asked of the optimized index. A commit of bleve without sync is in the
process alone for a while, and is lost with it. The time in bulk holds closing. Memory is what the process
holds more than before it opened the index, garbage given back; mapped pages are the page cache's and can be dropped.

All engines find the same documents for a rare word that has one form alone and stands between spaces wherever it does, or the run
fails. For other words the last lines show how far they differ: textsearch, bleve and porter find inflections, unicode61 does not;
bleve and porter look for a prefix among stems, porter for that of the prefix, and textsearch among the words as written; textsearch finds a word inside
an identifier, and bleve does not part what a dot or an underscore joins. The literal indexes, textsearch's and trigram, are on the lines of indexing beside the
others because literals need them: a store that wants both kinds of search pays for both, and the leads there are of the ranked index. trigram does not look
into texts, which it does not have, and textsearch verifies every hit in its text.

`
