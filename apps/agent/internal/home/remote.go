//go:build postgres || etcd

package home

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/crabstore/crabstore/kv"
)

// cutRealm takes ?realm=NAME out of an address. Without it the realm is the default
// one: a store behind an address is always confined to one, so that many of them can
// share what lies there.
func cutRealm(address string) (rest, realm string, err error) {
	rest, query, _ := strings.Cut(address, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", "", fmt.Errorf("%w: the part of the address behind the question mark: %w", ErrBackend, err)
	}
	realm = kv.DefaultRealm
	if values.Has("realm") {
		if realm = values.Get("realm"); realm == "" {
			return "", "", fmt.Errorf("%w: realm= is empty", ErrBackend)
		}
		values.Del("realm")
	}
	if len(values) > 0 {
		rest += "?" + values.Encode()
	}
	return rest, realm, nil
}
