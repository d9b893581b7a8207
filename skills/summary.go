package skills

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// FileName is the name of the file that makes a folder a skill.
const FileName = "SKILL.md"

// MaxSize is how many bytes a SKILL.md may have. One that an agent can make use of
// is a hundredth of that; the limit keeps a wrong file out of memory.
const MaxSize = 4 << 20

// The lengths, in characters, over which the specification forbids a text. They
// are kept all the same, with a warning.
const (
	maxDescription   = 1024
	maxCompatibility = 500
)

// Summary is what is known of a skill without reading its body.
type Summary struct {
	Name          string `json:"name"`
	Description   string `json:"description"`
	WhenToUse     string `json:"when_to_use,omitempty"`
	License       string `json:"license,omitempty"`
	Compatibility string `json:"compatibility,omitempty"`

	// AllowedTools, DisallowedTools and Tools are the lists of these names in the
	// file, in its order, each with its pattern if it has one: Bash(git add *). Nil
	// means that the file has no such list, and empty that it has one of nothing.
	AllowedTools    []string `json:"allowed_tools"`
	DisallowedTools []string `json:"disallowed_tools"`
	Tools           []string `json:"tools"`

	DisableModelInvocation bool `json:"disable_model_invocation,omitempty"` // only a person may invoke it
	DisableUserInvocation  bool `json:"disable_user_invocation,omitempty"`  // user-invocable: false

	Keywords []string       `json:"keywords,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"` // strings, and lists and maps of these
	Extra    map[string]any `json:"extra,omitempty"`    // every other field of the file, by its name there

	Source   string   `json:"source,omitempty"` // the file, as the caller named it
	Size     int64    `json:"size"`             // of the file, in bytes
	SHA256   string   `json:"sha256"`           // of the file, in lower-case hexadecimal
	Warnings []string `json:"warnings,omitempty"`

	UpdatedAt time.Time `json:"updated_at"` // when it was stored; zero before
}

// Parse reads the summary of a skill from a SKILL.md. It is tolerant of what
// editors and people do to such files, and says so in Warnings; a file of which
// it cannot tell what the skill is called or may do is a *Fault. When the file
// states no name the folder in source is it.
func Parse(body []byte, source string) (Summary, error) {
	s, err := parse(body, source)
	if fault, ok := err.(*Fault); ok {
		fault.Source = source
		return Summary{}, fault
	}
	return s, err
}

func parse(body []byte, source string) (Summary, error) {
	if len(body) > MaxSize {
		return Summary{}, faultAt(0, "it has more than %d bytes", MaxSize)
	}
	h, err := findHeader(body)
	if err != nil {
		return Summary{}, err
	}
	all, err := readFields(&h)
	if err != nil {
		return Summary{}, err
	}
	s := Summary{Source: source, Size: int64(len(body)), SHA256: digest(body)}
	p := parser{summary: &s, reader: reader{left: maxExpanded, line: h.line}, warnings: h.warnings}
	if err := p.read(all); err != nil {
		return Summary{}, err
	}
	if err := p.name(all["name"], h.line); err != nil {
		return Summary{}, err
	}
	p.judge()
	s.Warnings = p.warnings
	return s, nil
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// parser fills a summary from the fields of the front matter.
type parser struct {
	reader
	summary  *Summary
	warnings []string
}

func (p *parser) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// read takes the fields one by one in the order of the file, so that warnings are
// in that order too.
func (p *parser) read(all fields) error {
	byLine := func(a, b string) int { return cmp.Or(all[a].line-all[b].line, cmp.Compare(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(all), byLine) {
		if err := p.field(name, all[name]); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) field(name string, f field) (err error) {
	s := p.summary
	switch name {
	case "name": // last of all, since it may be the folder's
	case "description":
		return p.text(f, &s.Description)
	case "when-to-use":
		return p.text(f, &s.WhenToUse)
	case "license":
		return p.text(f, &s.License)
	case "compatibility":
		return p.text(f, &s.Compatibility)
	case "allowed-tools":
		s.AllowedTools, err = p.tools(f)
	case "disallowed-tools":
		s.DisallowedTools, err = p.tools(f)
	case "tools":
		s.Tools, err = p.tools(f)
	case "disable-model-invocation":
		s.DisableModelInvocation = p.flag(f, true)
	case "user-invocable":
		s.DisableUserInvocation = !p.flag(f, false)
	case "keywords":
		return p.keywords(f)
	case "metadata":
		return p.metadata(f)
	default:
		return p.extra(f)
	}
	return err
}

// text sets a text. A list of words in its place is joined; anything else is kept
// as an extra field.
func (p *parser) text(f field, to *string) error {
	n := follow(f.value)
	if n.Kind == yaml.MappingNode {
		p.warn("%s is no text", f.key)
		return p.extra(f)
	}
	words, err := p.texts(f)
	if err != nil {
		return err
	}
	if n.Kind == yaml.SequenceNode {
		p.warn("%s is a list and was read as one text", f.key)
	}
	*to = strings.Join(words, ", ")
	return nil
}

func (p *parser) flag(f field, limiting bool) bool {
	value, note := flag(f, limiting)
	if note != "" {
		p.warn("%s", note)
	}
	return value
}

// keywords sets a list of words; a text is one with commas between them.
func (p *parser) keywords(f field) error {
	words, err := p.texts(f)
	if err != nil {
		return err
	}
	for _, w := range words {
		for _, k := range strings.Split(w, ",") {
			if k = strings.TrimSpace(k); k != "" {
				p.summary.Keywords = append(p.summary.Keywords, k)
			}
		}
	}
	return nil
}

func (p *parser) metadata(f field) error {
	n := follow(f.value)
	if n.Kind != yaml.MappingNode {
		if isAbsent(n) {
			return nil
		}
		p.warn("%s is not made of lines of the form key: value", f.key)
		return p.extra(f)
	}
	m, err := p.mapping(n, 0)
	p.summary.Metadata = m
	return err
}

func (p *parser) extra(f field) error {
	v, err := p.value(f.value, 0)
	if err != nil {
		return err
	}
	if p.summary.Extra == nil {
		p.summary.Extra = map[string]any{}
	}
	p.summary.Extra[f.key] = v
	return nil
}

// name sets the name: the one in the file, else that of the folder.
func (p *parser) name(f field, line int) error {
	folder := folderOf(p.summary.Source)
	name := folder
	if f.value != nil && !isAbsent(f.value) {
		n := follow(f.value)
		if n.Kind != yaml.ScalarNode {
			return faultAt(f.line, "the name is not a text")
		}
		name, line = written(n), f.line
		if folder != "" && name != folder {
			p.warn("the name %q is not that of the folder, %q", name, folder)
		}
	} else if folder == "" {
		return faultAt(line, "the file states no name, and no folder gives it one; add a line name: my-skill")
	} else {
		p.warn("the file states no name and got that of its folder")
	}
	warning, err := checkName(name)
	if err != nil {
		return faultAt(line, "%v", err)
	}
	if warning != "" {
		p.warn("%s", warning)
	}
	p.summary.Name = name
	return nil
}

// judge warns of what the specification does not allow and we keep.
func (p *parser) judge() {
	s := p.summary
	if s.Description == "" {
		p.warn("there is no description, so that nobody can tell when to use the skill")
	}
	if n := utf8.RuneCountInString(s.Description); n > maxDescription {
		p.warn("the description has %d characters, the specification allows %d", n, maxDescription)
	}
	if n := utf8.RuneCountInString(s.Compatibility); n > maxCompatibility {
		p.warn("compatibility has %d characters, the specification allows %d", n, maxCompatibility)
	}
}
