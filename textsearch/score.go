package textsearch

import (
	"math"

	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// scorer computes BM25 (Robertson and Zaragoza, The Probabilistic Relevance
// Framework, 2009) with the inverse document frequency of Lucene, which is above
// zero for a term in every document too.
//
// Scores are summed up as integers, so that the sum is the same in whatever order
// its parts come: scale is what 1 is then.
type scorer struct {
	documents float64
	k1        float64
	norms     [256]float64 // k1 * (1 - b + b * length / average), by the byte of the length
	once      [256]float64 // saturation of one occurrence
	scale     float64
}

func newScorer(set Settings, st inverted.Stats) *scorer {
	average := 1.0
	if st.Documents > 0 && st.Length > 0 {
		average = float64(st.Length) / float64(st.Documents)
	}
	sc := &scorer{documents: float64(st.Documents), k1: set.K1, scale: 1}
	for i := range sc.norms {
		sc.norms[i] = set.K1 * (1 - set.B + set.B*float64(inverted.Length(byte(i)))/average)
		sc.once[i] = sc.compute(1, byte(i))
	}
	return sc
}

// idf is the inverse document frequency of what df documents have.
func (sc *scorer) idf(df uint64) float64 {
	has := float64(df)
	all := max(sc.documents, has) // a crash may have left too few, where updates are not atomic
	return math.Log1p((all - has + 0.5) / (has + 0.5))
}

// saturation is what so many occurrences count in a document of that length.
func (sc *scorer) saturation(frequency uint32, length byte) float64 {
	if frequency == 1 {
		return sc.once[length]
	}
	return sc.compute(float64(frequency), length)
}

func (sc *scorer) compute(f float64, length byte) float64 {
	return f * (sc.k1 + 1) / (f + sc.norms[length])
}

// setScale makes the sum of all that a document can get as large as fits.
func (sc *scorer) setScale(most float64) {
	const bits = 60
	sc.scale = math.Exp2(bits - math.Ceil(math.Log2(max(most, math.SmallestNonzeroFloat64))))
}

// points is a score, above zero, as a scaled integer.
func points(scaled float64) int64 { return max(int64(scaled), 1) }

// bound is an upper bound of points of the sum of parts, each rounded, of which the
// exact sum is scaled.
func bound(scaled float64) int64 { return int64(scaled*(1+1e-12)) + 2 }
