package etcdkv

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"

	"github.com/crabstore/crabstore/kv/etcdkv/etcdtest"
)

// A user who may touch the keys below one name and nothing else has a store there. A
// password is in no error.
func TestUsers(t *testing.T) {
	cluster := etcdtest.NewCluster(t, 1)
	host := cluster.Endpoints()[0]
	root, _ := raw(t, "etcd://"+host)
	const password = "p@s/s:w"
	for _, err := range []error{
		second(root.UserAdd(ctx, "root", "r")), second(root.UserGrantRole(ctx, "root", "root")),
		second(root.RoleAdd(ctx, "writer")),
		second(root.RoleGrantPermission(ctx, "writer", "mine/", clientv3.GetPrefixRangeEnd("mine/"), clientv3.PermissionType(clientv3.PermReadWrite))),
		second(root.UserAdd(ctx, "me", password)), second(root.UserGrantRole(ctx, "me", "writer")),
		second(root.AuthEnable(ctx)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	me := "etcd://me:" + url.PathEscape(password) + "@" + host
	s := openWith(t, me+"/mine", nil)
	for _, w := range transactions() {
		if err := w.run(s); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
	}
	if st, err := s.Stats(ctx); err != nil || st.Location != "etcd://"+host+"/mine" {
		t.Errorf("Stats: %+v, %v", st, err)
	}
	if err := s.Compact(ctx); err != nil {
		t.Error(err)
	}
	for at, want := range map[string]codes.Code{
		me + "/other":                         codes.PermissionDenied,
		"etcd://me:wr%6Fng@" + host + "/mine": rpctypes.ErrAuthFailed.(rpctypes.EtcdError).Code(),
		"etcd://" + host + "/mine":            codes.InvalidArgument, // nobody
	} {
		s, err := Open(ctx, at, Options{})
		if err == nil {
			s.Close()
		}
		if err == nil || codeOf(err) != want || strings.Contains(err.Error(), password) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: %v; want an error with code %s and without the password", at, err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// etcd behind TLS, that asks for a certificate.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	ca, server := newCertificates(t, dir)
	endpoint := etcdtest.Endpoint(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{server}, ClientCAs: ca, ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"h2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go forward(l, endpoint)
	at := "etcd://" + l.Addr().String() + "/tls"
	file := func(name string) string { return url.QueryEscape(filepath.Join(dir, name)) }
	s := openWith(t, at+"?ca="+file("ca.pem")+"&cert="+file("cert.pem")+"&key="+file("key.pem"), nil)
	put(t, s, "k", "v")
	if got := content(t, openWith(t, "etcd://"+endpoint+"/tls", nil)); got["k"] != "v" {
		t.Errorf("without TLS there is %v", got)
	}
	for name, options := range map[string]string{
		"in the clear":     "",
		"no certificate":   "?ca=" + file("ca.pem"),
		"the system's CAs": "?tls=true&cert=" + file("cert.pem") + "&key=" + file("key.pem"),
	} {
		s, err := Open(ctx, at+options, Options{Timeout: 500 * time.Millisecond})
		if err == nil {
			s.Close()
			t.Errorf("%s: it is opened", name)
		}
	}
}

func forward(l net.Listener, to string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			out, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			defer out.Close()
			go io.Copy(out, in)
			_, _ = io.Copy(in, out)
		}()
	}
}

// newCertificates writes ca.pem, and cert.pem and key.pem that it signed, for both
// ends.
func newCertificates(t *testing.T, dir string) (*x509.CertPool, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "both"}, NotAfter: ca.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for name, c := range map[string]*x509.Certificate{"ca.pem": ca, "cert.pem": leaf} {
		der, err := x509.CreateCertificate(rand.Reader, c, ca, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		writePEM(t, filepath.Join(dir, name), "CERTIFICATE", der)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, filepath.Join(dir, "key.pem"), "EC PRIVATE KEY", der)
	c, err := tlsConfig(filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return c.RootCAs, c.Certificates[0]
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
