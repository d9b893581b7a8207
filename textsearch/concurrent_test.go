package textsearch_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/textsearch"
)

// Searches go on beside a writer, each at one moment of the index: what was there
// before it began is found, and the total is that of some commit.
func TestSearchBesideAWriter(t *testing.T) {
	const puts = 700 // the log is emptied on the way
	s := memkv.New()
	put(t, s, "0000", "first word")
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			last := 0
			for {
				select {
				case <-done:
					return
				default:
				}
				r, err := textsearch.Search(ctx, s, ix, textsearch.Query{Text: "word*", Count: true})
				if err != nil || r.Total < last || r.Total > puts+1 {
					t.Errorf("%d after %d, %v", r.Total, last, err)
					return
				}
				last = r.Total
			}
		}()
	}
	for i := 1; i <= puts; i++ {
		put(t, s, fmt.Sprintf("%04d", i), "another word")
	}
	close(done)
	readers.Wait()
	if n := len(find(t, s, "word")); n != puts+1 {
		t.Errorf("%d hits", n)
	}
}
