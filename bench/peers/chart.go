package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

// The plot has a row a line and a dot a store. A dot lies where the store is so
// many times worse than crabdb, on a scale of decades; crabdb is the upright line
// at 1, and dots to the left of it are ahead.
const (
	chartWidth  = 910
	labelWidth  = 330
	rowHeight   = 20
	chartTop    = 64
	chartBottom = 30
	leastTimes  = 0.01
	mostTimes   = 1000.0
)

// marks are the colours of peers, told apart by most eyes (Okabe and Ito), legible
// on light and dark.
var marks = []string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9"}

const chartStyle = `<style>
text { font: 12px system-ui, sans-serif; fill: #24292f }
.soft { fill: #6e7781 } .grid { stroke: #d0d7de } .self { stroke: #b3401f; stroke-width: 2 } .own { fill: #b3401f; font-weight: 600 }
circle { stroke: #ffffff; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .soft { fill: #8b949e } .grid { stroke: #30363d } .self { stroke: #ff8a65 } .own { fill: #ff8a65 }
circle { stroke: #0d1117 } }
</style>
`

// chart returns the plot as SVG, which needs nothing besides.
func (r *report) chart() []byte {
	var rows []line
	for _, l := range lines() {
		if _, _, ok := r.lead(l); ok && r.measured(l) {
			rows = append(rows, l)
		}
	}
	height := chartTop + len(rows)*rowHeight + chartBottom
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n",
		chartWidth, height, chartWidth, height)
	fmt.Fprintf(&b, "<title>crabdb and other engines, %s keys</title>\n%s", thousands(r.keys), chartStyle)
	r.chartLegend(&b)
	chartScale(&b, height)
	for i, l := range rows {
		r.chartRow(&b, l, chartTop+i*rowHeight+rowHeight/2)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (r *report) peers() []engine {
	var peers []engine
	for _, e := range r.engines {
		if e.name != crabdbEngine.name {
			peers = append(peers, e)
		}
	}
	return peers
}

func (r *report) chartLegend(b *bytes.Buffer) {
	fmt.Fprintf(b, `<text x="8" y="20">Each store against <tspan class="own">crabdb = 1</tspan>: right of the line it is so many times worse, left better</text>`+"\n")
	for i, e := range r.peers() {
		x := labelWidth + i*110
		fmt.Fprintf(b, `<circle cx="%d" cy="38" r="5" fill="%s"/><text x="%d" y="42">%s</text>`+"\n",
			x, marks[i%len(marks)], x+9, html.EscapeString(e.title))
	}
}

func chartScale(b *bytes.Buffer, height int) {
	for _, times := range []float64{0.01, 0.1, 1, 10, 100, 1000} {
		class := "grid"
		if times == 1 {
			class = "self"
		}
		x := chartX(times)
		fmt.Fprintf(b, `<line class="%s" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, class, x, chartTop-8, x, height-chartBottom)
		fmt.Fprintf(b, `<text class="soft" x="%.1f" y="%d" text-anchor="middle">%g×</text>`+"\n", x, height-12, times)
	}
}

// chartX returns where a ratio lies. What is beyond the scale lies at its end.
func chartX(times float64) float64 {
	times = min(max(times, leastTimes), mostTimes)
	share := math.Log(times/leastTimes) / math.Log(mostTimes/leastTimes)
	return labelWidth + share*(chartWidth-labelWidth-30)
}

func (r *report) chartRow(b *bytes.Buffer, l line, y int) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, labelWidth-12, y+4, html.EscapeString(l.title))
	fmt.Fprintf(b, `<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/>`, labelWidth, y, chartWidth-20, y)
	ours, _ := r.figures.median(crabdbEngine.name, l.id)
	for i, e := range r.peers() {
		theirs, ok := r.figures.median(e.name, l.id)
		if !ok {
			continue
		}
		times := advantage(l, ours, theirs)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%d" r="5" fill="%s"><title>%s: %s %s, crabdb %s</title></circle>`,
			chartX(times), y, marks[i%len(marks)], html.EscapeString(e.title), significant(theirs), l.unit, significant(ours))
	}
	b.WriteString("\n")
}
