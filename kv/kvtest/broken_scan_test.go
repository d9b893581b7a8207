package kvtest

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// changed is a store whose scans are those of s, changed.
func changed(s *memkv.Store, change func(r kv.Range, all []kv.Entry) []kv.Entry) hooks {
	return hooks{scan: func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
		return func(yield func(kv.Entry, error) bool) {
			var all []kv.Entry
			for e, err := range s.ScanRange(ctx, c, r) {
				if err != nil {
					yield(e, err)
					return
				}
				all = append(all, e)
			}
			for _, e := range change(r, all) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}}
}

// asked is a store whose scans ask s for another range.
func asked(s *memkv.Store, change func(r kv.Range) kv.Range) hooks {
	return hooks{scan: func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
		return s.ScanRange(ctx, c, change(r))
	}}
}

func scanFaults() []fault {
	return []fault{
		{"sorts as a locale does", "ScansAscendInByteOrder", func(s *memkv.Store) hooks {
			return changed(s, func(_ kv.Range, all []kv.Entry) []kv.Entry {
				slices.SortStableFunc(all, func(a, b kv.Entry) int {
					return cmp.Compare(strings.ToLower(string(a.Key)), strings.ToLower(string(b.Key)))
				})
				return all
			})
		}},
		{"takes a prefix for a pattern", "B02_NoByteOfAPrefixIsAWildcard", likePattern},
		{"ends a prefix with FF", "B03_PrefixesHaveTheRightEnd", func(s *memkv.Store) hooks {
			return changed(s, func(r kv.Range, all []kv.Entry) []kv.Entry {
				end := append(bytes.Clone(r.Prefix), 0xFF)
				return slices.DeleteFunc(all, func(e kv.Entry) bool { return bytes.Compare(e.Key, end) >= 0 })
			})
		}},
		{"loses an entry between two pages", "LongScans", func(s *memkv.Store) hooks {
			return changed(s, func(_ kv.Range, all []kv.Entry) []kv.Entry {
				if len(all) > 256 {
					all = slices.Delete(all, 256, 257)
				}
				return all
			})
		}},
		{"yields After itself", "RangesEqualAFilter", func(s *memkv.Store) hooks {
			return asked(s, func(r kv.Range) kv.Range {
				if r.After != nil && !r.Reverse && len(r.After) > 0 {
					r.After = r.After[:len(r.After)-1]
				}
				return r
			})
		}},
		{"takes an empty After for none", "RangesEqualAFilter", func(s *memkv.Store) hooks {
			return asked(s, func(r kv.Range) kv.Range {
				if len(r.After) == 0 {
					r.After = nil
				}
				return r
			})
		}},
		{"yields values with keys only", "KeysOnlyHasNoValues", func(s *memkv.Store) hooks {
			return asked(s, func(r kv.Range) kv.Range { r.KeysOnly = false; return r })
		}},
		{"finds the first for the last", "Last", func(s *memkv.Store) hooks {
			return asked(s, func(r kv.Range) kv.Range { r.Reverse = false; return r })
		}},
		{"scans once", "RangingAgainScansAnew", scansOnce},
		{"moves its cursor by number", "A27_DeleteTheCurrentKeyInAScan", func(s *memkv.Store) hooks {
			return live(s, func(all []kv.Entry, seen int, _ []byte) int { return seen })
		}},
		{"looks for what is next", "A27_PutAheadInAScan", liveByKey},
		{"looks for what is next", "A27_DeleteTheNextKeyInAScan", liveByKey},
		{"looks for what is next", "HeldScansStayFrozen", liveByKey},
		{"looks for what is next", "ScansSeeAPrefixOfHistory", liveByKey},
		{"reads values when they are yielded", "ReplaceValuesInAScan", lateValues},
		{"locks while it scans", "UpdateInAScan", locksWhileItScans},
	}
}

// likePattern scans as LIKE does, without its escapes.
func likePattern(s *memkv.Store) hooks {
	matches := func(pattern, key []byte) bool {
		for i, p := range pattern {
			if p == '%' {
				return true
			}
			if i >= len(key) || p != '_' && !bytes.EqualFold([]byte{p}, key[i:i+1]) {
				return false
			}
		}
		return true
	}
	h := changed(s, func(r kv.Range, all []kv.Entry) []kv.Entry { return all })
	inner := h.scan
	h.scan = func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
		pattern := r.Prefix
		r.Prefix = nil
		return func(yield func(kv.Entry, error) bool) {
			for e, err := range inner(ctx, c, r) {
				if err == nil && !matches(pattern, e.Key) {
					continue
				}
				if !yield(e, err) {
					return
				}
			}
		}
	}
	return h
}

func scansOnce(s *memkv.Store) hooks {
	return hooks{scan: func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
		used := false
		return func(yield func(kv.Entry, error) bool) {
			if used {
				return
			}
			used = true
			s.ScanRange(ctx, c, r)(yield)
		}
	}}
}

// live is a store whose scans look at it anew for each entry, and yield the one
// that next tells.
func live(s *memkv.Store, next func(all []kv.Entry, seen int, last []byte) int) hooks {
	return hooks{scan: func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
		return func(yield func(kv.Entry, error) bool) {
			var last []byte
			for seen := 0; ; seen++ {
				var all []kv.Entry
				for e, err := range s.ScanRange(ctx, c, r) {
					if err != nil {
						yield(e, err)
						return
					}
					all = append(all, e)
				}
				at := next(all, seen, last)
				if at >= len(all) {
					return
				}
				last = bytes.Clone(all[at].Key)
				if !yield(all[at], nil) {
					return
				}
			}
		}
	}}
}

func liveByKey(s *memkv.Store) hooks {
	return live(s, func(all []kv.Entry, _ int, last []byte) int {
		for i, e := range all {
			if last == nil || bytes.Compare(e.Key, last) > 0 {
				return i
			}
		}
		return len(all)
	})
}

func lateValues(s *memkv.Store) hooks {
	return hooks{scan: func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
		return func(yield func(kv.Entry, error) bool) {
			for e, err := range s.ScanRange(ctx, c, r) {
				if err == nil && !r.KeysOnly {
					e.Value, err = s.Get(ctx, c, e.Key)
				}
				if !yield(e, err) {
					return
				}
			}
		}
	}}
}

func locksWhileItScans(s *memkv.Store) hooks {
	var lock sync.Mutex
	return hooks{
		scan: func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
			return func(yield func(kv.Entry, error) bool) {
				lock.Lock()
				defer lock.Unlock()
				s.ScanRange(ctx, c, r)(yield)
			}
		},
		update: func(ctx context.Context, fn func(kv.KVStorage) error) error {
			lock.Lock()
			defer lock.Unlock()
			return s.Update(ctx, fn)
		},
	}
}
