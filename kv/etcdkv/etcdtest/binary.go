package etcdtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// version is that of the server in server/go.mod.
const version = "3.7.3"

// needServers is set where a test that can have no server has to fail.
const needServers = "CRABSTORE_NEED_SERVERS"

// binary returns the path of the server, or ends the test.
func binary(t testing.TB) string {
	t.Helper()
	path, err := find()
	switch {
	case err == nil:
		return path
	case os.Getenv(needServers) == "1":
		t.Fatalf("no etcd to test with: %v", err)
	default:
		t.Skipf("no etcd to test with: %v; install one, or name it in CRABSTORE_ETCD", err)
	}
	return ""
}

// find looks once a process: building takes half a minute where nothing is cached.
var find = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("CRABSTORE_ETCD"); path != "" {
		_, err := os.Stat(path)
		return path, err
	}
	if path, err := exec.LookPath("etcd"); err == nil {
		return path, nil
	}
	return build()
})

// build builds the server into the cache, where it is found the next time. It is
// renamed into place, so that of several processes that build each finds a whole one.
func build() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "crabstore")
	path := filepath.Join(dir, "etcd-"+version)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	_, here, _, _ := runtime.Caller(0)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(dir, "build-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	fresh := filepath.Join(work, "etcd")
	cmd := exec.Command("go", "build", "-o", fresh, "go.etcd.io/etcd/server/v3")
	cmd.Dir = filepath.Join(filepath.Dir(here), "server")
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building etcd %s: %w: %.500s", version, err, out)
	}
	return path, os.Rename(fresh, path)
}
