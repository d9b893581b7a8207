package memfs

import (
	"fmt"
	"math/rand/v2"
)

// Loss is a crash that can come now.
type Loss struct {
	How    string
	Killed bool // a process was, and the power stayed
	Left   func() *FS
}

// Losses returns a crash of each kind that a store is to survive. Without holes the
// sectors that the disk has of what was not synced are the first ones: nothing in a
// plain file tells a hole from what was written there.
func (m *FS) Losses(rng *rand.Rand, holes bool) []Loss {
	change := func() Change { return Change(rng.IntN(3)) }
	losses := []Loss{
		{"killed", true, m.Kill},
		{"synced alone", false, m.Synced},
		{"the first sectors", false, func() *FS {
			first := rng.IntN(10)
			return m.Crash(func() Fate {
				if first--; first >= 0 {
					return Kept
				}
				return Lost
			}, change)
		}},
	}
	if !holes {
		return losses
	}
	for _, fates := range [][]Fate{
		{Lost, Kept},
		{Kept, Zeroed},
		{Kept, Zeroed, Hidden},
		{Lost, Kept, Zeroed, Garbled, Hidden},
	} {
		losses = append(losses, Loss{fmt.Sprint("sectors at random of ", fates), false, func() *FS {
			return m.Crash(func() Fate { return fates[rng.IntN(len(fates))] }, change)
		}})
	}
	return losses
}
