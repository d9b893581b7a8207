// Package etcdtest starts real etcd servers for the tests of any package, as
// processes of their own on loopback: one that the tests of a process share
// (Place, Endpoint), and clusters whose members can be killed, started again, and cut
// off from each other (NewCluster).
//
// The server is the program that the environment variable CRABSTORE_ETCD names, else
// the etcd on the PATH, else one that is built from the Go module proxy, once, into
// the user's cache directory: the module in the folder server pins its version, and
// keeps it out of what Crabstore itself depends on. Where none can be had a test is
// skipped and says why; with CRABSTORE_NEED_SERVERS=1 it fails instead.
//
// Servers do not outlive the test process, also when that is killed (on Linux, where
// the kernel sees to it). What a server logged is kept when the test failed.
//
// binary.go finds the program, process.go runs it, member.go has what a member is
// told, cluster.go the clusters, network.go the wires between members, and server.go
// the shared server.
package etcdtest
