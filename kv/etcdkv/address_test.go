package etcdkv

import (
	"slices"
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	for place, want := range map[string]struct {
		text           string
		endpoints      []string
		user, password string
	}{
		"etcd://h":                         {"etcd://h:2379/crabstore", []string{"http://h:2379"}, "", ""},
		"etcd://h/":                        {"etcd://h:2379/crabstore", []string{"http://h:2379"}, "", ""},
		"etcd://h1:1,h2,10.0.0.3:65535/n":  {"etcd://h1:1,h2:2379,10.0.0.3:65535/n", []string{"http://h1:1", "http://h2:2379", "http://10.0.0.3:65535"}, "", ""},
		"etcd://[::1]:5,[fe80::1]/A-b_c.9": {"etcd://[::1]:5,[fe80::1]:2379/A-b_c.9", []string{"http://[::1]:5", "http://[fe80::1]:2379"}, "", ""},
		"etcd://me:p%40s%2Fs:w@h/n":        {"etcd://h:2379/n", []string{"http://h:2379"}, "me", "p@s/s:w"},
		"etcd://m:a@b@h":                   {"etcd://h:2379/crabstore", []string{"http://h:2379"}, "m", "a@b"},
		"etcd://h?tls=true":                {"etcd://h:2379/crabstore", []string{"https://h:2379"}, "", ""},
	} {
		a, err := parse(place)
		if err != nil || a.String() != want.text || !slices.Equal(a.endpoints(), want.endpoints) || a.user != want.user || a.password != want.password {
			t.Errorf("%s: %s, %v, %q, %q, %v; want %+v", place, a, a.endpoints(), a.user, a.password, err, want)
		}
	}
}

func TestBadAddresses(t *testing.T) {
	for _, place := range []string{
		"", "h:2379", "http://h", "etcd://", "etcd:///n", "etcd://h,", "etcd://h:0", "etcd://h:x", "etcd://[h]", "etcd://[::1", "etcd://a b", "etcd://u:p/w@h", "etcd://h:99999", "etcd://::1",
		"etcd://u@h", "etcd://u:@h", "etcd://:p@h", "etcd://u:%zz@h", "etcd://h/a/b", "etcd://h/a b", "etcd://h/ä", "etcd://h#f",
		"etcd://h?tls=false", "etcd://h?tls", "etcd://h?tls=true&tls=true", "etcd://h?ca=", "etcd://h?color=red", "etcd://h?%zz",
		"etcd://h?ca=/does/not/exist", "etcd://h?cert=/does/not/exist&key=x", "etcd://h?ca=address_test.go",
	} {
		if a, err := parse(place); err == nil {
			t.Errorf("%s is taken for %s", place, a)
		}
	}
}

// Whatever is parsed, no text that comes of it has the password in it, and the
// address without secrets is one of the same store.
func FuzzAddress(f *testing.F) {
	for _, host := range []string{"h", "h1:1,h2:2/n", "[::1]", "h/n?tls=true", "/ss@h", "h?x=%zz", "h/a/b"} {
		f.Add("user:se%40cret", host)
		f.Add("user:se/cret", host)
	}
	f.Fuzz(func(t *testing.T, user, rest string) {
		if strings.Contains(rest, "ca=") || strings.Contains(rest, "key=") || strings.Contains(rest, "cert=") {
			t.Skip("no files")
		}
		const password = "tr0ub4dor"
		a, err := parse("etcd://" + user + password + "@" + rest)
		if err != nil {
			if strings.Contains(err.Error(), password) && !strings.Contains(rest, password) {
				t.Fatalf("the password is in %v", err)
			}
			return
		}
		again, err := parse(a.String())
		if err != nil || again.String() != a.String() || again.name != a.name || strings.Contains(a.String(), password) && !strings.Contains(rest, password) {
			t.Fatalf("%q comes back as %q, %v", a, again, err)
		}
	})
}
