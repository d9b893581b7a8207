package etcdkv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// request is one transaction of etcd, which is how everything is asked of it.
type request struct {
	compare    []clientv3.Cmp
	then, orIs []clientv3.Op
	local      bool // any member may answer by itself, also one without a leader
}

// answer is what came of a request.
type answer = clientv3.TxnResponse

// got returns what the read number i of an answer found.
func got(a *answer, i int) *clientv3.GetResponse {
	return (*clientv3.GetResponse)(a.Responses[i].GetResponseRange())
}

// requester makes requests, in bounded time. It keeps to one member for as long as
// that answers, so that it asks none that is cut off twice, and finds what it saw.
type requester struct {
	client    *clientv3.Client
	endpoints []string
	timeout   time.Duration

	mu      sync.Mutex
	current int // of the endpoints

	// wire, in tests, stands between us and etcd.
	wire func(ctx context.Context, r request, send func(context.Context) (*answer, error)) (*answer, error)
}

// once makes a request once. An error that is lost leaves open whether it was
// carried out. It takes a fraction of the timeout, so that there is time to ask
// another member.
func (q *requester) once(ctx context.Context, r request) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout/4)
	defer cancel()
	if !r.local {
		ctx = clientv3.WithRequireLeader(ctx)
	}
	member := q.member()
	a, err := q.send(ctx, r)
	if err != nil && (lost(err) || refused(err)) {
		q.leave(member)
	}
	return a, err
}

func (q *requester) send(ctx context.Context, r request) (*answer, error) {
	send := func(ctx context.Context) (*answer, error) {
		return q.client.Txn(ctx).If(r.compare...).Then(r.then...).Else(r.orIs...).Commit()
	}
	if q.wire != nil {
		return q.wire(ctx, r, send)
	}
	return send(ctx)
}

func (q *requester) member() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.current
}

// leave goes on to the member after one, unless another request has seen to it.
func (q *requester) leave(member int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.current == member {
		q.goTo((member + 1) % len(q.endpoints))
	}
}

func (q *requester) goTo(member int) {
	q.current = member
	if len(q.endpoints) > 1 {
		q.client.SetEndpoints(q.endpoints[member])
	}
}

// again makes a request until it is answered. It must be one that may be carried out
// more than once.
func (q *requester) again(ctx context.Context, r request) (*answer, error) {
	return q.until(ctx, r, func(err error) bool { return lost(err) || refused(err) })
}

// until makes a request until it is answered, or fails in a way for which it is not to
// be made again.
func (q *requester) until(ctx context.Context, r request, retry func(error) bool) (*answer, error) {
	for limit, n := time.Now().Add(q.timeout), 0; ; n++ {
		a, err := q.once(ctx, r)
		switch {
		case err == nil:
			return a, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !retry(err):
			return nil, translate(err)
		case time.Now().After(limit):
			return nil, unavailable(q.endpoints, q.timeout, err)
		}
		if err := pause(ctx, n); err != nil {
			return nil, err
		}
	}
}

func unavailable(endpoints []string, timeout time.Duration, err error) error {
	return fmt.Errorf("%w: asked %v for %v: is a majority of its members up, and reachable from here? %w",
		ErrUnavailable, endpoints, timeout, err)
}

// at reads at a revision, which any member that has come so far can answer alone.
func (q *requester) at(ctx context.Context, rev int64, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	opts = append(opts, clientv3.WithRev(rev))
	a, err := q.again(ctx, request{local: true, then: []clientv3.Op{clientv3.OpGet(key, append(opts, clientv3.WithSerializable())...)}})
	if errors.Is(err, rpctypes.ErrFutureRev) {
		a, err = q.again(ctx, request{then: []clientv3.Op{clientv3.OpGet(key, opts...)}})
	}
	if err != nil {
		return nil, err
	}
	return got(a, 0), nil
}

// pause waits before attempt n+2: at random, so that those who met part, and up to
// longer the more often.
func pause(ctx context.Context, n int) error {
	timer := time.NewTimer(rand.N(min(2*time.Millisecond<<min(n, 10), 200*time.Millisecond)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
