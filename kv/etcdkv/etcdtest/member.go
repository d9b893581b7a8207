package etcdtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// patience is how long a server may take to answer on a busy machine.
const patience = 60 * time.Second

// member is one server of a cluster, running or not.
type member struct {
	name   string
	dir    string // data and log
	client string // host:port for clients
	args   []string
	*process
}

// newMember returns a member that has not been started. It listens for its peers at
// peer; advertised is where they reach it.
func newMember(t testing.TB, dir, name, peer, advertised string, flags []string) *member {
	t.Helper()
	m := &member{name: name, dir: dir, client: freeAddress(t)}
	m.args = append([]string{
		"--name", name,
		"--data-dir", filepath.Join(dir, name),
		"--listen-client-urls", "http://" + m.client,
		"--advertise-client-urls", "http://" + m.client,
		"--listen-peer-urls", "http://" + peer,
		"--initial-advertise-peer-urls", "http://" + advertised,
		"--initial-cluster-token", filepath.Base(dir),
		"--logger", "zap", "--log-level", "warn",
	}, flags...)
	return m
}

// freeAddress returns an address on loopback that nobody listens on. It lies below
// the ports that systems give to outgoing connections: while a server is down one of
// those that call it could otherwise get its port, and be connected to itself.
func freeAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 10_000+nextPort())
		l, err := net.Listen("tcp", address)
		if err == nil {
			l.Close()
			return address
		}
	}
	t.Fatal("no free port on loopback from 10000 to 29999")
	return ""
}

func (m *member) log() string { return filepath.Join(m.dir, m.name+".log") }

func (m *member) start(t testing.TB, cluster string) {
	t.Helper()
	var err error
	m.process, err = start(binary(t), m.log(), append(m.args, "--initial-cluster", cluster)...)
	if err != nil {
		t.Fatalf("starting etcd: %v", err)
	}
}

// running tells whether the process is there.
func (m *member) running() bool {
	if m.process == nil {
		return false
	}
	select {
	case <-m.done:
		return false
	default:
		return true
	}
}

// awaitReady waits until the member answers from its cluster, that is with a leader,
// or has ended.
func (m *member) awaitReady(t testing.TB) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() {
		select {
		case <-m.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	client := dial(t, m.client)
	defer client.Close()
	for ctx.Err() == nil {
		if _, err := client.Get(ctx, "ready"); err == nil {
			return true
		}
	}
	return false
}

// tail returns the end of the log.
func (m *member) tail() string {
	all, err := os.ReadFile(m.log())
	if err != nil {
		return err.Error()
	}
	lines := strings.SplitAfter(string(all), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "")
}

// dial returns a client of one member.
func dial(t testing.TB, address string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"http://" + address},
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, MaxDelay: 100 * time.Millisecond, Multiplier: 1.6},
		})},
		Logger: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
