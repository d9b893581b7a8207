package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxName is how many bytes a name or an alias may have. It may hold anything a
// person types, and each byte of it takes up to three in a key of kv.MaxKeySize,
// beside the realm and, in the text index, a term.
const MaxName = 200

// MaxKind is how many bytes the name of a kind may have.
const MaxKind = 32

// Kinds that have a meaning here or in other packages. Any other lower-case word
// is a kind too.
const (
	Note       = "note" // the kind of an entry that states none
	Fact       = "fact"
	Preference = "preference"
	Archive    = "archive" // the summary of what a session moved to an archive
)

// Entry is one thing remembered.
type Entry struct {
	Name    string   `json:"name"`              // unique among names and aliases, compared byte for byte
	Aliases []string `json:"aliases,omitempty"` // other names that lead here; sorted when stored
	Kind    string   `json:"kind"`
	Content string   `json:"content"`
	Tags    []string `json:"tags,omitempty"`
	Source  string   `json:"source,omitempty"`  // where it comes from: a file, an address, a person
	Session string   `json:"session,omitempty"` // the handle of the session it comes from

	CreatedAt time.Time `json:"created_at"` // Put takes the present for a new entry that states none
	UpdatedAt time.Time `json:"updated_at"`

	// Revision counts the writes, from 1. In a call of Put it states what the
	// caller has read; 0 states nothing.
	Revision int64 `json:"revision"`
}

// prepared returns the entry in the form in which it is stored, or ErrInvalid.
// Bytes that are not UTF-8 become U+FFFD in texts; in names they are refused,
// since two names would become one.
func (e Entry) prepared() (Entry, error) {
	if err := checkName(e.Name); err != nil {
		return e, err
	}
	var err error
	if e.Aliases, err = aliasesOf(e); err != nil {
		return e, err
	}
	if e.Kind == "" {
		e.Kind = Note
	}
	if !isKind(e.Kind) {
		return e, fmt.Errorf("%w: %.40q is no kind; a kind is one lower-case word of at most %d bytes", ErrInvalid, e.Kind, MaxKind)
	}
	e.Content = valid(e.Content)
	e.Source = valid(e.Source)
	e.Session = valid(e.Session)
	e.Tags = slices.Clone(e.Tags)
	for i, tag := range e.Tags {
		e.Tags[i] = valid(tag)
	}
	e.CreatedAt = e.CreatedAt.UTC().Round(0)
	return e, nil
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func checkName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("%w: %q is no name: it is blank", ErrInvalid, name)
	case len(name) > MaxName:
		return fmt.Errorf("%w: the name %.40q… has %d bytes, the limit is %d", ErrInvalid, name, len(name), MaxName)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: the name %q is not valid UTF-8", ErrInvalid, name)
	}
	return nil
}

// aliasesOf returns the aliases of an entry sorted, each once, without the name.
func aliasesOf(e Entry) ([]string, error) {
	var list []string
	for _, a := range e.Aliases {
		if err := checkName(a); err != nil {
			return nil, fmt.Errorf("alias of %q: %w", e.Name, err)
		}
		if a != e.Name {
			list = append(list, a)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// isKind tells whether s is one lower-case word: a letter, then letters, digits,
// hyphens and underscores.
func isKind(s string) bool {
	for i, r := range s {
		switch {
		case unicode.IsLetter(r) && unicode.ToLower(r) == r:
		case i > 0 && (unicode.IsDigit(r) || r == '-' || r == '_'):
		default:
			return false
		}
	}
	return s != "" && len(s) <= MaxKind && utf8.ValidString(s)
}
