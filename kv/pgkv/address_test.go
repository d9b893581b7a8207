package pgkv

import (
	"strings"
	"testing"
)

// Whatever stands in an address behind the beginning of a password, nothing of the
// password is repeated.
func FuzzAddressesKeepTheirSecret(f *testing.F) {
	for _, rest := range []string{"@h/db", "/x@h/db", "?x@h/db", "#x@h", ":1@h:port/db", "%zz@h/db", "@h/db?sslmode=x", "", "@", "/", "\x00@h", "@[::1/db", ":", ":@h,i:2/db"} {
		f.Add(rest)
	}
	const secret = "s3cr3tZ9"
	f.Fuzz(func(t *testing.T, rest string) {
		config, err := configOf("postgres://u:" + secret + rest)
		if err == nil {
			place := placeOf(config.ConnConfig)
			if strings.Contains(place, secret) {
				t.Errorf("the place is %s", place)
			}
			return
		}
		if strings.Contains(err.Error(), secret) {
			t.Error(err)
		}
	})
}
