package textsearch

import "math"

// scorer computes BM25 (Robertson and Zaragoza, The Probabilistic Relevance
// Framework, 2009) with the inverse document frequency of Lucene, which is above
// zero for a term in every document too.
type scorer struct {
	k1, b     float64
	documents float64
	average   float64 // length of a document
}

func newScorer(set Settings, st stats) scorer {
	return scorer{set.K1, set.B, float64(st.Documents), st.average()}
}

// score scores what a lookup found: all the documents that match it.
func (sc *scorer) score(list []occurrence, weight float64) []match {
	rarity := sc.idf(len(list)) * weight
	out := make([]match, len(list))
	for i, o := range list {
		s := sc.saturation(o.frequency, o.length)
		if o.exact > 0 {
			s += exactBonus * sc.saturation(o.exact, o.length)
		}
		out[i] = match{o.key, rarity * s * o.weight}
	}
	return out
}

// idf is the inverse document frequency of what df documents have.
func (sc *scorer) idf(df int) float64 {
	has := float64(df)
	all := max(sc.documents, has) // a crash may have left too few, where updates are not atomic
	return math.Log1p((all - has + 0.5) / (has + 0.5))
}

// saturation is what so many occurrences count in a document of that length.
func (sc *scorer) saturation(frequency, length uint64) float64 {
	f := float64(frequency)
	return f * (sc.k1 + 1) / (f + sc.k1*(1-sc.b+sc.b*float64(length)/sc.average))
}
