package main

import (
	"math"
	"testing"
)

// A worked example: relevant are a (grade 3), b (2) and c (1); d was judged not
// relevant, and e worse than that. Found are x, b, d, a: b at rank 2, a at 4.
var (
	exampleJudgments = judgments{"a": 3, "b": 2, "c": 1, "d": 0, "e": -1}
	exampleHits      = []string{"x", "b", "d", "a"}
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestAveragePrecision(t *testing.T) {
	for _, test := range []struct {
		hits []string
		want float64
	}{
		{exampleHits, (1.0/2 + 2.0/4) / 3}, // c is not found and counts 0
		{[]string{"a", "b", "c"}, 1},
		{[]string{"e", "d", "x"}, 0},
		{nil, 0},
		{[]string{"c"}, 1.0 / 3},
	} {
		if got := averagePrecision(test.hits, exampleJudgments); !near(got, test.want) {
			t.Errorf("%v: %v, want %v", test.hits, got, test.want)
		}
	}
}

func TestPrecision(t *testing.T) {
	for _, test := range []struct {
		n    int
		want float64
	}{{1, 0}, {2, 0.5}, {4, 0.5}, {30, 2.0 / 30}} {
		if got := precision(exampleHits, exampleJudgments, test.n); !near(got, test.want) {
			t.Errorf("at %d: %v, want %v", test.n, got, test.want)
		}
	}
}

func TestNDCG(t *testing.T) {
	// The best order is a, b, c: 3/log2(2) + 2/log2(3) + 1/log2(4).
	ideal := 3 + 2/math.Log2(3) + 0.5
	for _, test := range []struct {
		hits []string
		n    int
		want float64
	}{
		{exampleHits, 10, (2/math.Log2(3) + 3/math.Log2(5)) / ideal},
		{[]string{"a", "b", "c"}, 10, 1},
		{[]string{"e", "a"}, 10, 3 / math.Log2(3) / ideal}, // a bad one counts no less than an unknown one
		{exampleHits, 2, 2 / math.Log2(3) / (3 + 2/math.Log2(3))},
		{nil, 10, 0},
	} {
		if got := ndcg(test.hits, exampleJudgments, test.n); !near(got, test.want) {
			t.Errorf("%v at %d: %v, want %v", test.hits, test.n, got, test.want)
		}
	}
}

// A query to which nothing is relevant does not count; one that finds nothing does.
func TestMeans(t *testing.T) {
	var m metrics
	m.add(exampleHits, nil)
	m.add(exampleHits, judgments{"x": 0, "e": -1})
	m.add(exampleHits, exampleJudgments)
	m.add(nil, exampleJudgments)
	mean := m.mean()
	if m.queries != 2 || !near(mean.averagePrecision, 1.0/6) || !near(mean.precision30, 1.0/30) {
		t.Errorf("%+v of %d", mean, m.queries)
	}
	if none := new(metrics).mean(); none.averagePrecision != 0 {
		t.Errorf("no queries: %+v", none)
	}
}
