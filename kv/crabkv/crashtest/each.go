package crashtest

import (
	"fmt"
	"os"
	"testing"

	"github.com/crabstore/crabstore/crabdb"
)

// EachCall makes a history of these steps, the subject's and the engine's (checkpoint,
// compact, sync, reopen, kill, lose power), in each format, with a crash before every
// call that changes the disk: of any kind, or, when CRABSTORE_CRASHES is set, one of each
// kind.
func EachCall(t *testing.T, subject *Subject, steps ...string) {
	seed := seedOf(t)
	for _, opts := range []crabdb.Options{{}, {Sync: crabdb.SyncWrite}, {Plain: true}} {
		name := fmt.Sprintf("plain %t, sync %d", opts.Plain, opts.Sync)
		t.Run(name, func(t *testing.T) {
			opts.CompactRatio, opts.CheckpointEvery = -1, -1
			h, err := newHistory(subject, opts, seed, 0)
			if err != nil {
				t.Fatal(err)
			}
			if os.Getenv("CRABSTORE_CRASHES") == "" {
				h.take = one(h.dice, 1)
			}
			for i, step := range steps {
				if err := h.run(step); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
			}
			if err := h.close(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d crashes", h.checked)
		})
	}
}
