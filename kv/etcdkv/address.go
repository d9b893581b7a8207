package etcdkv

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// DefaultName is the name of a store whose address has none.
const DefaultName = "crabstore"

const (
	scheme      = "etcd://"
	defaultPort = "2379"
)

// address is where a store lies. No error of its functions shows the password.
type address struct {
	hosts          []string // host:port
	name           string
	user, password string
	tls            *tls.Config // nil: in the clear
}

// parse reads etcd://[user:password@]host[:port][,host[:port]…][/name][?options].
// net/url takes one host only, so the first part is taken apart here.
func parse(place string) (address, error) {
	rest, ok := strings.CutPrefix(place, scheme)
	if !ok {
		return address{}, errors.New("etcdkv: the address of a store is etcd://[user:password@]host[:port][,…][/name][?tls=true]")
	}
	authority, rest := cutAt(rest, "/?#")
	if strings.Contains(rest, "@") { // what is before it is a password, and in no error
		return address{}, errors.New("etcdkv: an @, and what is special in a password, stands in an address as %XX")
	}
	path, query := cutAt(rest, "?#")
	var a address
	if err := a.setAuthority(authority); err != nil {
		return address{}, err
	}
	if err := a.setName(strings.TrimPrefix(path, "/")); err != nil {
		return address{}, err
	}
	return a, a.setOptions(strings.TrimPrefix(query, "?"))
}

// cutAt splits s before the first byte that is one of chars.
func cutAt(s, chars string) (before, from string) {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

func (a *address) setAuthority(authority string) error {
	hosts := authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		hosts = authority[i+1:]
		user, password, _ := strings.Cut(authority[:i], ":")
		var bad [2]error
		a.user, bad[0] = url.PathUnescape(user)
		a.password, bad[1] = url.PathUnescape(password)
		if bad[0] != nil || bad[1] != nil || a.user == "" || a.password == "" {
			return errors.New("etcdkv: before the @ of an address stands user:password, with what is special in them as %XX")
		}
	}
	for _, host := range strings.Split(hosts, ",") {
		full, err := withPort(host)
		if err != nil {
			return err
		}
		a.hosts = append(a.hosts, full)
	}
	return nil
}

func withPort(host string) (string, error) {
	if !strings.Contains(host, ":") || strings.HasSuffix(host, "]") {
		host += ":" + defaultPort
	}
	name, port, err := net.SplitHostPort(host)
	n, notPort := strconv.ParseUint(port, 10, 16)
	isIPv6 := host[0] == '['
	if err != nil || notPort != nil || n == 0 || isIPv6 != (net.ParseIP(name) != nil && strings.Contains(name, ":")) ||
		!isIPv6 && !isName(name) {
		return "", errors.New("etcdkv: each host of an address is a name or an IP, with or without a port; an IPv6 one in brackets")
	}
	return net.JoinHostPort(name, port), nil
}

// isName takes what both hosts and stores are called.
func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	})
}

// setName takes no slash, so that no store's keys lie among another one's.
func (a *address) setName(name string) error {
	if name == "" {
		name = DefaultName
	}
	if !isName(name) {
		return errors.New("etcdkv: the name of a store is of letters, digits, '-', '_' and '.'")
	}
	a.name = name
	return nil
}

// setOptions takes tls=true, and ca, cert and key, files in PEM that imply it.
func (a *address) setOptions(query string) error {
	options, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("etcdkv: the options of an address are name=value, joined by &")
	}
	for name, values := range options {
		switch name {
		case "ca", "cert", "key", "tls":
		default:
			return fmt.Errorf("etcdkv: an address has the options tls=true, ca, cert and key, and not %.20q", name)
		}
		if len(values) > 1 || values[0] == "" || name == "tls" && values[0] != "true" {
			return fmt.Errorf("etcdkv: the option %s stands once, tls=true, the others with the name of a file", name)
		}
	}
	if len(options) == 0 {
		return nil
	}
	a.tls, err = tlsConfig(options.Get("ca"), options.Get("cert"), options.Get("key"))
	return err
}

// tlsConfig trusts ca, or what the system does.
func tlsConfig(ca, cert, key string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("etcdkv: option ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("etcdkv: option ca: no certificate in %s", ca)
		}
	}
	if cert == "" && key == "" {
		return c, nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("etcdkv: options cert and key: %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// endpoints returns the hosts as etcd's client wants them.
func (a address) endpoints() []string {
	protocol := "http://"
	if a.tls != nil {
		protocol = "https://"
	}
	var all []string
	for _, host := range a.hosts {
		all = append(all, protocol+host)
	}
	return all
}

// String is the address without secrets.
func (a address) String() string { return scheme + strings.Join(a.hosts, ",") + "/" + a.name }
