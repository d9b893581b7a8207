package kv

import "sync"

// Cache keeps what packages made of values that never change under the name they
// have: a name that was used for one thing is not used for another, even when the
// transaction that wrote it came to nothing. So nothing in a cache can be wrong,
// and one serves all transactions and snapshots of a store. It keeps the sizes that
// it is told below a limit, and lets go of what was not asked for lately. The zero
// value is a cache of DefaultCacheSize, for concurrent use.
type Cache struct {
	mu         sync.RWMutex
	limit      int
	size       int
	young, old map[CacheKey]cached
}

// DefaultCacheSize is how many bytes a Cache keeps at most.
const DefaultCacheSize = 128 << 20

// CacheKey names something in a Cache.
type CacheKey struct {
	ID   uint64 // random, of whatever it is a part of
	Kind byte
	N    uint32
}

type cached struct {
	value any
	size  int
}

// Get returns what is kept under a key.
func (c *Cache) Get(key CacheKey) (value any, ok bool) {
	c.mu.RLock()
	found, ok := c.young[key]
	if ok {
		c.mu.RUnlock()
		return found.value, true
	}
	found, ok = c.old[key]
	c.mu.RUnlock()
	if ok {
		c.Put(key, found.value, found.size)
	}
	return found.value, ok
}

// Put keeps a value that takes about size bytes. It belongs to all who Get it: it
// is not changed any more, or guards itself.
func (c *Cache) Put(key CacheKey, value any, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limit == 0 {
		c.limit = DefaultCacheSize
	}
	if c.size+size > c.limit/2 || c.young == nil {
		c.old, c.young, c.size = c.young, map[CacheKey]cached{}, 0
	}
	c.size += size - c.young[key].size
	c.young[key] = cached{value, size}
}

// SetLimit sets how many bytes are kept at most. 0 is DefaultCacheSize.
func (c *Cache) SetLimit(bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = bytes
}

// Cacher is a store that has a Cache, and whose transactions have the same.
type Cacher interface {
	Cache() *Cache
}

// CacheOf returns the cache of a store; of one that has none a new one.
func CacheOf(s KVStorage) *Cache {
	if c, ok := As[Cacher](s); ok {
		return c.Cache()
	}
	return new(Cache)
}
