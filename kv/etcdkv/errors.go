package etcdkv

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/crabstore/crabstore/kv"
)

var (
	// ErrUnavailable is returned when no member of the cluster answered in time, or
	// none that has a leader. Nothing was written.
	ErrUnavailable = errors.New("etcdkv: etcd does not answer")

	// ErrNotStore is returned by Open when there is something below the name that no
	// store has there. It was left as it is.
	ErrNotStore = errors.New("etcdkv: not a store")

	// ErrHistoryGone is returned by a scan or a View that lasted longer than etcd
	// keeps its history. Begin it again, or have etcd keep it longer
	// (--auto-compaction-retention).
	ErrHistoryGone = errors.New("etcdkv: etcd has compacted the moment that is being read")

	// ErrNoSpace is returned by every write when etcd's quota is used up. Nothing
	// was written.
	ErrNoSpace = errors.New("etcdkv: etcd's quota is used up: compact and defragment it or raise " +
		"--quota-backend-bytes, then disarm the alarm (etcdctl alarm disarm)")
)

// lost tells of an error that it is none of etcd's about the request: it may have been
// carried out, or be yet.
func lost(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted, codes.Internal, codes.Unknown:
		return true
	}
	return false
}

// refused tells of an error that the member did not begin with the request, which may
// be made again, of another: it has no leader, as one that is cut off, or too much to
// do.
func refused(err error) bool {
	return errors.Is(err, rpctypes.ErrNoLeader) || errors.Is(err, rpctypes.ErrTooManyRequests)
}

// codeOf returns the code of an error, translated or not.
func codeOf(err error) codes.Code {
	var e rpctypes.EtcdError
	if errors.As(err, &e) {
		return e.Code()
	}
	return status.Code(err)
}

// translate makes an answer of etcd that is an error one of kv's or ours too.
func translate(err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrCompacted):
		return fmt.Errorf("%w: %w", ErrHistoryGone, err)
	case errors.Is(err, rpctypes.ErrNoSpace):
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	case errors.Is(err, rpctypes.ErrTooManyOps), errors.Is(err, rpctypes.ErrRequestTooLarge):
		return fmt.Errorf("%w: %w: etcd's --max-txn-ops and --max-request-bytes must not be below their defaults",
			kv.ErrTxTooLarge, err)
	}
	return fmt.Errorf("etcdkv: %w", err)
}
