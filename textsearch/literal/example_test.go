package literal_test

import (
	"fmt"
	"slices"

	"github.com/crabstore/crabstore/textsearch/literal"
)

func Example() {
	text := "İstanbul'a deploy: Straße, STRASSE"
	m := literal.NewMatcher("strasse")
	for span := range m.Find(text) {
		fmt.Printf("%d to %d: %s\n", span.Start, span.End, text[span.Start:span.End])
	}
	window := literal.Preview(text, slices.Collect(m.Find(text)), 20)
	fmt.Println(window.Text, window.Spans)
	// Output:
	// 20 to 27: Straße
	// 29 to 36: STRASSE
	// Straße, STRASSE [{0 7} {9 16}]
}
