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

// score scores the list of one lookup: all the documents that it finds.
func (sc *scorer) score(list []entry, weight float64) {
	rarity := sc.idf(len(list)) * weight
	for i := range list {
		e := &list[i]
		s := sc.saturation(e.frequency, e.length)
		if e.exact > 0 {
			s += exactBonus * sc.saturation(e.exact, e.length)
		}
		e.score = rarity * s * e.weight
	}
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
