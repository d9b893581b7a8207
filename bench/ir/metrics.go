package main

import (
	"cmp"
	"math"
	"slices"
)

// judgments are the grades of the documents that were judged for one query. A
// grade above zero is relevant; zero, below it and none are not.
type judgments map[string]int

func (j judgments) relevant() int {
	n := 0
	for _, grade := range j {
		if grade > 0 {
			n++
		}
	}
	return n
}

// averagePrecision is the mean, over all relevant documents, of the precision at
// the rank of each; 0 for one that was not found.
func averagePrecision(hits []string, j judgments) float64 {
	found, sum := 0, 0.0
	for i, id := range hits {
		if j[id] > 0 {
			found++
			sum += float64(found) / float64(i+1)
		}
	}
	return sum / float64(j.relevant())
}

// precision is the share of relevant documents among the first n, where fewer hits
// than n count as not relevant.
func precision(hits []string, j judgments, n int) float64 {
	found := 0
	for _, id := range hits[:min(n, len(hits))] {
		if j[id] > 0 {
			found++
		}
	}
	return float64(found) / float64(n)
}

// ndcg is the discounted cumulative gain of the first n, as a share of the best
// that could be. The gain is the grade, the discount log2 of the rank plus one.
func ndcg(hits []string, j judgments, n int) float64 {
	gains := make([]int, 0, n)
	for _, id := range hits[:min(n, len(hits))] {
		gains = append(gains, j[id])
	}
	var ideal []int
	for _, grade := range j {
		ideal = append(ideal, grade)
	}
	slices.SortFunc(ideal, func(a, b int) int { return cmp.Compare(b, a) })
	return dcg(gains) / dcg(ideal[:min(n, len(ideal))])
}

func dcg(grades []int) float64 {
	sum := 0.0
	for i, grade := range grades {
		sum += float64(max(grade, 0)) / math.Log2(float64(i)+2)
	}
	return sum
}

// metrics adds up over queries.
type metrics struct {
	queries                               int
	averagePrecision, ndcg10, precision30 float64
}

// add takes in a query's hits, unless nothing is relevant to it.
func (m *metrics) add(hits []string, j judgments) {
	if j.relevant() == 0 {
		return
	}
	m.queries++
	m.averagePrecision += averagePrecision(hits, j)
	m.ndcg10 += ndcg(hits, j, 10)
	m.precision30 += precision(hits, j, 30)
}

func (m *metrics) mean() metrics {
	n := float64(max(m.queries, 1))
	return metrics{m.queries, m.averagePrecision / n, m.ndcg10 / n, m.precision30 / n}
}
