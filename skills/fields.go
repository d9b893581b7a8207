package skills

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// field is one entry of the front matter.
type field struct {
	key   string // as written
	value *yaml.Node
	line  int // in the file
}

// fields are the entries by their names in one spelling: allowed_tools,
// allowedTools and Allowed-Tools are allowed-tools.
type fields map[string]field

// restrictions are the fields that limit what a skill may do. None of them may
// get lost by reading a damaged file tolerantly.
var restrictions = map[string]bool{
	"allowed-tools":            true,
	"disallowed-tools":         true,
	"tools":                    true,
	"disable-model-invocation": true,
	"user-invocable":           true,
}

// readFields reads the front matter as YAML. When that fails it reads values that
// are not YAML, such as a sentence with a colon in it, as the text they are; see
// repair.
func readFields(h *header) (fields, error) {
	root, fault := parseYAML(h.text, h.line)
	if fault != nil {
		mended, err := repair(h)
		if err != nil {
			return nil, err
		}
		if root, fault = parseYAML(mended, h.line); fault != nil {
			return nil, fault
		}
	}
	if root == nil {
		return fields{}, nil
	}
	return collect(root, h)
}

// parseYAML parses YAML whose first line is line of the file. It returns nil for text
// that holds nothing but comments.
func parseYAML(text string, line int) (*yaml.Node, *Fault) {
	if isBlank(text) {
		return nil, nil
	}
	var doc yaml.Node
	if err := yaml.Load([]byte(text), &doc); err != nil {
		var at *yaml.LoadError
		if errors.As(err, &at) {
			return nil, faultAt(line+max(at.Mark.Line, 1)-1, "not YAML: %s", at.Message)
		}
		return nil, faultAt(line, "not YAML: %v", err)
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, faultAt(line, "the front matter is not made of lines of the form key: value")
	}
	return root, nil
}

func isBlank(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// collect returns the entries of a mapping. An entry that is there twice is a
// fault: whichever was taken, the other may have been meant.
func collect(root *yaml.Node, h *header) (fields, error) {
	all := fields{}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		line := h.line + key.Line - 1
		if err := checkKey(key, line); err != nil {
			return nil, err
		}
		name := spelling(key.Value)
		if first, twice := all[name]; twice {
			return nil, faultAt(line, "%s is there twice, first in line %d; leave one", key.Value, first.line)
		}
		all[name] = field{key.Value, value, line}
	}
	return all, checkSwallowed(all, h)
}

// checkKey refuses keys that are no text or a damaged one, which may have been a
// restriction, and merge keys, whose meaning would depend on what they merge over.
func checkKey(key *yaml.Node, line int) error {
	switch {
	case key.Kind != yaml.ScalarNode:
		return faultAt(line, "a key is not a word")
	case !isLegible(key.Value):
		return faultAt(line, "the key %+q holds something that is not text; write it again", key.Value)
	case key.Tag == "!!merge":
		return faultAt(line, "merge keys (<<) are not read; write the fields out")
	}
	return nil
}

// isLegible tells whether a text is what it looks like: it holds no trace of bytes
// that were not UTF-8, and nothing that does not show.
func isLegible(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsPrint(r) && r != '\n' && r != '\t'
	}) < 0
}

// checkSwallowed looks for a restriction at the start of a line that was not read
// as a field: a quotation mark left open takes in the lines behind it, and YAML
// sees no fault in that.
func checkSwallowed(all fields, h *header) error {
	n := h.line - 1
	for line := range strings.Lines(h.text) {
		n++
		key, _, ok := splitField(line)
		if name := spelling(key); ok && restrictions[name] && all[name].line != n {
			return faultAt(n, "%s was read as part of another value; close the quotation mark above it", key)
		}
	}
	return nil
}

// splitField splits a line that begins a field at the left margin. The key is
// without the quotation marks that it may stand in.
func splitField(line string) (key, rest string, ok bool) {
	key, rest, ok = strings.Cut(strings.TrimRight(line, "\n"), ":")
	key = strings.Trim(strings.TrimRight(key, " \t"), `"'`)
	if !ok || key == "" || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", "", false
	}
	for i, r := range key {
		if !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r) && !strings.ContainsRune("-_. ", r)) {
			return "", "", false
		}
	}
	return key, rest, true
}

// spelling brings the spellings of a key to one: lower-case words with hyphens
// between them.
func spelling(key string) string {
	var b strings.Builder
	lower := false
	for _, r := range key {
		switch {
		case r == '_' || r == ' ':
			r, lower = '-', false
		case unicode.IsUpper(r):
			if lower {
				b.WriteByte('-')
			}
			r, lower = unicode.ToLower(r), false
		default:
			lower = unicode.IsLower(r)
		}
		b.WriteRune(r)
	}
	if b.String() == "user-invokable" { // the spelling of some editors
		return "user-invocable"
	}
	return b.String()
}
