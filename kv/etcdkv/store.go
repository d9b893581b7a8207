package etcdkv

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/gate"
)

// The limits of a store, in bytes.
const (
	MaxValue       = 16 << 20 // of a value
	MaxTransaction = 64 << 20 // of the keys and values that one transaction writes
)

// format is the version of how a store lies in etcd. It is raised by what an older
// version would misread.
const format = 1

// Options say how to open a store. The zero value is right.
type Options struct {
	// Realm is what Realm returns. Empty means kv.DefaultRealm. It confines nobody.
	Realm string

	// ReadOnly opens a store that is there already, and writes nothing.
	ReadOnly bool

	// Timeout is how long etcd may take to answer, an election included. Zero means
	// 10 seconds.
	Timeout time.Duration
}

// Store is a store in an etcd cluster.
type Store struct {
	requester
	gate     gate.Gate
	address  string // without secrets
	prefix   string // of all keys
	realm    string
	readOnly bool
	cache    *kv.Cache

	seen  atomic.Pointer[sight]
	kept  atomic.Pointer[keptStage]
	doubt atomic.Pointer[proposal] // the last one of unknown outcome, until it has one
	turn  chan struct{}
	queue atomic.Int32 // of those that have the turn or wait for it

	patience time.Duration // with another process, that does not come to its end
	youth    time.Duration // what a sweep leaves alone because it may be on its way
}

// Open opens the store at an address, and creates it where there is none:
//
//	etcd://[user:password@]host[:port][,host[:port]…][/name][?tls=true&ca=FILE&cert=FILE&key=FILE]
//
// Its keys all begin with the name (crabstore, if there is none) and a slash.
func Open(ctx context.Context, place string, opts Options) (*Store, error) {
	a, err := parse(place)
	if err != nil {
		return nil, err
	}
	s := &Store{
		address:  a.String(),
		prefix:   a.name + "/",
		realm:    opts.Realm,
		readOnly: opts.ReadOnly,
		cache:    new(kv.Cache),
		turn:     make(chan struct{}, 1),
		youth:    10 * time.Minute,
	}
	if s.realm == "" {
		s.realm = kv.DefaultRealm
	}
	s.timeout = opts.Timeout
	if s.timeout == 0 {
		s.timeout = 10 * time.Second
	}
	s.patience = s.timeout / 4
	if s.client, err = connect(a, s.timeout); err != nil {
		return nil, err
	}
	s.endpoints = a.endpoints()
	s.goTo(rand.N(len(s.endpoints))) // stores are spread over the members
	if err := s.openOrCreate(ctx); err != nil {
		s.client.Close()
		return nil, err
	}
	return s, nil
}

func connect(a address, timeout time.Duration) (*clientv3.Client, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: a.endpoints(),
		Username:  a.user,
		Password:  a.password,
		TLS:       a.tls,
		// A member that is gone without a word is noticed by these.
		DialTimeout:          timeout,
		DialKeepAliveTime:    timeout,
		DialKeepAliveTimeout: timeout / 4,
		// One that is back is found soon; what gRPC does by itself is to wait for up to two minutes.
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: timeout / 200, Multiplier: 1.6, Jitter: 0.2, MaxDelay: timeout / 5},
			MinConnectTimeout: timeout / 4,
		})},
		Logger: zap.NewNop(),
	})
	switch { // it connects when it is first used, but for a password's sake at once
	case err == nil:
		return client, nil
	case lost(err):
		return nil, unavailable(a.hosts, timeout, err)
	}
	return nil, fmt.Errorf("etcdkv: connecting to %s: %w", a, err)
}

func (s *Store) formatKey() string { return s.prefix + "format" }

// openOrCreate makes sure that a store of this format is there.
func (s *Store) openOrCreate(ctx context.Context) error {
	for {
		a, err := s.again(ctx, request{then: []clientv3.Op{
			clientv3.OpGet(s.formatKey()), s.getGuard(),
			clientv3.OpGet(s.prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly()),
		}})
		if err != nil {
			return err
		}
		switch {
		case len(got(a, 0).Kvs) > 0:
			return s.open(a)
		case len(got(a, 2).Kvs) > 0:
			return fmt.Errorf("%w: %s holds %.60q, but not %q; take another name", ErrNotStore, s.address, got(a, 2).Kvs[0].Key, s.formatKey())
		case s.readOnly:
			return fmt.Errorf("etcdkv: there is no store at %s: %w", s.address, fs.ErrNotExist)
		}
		if err := s.create(ctx); err != nil {
			return err
		}
	}
}

// open checks the format of a store.
func (s *Store) open(a *answer) error {
	found := string(got(a, 0).Kvs[0].Value)
	version, err := strconv.Atoi(found)
	switch {
	case err != nil || version < 1:
		return fmt.Errorf("%w: %q of %s is %.20q", ErrNotStore, s.formatKey(), s.address, found)
	case version > format:
		return fmt.Errorf("etcdkv: %s has format %d and this program knows formats up to %d: use a newer one", s.address, version, format)
	}
	g, err := s.parseGuard(got(a, 1))
	if err == nil {
		s.saw(g.epoch, a.Header.Revision)
	}
	return err
}

// create makes an empty store, unless there is something. It may be done again.
func (s *Store) create(ctx context.Context) error {
	_, err := s.again(ctx, request{
		compare: []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(s.prefix), "=", 0).WithPrefix()},
		then:    []clientv3.Op{clientv3.OpPut(s.formatKey(), strconv.Itoa(format)), s.putGuard(guard{}.next(clean))},
	})
	return err
}

// Close closes the store. The scans and transactions of the caller may go on for what
// they have begun.
func (s *Store) Close() error { return s.gate.Close(s.client.Close) }

// Realm returns the realm of the keys.
func (s *Store) Realm() string { return s.realm }

// Cache returns what packages keep of the store in memory.
func (s *Store) Cache() *kv.Cache { return s.cache }

// Get returns the value of a key. It is one round trip.
func (s *Store) Get(ctx context.Context, col kv.Column, key []byte) ([]byte, error) {
	if err := kv.CheckKey(key); err != nil {
		return nil, err
	}
	leave, err := s.gate.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	full := columnKey(col, key)
	m, a, err := s.now(ctx, clientv3.OpGet(s.dataKey(full)))
	if err != nil {
		return nil, err
	}
	return m.value(ctx, full, got(a, 1))
}

// Put sets the value of a key.
func (s *Store) Put(ctx context.Context, col kv.Column, key, value []byte) error {
	if err := kv.CheckKey(key); err != nil {
		return err
	}
	if err := kv.CheckValue(value, MaxValue); err != nil {
		return err
	}
	if len(value) > inlineLimit { // what is written before the commit has to be there still when it comes
		return s.Update(ctx, func(tx kv.KVStorage) error { return tx.Put(ctx, col, key, value) })
	}
	stored := append(append(make([]byte, 0, 1+len(value)), inline), value...)
	_, err := s.writeOne(ctx, record{columnKey(col, key), stored})
	return err
}

// Delete removes a key.
func (s *Store) Delete(ctx context.Context, col kv.Column, key []byte) (bool, error) {
	if err := kv.CheckKey(key); err != nil {
		return false, err
	}
	return s.writeOne(ctx, record{key: columnKey(col, key)})
}

// writeOne commits one record. For one that deletes it tells whether there was
// something.
func (s *Store) writeOne(ctx context.Context, r record) (existed bool, err error) {
	leave, err := s.gate.Call(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	if s.readOnly {
		return false, kv.ErrReadOnly
	}
	if s.contended() {
		if pass, err := s.takeTurn(ctx, courtesy); err == nil {
			defer pass()
		} else if ctx.Err() != nil {
			return false, err
		}
	}
	o, err := s.write(ctx, nil, s.ops(r))
	switch {
	case err != nil || r.stored != nil:
		return false, err
	case o.answer != nil:
		return o.answer.Responses[1].GetResponseDeleteRange().Deleted > 0, nil
	}
	was, err := s.at(ctx, o.rev-1, s.dataKey(r.key), clientv3.WithKeysOnly())
	if err != nil {
		return false, fmt.Errorf("the key is deleted; whether it was there is unknown: %w", err)
	}
	return len(was.Kvs) > 0, nil
}

// ScanKeys yields the keys that begin with prefix.
func (s *Store) ScanKeys(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[[]byte, error] {
	return kv.KeysOf(s.ScanRange(ctx, col, kv.Range{Prefix: prefix, KeysOnly: true}))
}

// Scan yields the entries whose keys begin with prefix.
func (s *Store) Scan(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return s.ScanRange(ctx, col, kv.Range{Prefix: prefix})
}

// ScanRange yields the entries of a range.
func (s *Store) ScanRange(ctx context.Context, col kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		leave, err := s.gate.Hold(ctx)
		if err != nil {
			yield(kv.Entry{}, err)
			return
		}
		defer leave()
		sp := s.spanOf(col, r)
		if sp.empty() {
			return
		}
		key, opts := sp.page(sp.firstLimit())
		m, a, err := s.now(ctx, clientv3.OpGet(key, opts...))
		if err != nil {
			yield(kv.Entry{}, err)
			return
		}
		m.entries(ctx, sp, got(a, 1))(yield)
	}
}
