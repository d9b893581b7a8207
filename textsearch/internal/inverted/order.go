package inverted

import (
	"encoding/binary"

	"github.com/crabstore/crabstore/kv"
)

// The order of a merge is, for each run of documents that come from one input and
// stay, or go, a uvarint input<<1 | gone, and a uvarint with their number.
type orderWriter struct {
	data  []byte
	run   uint64
	count uint64
}

func (o *orderWriter) add(input int, goes bool) {
	run := uint64(input) << 1
	if goes {
		run |= 1
	}
	if o.count > 0 && run != o.run {
		o.end()
	}
	o.run = run
	o.count++
}

func (o *orderWriter) end() {
	o.data = binary.AppendUvarint(binary.AppendUvarint(o.data, o.run), o.count)
	o.count = 0
}

func (o *orderWriter) take() []byte {
	if o.count > 0 {
		o.end()
	}
	return o.data
}

// mapping returns for each input the numbers that its documents have in the output.
func (r *merging) mapping() ([][]uint32, error) {
	at := kv.CacheKey{ID: r.Output.ID, Kind: 'M'}
	if v, ok := r.shelf.cache.Get(at); ok {
		return v.([][]uint32), nil
	}
	all := make([][]uint32, len(r.inputs))
	size := 0
	for i, seg := range r.inputs {
		all[i] = make([]uint32, 0, seg.Docs)
		size += 4 * int(seg.Docs)
	}
	next := uint32(0)
	for part := range r.Orders {
		data, err := r.shelf.get(r.ctx, r.Output.ID, order, part)
		if err != nil {
			return nil, err
		}
		for len(data) > 0 {
			run, n := binary.Uvarint(data)
			count, m := binary.Uvarint(data[max(n, 0):])
			if n <= 0 || m <= 0 || run>>1 >= uint64(len(all)) || count > uint64(cap(all[run>>1])-len(all[run>>1])) {
				return nil, r.shelf.corrupt(r.Output.ID, order, part)
			}
			data = data[n+m:]
			to := &all[run>>1]
			for range count {
				if run&1 != 0 {
					*to = append(*to, gone)
					continue
				}
				*to = append(*to, next)
				next++
			}
		}
	}
	for i, seg := range r.inputs {
		if len(all[i]) != int(seg.Docs) {
			return nil, r.shelf.corrupt(r.Output.ID, order, 0)
		}
	}
	if next != r.Output.Docs {
		return nil, r.shelf.corrupt(r.Output.ID, order, 0)
	}
	r.shelf.cache.Put(at, all, size)
	return all, nil
}
