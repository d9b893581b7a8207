package memory

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// model is what the package promises of names and aliases, in two maps.
type model struct {
	entries map[string]Entry  // by name: kind, aliases, content
	aliases map[string]string // to names
}

// leads returns the name of the entry that a name or alias leads to, or "".
func (m model) leads(name string) string {
	if _, ok := m.entries[name]; ok {
		return name
	}
	return m.aliases[name]
}

// takes tells whether an entry, in place of the one called own, may have these
// names.
func (m model) takes(own string, names []string) bool {
	for _, n := range names {
		if to := m.leads(n); to != "" && to != own {
			return false
		}
	}
	return true
}

func (m model) remove(name string) {
	for _, a := range m.entries[name].Aliases {
		delete(m.aliases, a)
	}
	delete(m.entries, name)
}

func (m model) add(e Entry) {
	var aliases []string
	for _, a := range e.Aliases {
		if a != e.Name {
			aliases = append(aliases, a)
			m.aliases[a] = e.Name
		}
	}
	slices.Sort(aliases)
	e.Aliases = slices.Compact(aliases)
	m.entries[e.Name] = e
}

// TestHistories puts, renames and deletes at random, with so few names that they
// clash all the time, and compares with the model. A failure prints its seed.
func TestHistories(t *testing.T) {
	ctx := context.Background()
	name := rapid.SampledFrom([]string{"a", "b", "c", "a/b", "ab"})
	rapid.Check(t, func(r *rapid.T) {
		s := memkv.New()
		m := model{map[string]Entry{}, map[string]string{}}
		r.Repeat(map[string]func(*rapid.T){
			"put": func(r *rapid.T) {
				e := Entry{
					Name:    name.Draw(r, "name"),
					Aliases: rapid.SliceOfN(name, 0, 2).Draw(r, "aliases"),
					Kind:    rapid.SampledFrom([]string{Note, Fact}).Draw(r, "kind"),
					Content: rapid.SampledFrom([]string{"", "one", "one two"}).Draw(r, "content"),
				}
				_, err := Put(ctx, s, e)
				own := ""
				if _, ok := m.entries[e.Name]; ok {
					own = e.Name
				}
				if m.takes(own, append([]string{e.Name}, e.Aliases...)) {
					wantError(r, err, nil)
					m.remove(e.Name)
					m.add(e)
				} else {
					wantError(r, err, ErrExists)
				}
			},
			"rename": func(r *rapid.T) {
				from, to := name.Draw(r, "from"), name.Draw(r, "to")
				_, err := Rename(ctx, s, from, to)
				switch own := m.leads(from); {
				case own == "":
					wantError(r, err, kv.ErrNotFound)
				case !m.takes(own, []string{to}):
					wantError(r, err, ErrExists)
				default:
					wantError(r, err, nil)
					e := m.entries[own]
					m.remove(own)
					e.Name = to
					m.add(e)
				}
			},
			"delete": func(r *rapid.T) {
				n := name.Draw(r, "name")
				err := Delete(ctx, s, n)
				if own := m.leads(n); own == "" {
					wantError(r, err, kv.ErrNotFound)
				} else {
					wantError(r, err, nil)
					m.remove(own)
				}
			},
			"": func(r *rapid.T) { compare(r, s, m) },
		})
		wantWhole(t, s)
	})
}

func wantError(r *rapid.T, err, want error) {
	r.Helper()
	if !errors.Is(err, want) {
		r.Fatalf("got error %v, want %v", err, want)
	}
}

func compare(r *rapid.T, s kv.KVStorage, m model) {
	ctx := context.Background()
	list, err := List(ctx, s, Filter{})
	wantError(r, err, nil)
	if want := slices.Sorted(maps.Keys(m.entries)); !slices.EqualFunc(list, want, func(e Entry, n string) bool { return e.Name == n }) {
		r.Fatalf("listed %+v, want %q", list, want)
	}
	for _, e := range list {
		want := m.entries[e.Name]
		if e.Kind != want.Kind || e.Content != want.Content || !slices.Equal(e.Aliases, want.Aliases) {
			r.Fatalf("stored %+v, want %+v", e, want)
		}
	}
	for _, n := range []string{"a", "b", "c", "a/b", "ab"} {
		got, err := Get(ctx, s, n)
		if err != nil && !errors.Is(err, kv.ErrNotFound) || got.Name != m.leads(n) {
			r.Fatalf("%q leads to %q, %v; want %q", n, got.Name, err, m.leads(n))
		}
	}
}
