package main

import (
	"math/bits"
	"time"
)

// histogram counts durations in buckets of about 3 %, so that millions of them
// are kept without growing anything while a store is measured.
type histogram struct {
	counts [64 * subBuckets]uint64
	total  uint64
	max    time.Duration
}

const (
	subBits    = 5
	subBuckets = 1 << subBits
)

func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(uint64(max(d, 0)))]++
	h.total++
	h.max = max(h.max, d)
}

// bucketOf gives values below subBuckets a bucket each, and divides every further
// power of two into subBuckets.
func bucketOf(n uint64) int {
	shift := max(0, bits.Len64(n)-1-subBits)
	return shift<<subBits + int(n>>shift)
}

// ceiling returns the largest value of a bucket.
func ceiling(bucket int) uint64 {
	shift := max(0, bucket>>subBits-1)
	return (uint64(bucket-shift<<subBits)+1)<<shift - 1
}

// quantile returns a duration that the share q of all does not exceed.
func (h *histogram) quantile(q float64) time.Duration {
	want := uint64(q * float64(h.total))
	var seen uint64
	for b, n := range h.counts {
		if seen += n; n > 0 && seen >= want {
			return min(time.Duration(ceiling(b)), h.max)
		}
	}
	return h.max
}
