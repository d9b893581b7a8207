package etcdtest

import (
	"fmt"
	"sync"
	"testing"
)

// shared is the server that the tests of a process share. It runs while a test that
// asked for it does.
var shared struct {
	mu     sync.Mutex
	server *Cluster
	users  int
	places int
}

// Endpoint returns the host:port of the shared server, which runs until the test ends
// and as long as another one uses it. It does not sync what it writes to disk, so it
// is for tests in which no server is killed.
func Endpoint(t testing.TB) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users == 0 {
		shared.server = newCluster(t, 1, "--heartbeat-interval", "10", "--election-timeout", "100", "--unsafe-no-fsync")
	}
	shared.users++
	t.Cleanup(func() {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		if shared.users--; shared.users == 0 {
			shared.server.end(t)
		}
	})
	return shared.server.Endpoints()[0]
}

// Place returns the address of a store on the shared server that no other test has,
// as the adapter's Open takes it.
func Place(t testing.TB) string {
	t.Helper()
	endpoint := Endpoint(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.places++
	return fmt.Sprintf("etcd://%s/test-%d", endpoint, shared.places)
}
