package skills

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxExpanded bounds what the front matter may grow to when its aliases are
// followed: the bytes of all values, and valueCost for each. Nine lists of nine
// aliases each would be a thousand million values.
const (
	maxExpanded = 1 << 20
	valueCost   = 32
	maxDepth    = 32
)

// reader turns YAML into values. All scalars are the text that was written: YAML
// would make no, 007 and 1.0 into something else.
type reader struct {
	left int // what may yet be read, of maxExpanded
	line int // where the front matter begins in the file
}

func (r *reader) spend(n *yaml.Node, depth int) error {
	r.left -= valueCost + len(n.Value)
	if r.left < 0 {
		return faultAt(r.line+n.Line-1, "the aliases of the front matter expand to more than %d bytes; write the values out", maxExpanded)
	}
	if depth > maxDepth {
		return faultAt(r.line+n.Line-1, "the front matter is nested deeper than %d", maxDepth)
	}
	return nil
}

// follow returns what an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// value returns a node as a string, a []any or a map[string]any of these.
func (r *reader) value(n *yaml.Node, depth int) (any, error) {
	n = follow(n)
	if err := r.spend(n, depth); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			v, err := r.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		return r.mapping(n, depth)
	}
	return written(n), nil
}

func (r *reader) mapping(n *yaml.Node, depth int) (map[string]any, error) {
	m := make(map[string]any, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key, line := n.Content[i], r.line+n.Content[i].Line-1
		if err := checkKey(key, line); err != nil {
			return nil, err
		}
		if _, twice := m[key.Value]; twice {
			return nil, faultAt(line, "%s is there twice; leave one", key.Value)
		}
		v, err := r.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		m[key.Value] = v
	}
	return m, nil
}

// written returns the text of a scalar without white space around it and without
// carriage returns, which a quoted one can still hold.
func written(n *yaml.Node) string {
	return strings.TrimSpace(strings.ReplaceAll(n.Value, "\r", ""))
}

// isAbsent tells whether nothing at all is written behind a key.
func isAbsent(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Tag == "!!null"
}

// texts returns the items of a list of scalars, or a scalar as a list of one.
func (r *reader) texts(f field) ([]string, error) {
	v, err := r.value(f.value, 0)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		if v == "" {
			return []string{}, nil
		}
		return []string{v}, nil
	case []any:
		list := make([]string, 0, len(v))
		for _, item := range v {
			text, ok := item.(string)
			if !ok {
				return nil, faultAt(f.line, "%s holds a list within a list; write one word an item", f.key)
			}
			list = append(list, text)
		}
		return list, nil
	}
	return nil, faultAt(f.line, "%s is neither a word nor a list of words", f.key)
}

// tools returns the names in a list of tools: a YAML list, or a text in which
// spaces or commas part them. It is never nil, since a list of nothing is not no
// list.
func (r *reader) tools(f field) ([]string, error) {
	list, err := r.texts(f)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, item := range list {
		if names, err = appendTools(names, item); err != nil {
			return nil, faultAt(f.line, "%s: %v", f.key, err)
		}
	}
	return names, nil
}

// appendTools splits at spaces and commas outside of parentheses, which belong to
// the name before them: Bash(git add *). It refuses parentheses that do not match
// and damaged text, since nobody can tell then which tools were meant.
func appendTools(names []string, text string) ([]string, error) {
	if !isLegible(text) {
		return nil, fmt.Errorf("%+.80q holds something that is not text; write it again", text)
	}
	depth, start := 0, 0
	for i, r := range text + " " {
		switch {
		case r == '(':
			depth++
		case r == ')':
			if depth--; depth < 0 {
				return nil, fmt.Errorf("%.80q closes a parenthesis that is not open", text)
			}
		case depth == 0 && strings.ContainsRune(" \t\n,", r):
			if i > start {
				names = append(names, text[start:i])
			}
			start = i + 1
		}
	}
	if depth > 0 {
		return nil, fmt.Errorf("%.80q leaves a parenthesis open", text)
	}
	return names, nil
}

// flag reads a field that is true or false. One that is neither counts as the
// value that limits more, and note tells of it.
func flag(f field, limiting bool) (value bool, note string) {
	n := follow(f.value)
	if n.Kind == yaml.ScalarNode {
		switch strings.ToLower(written(n)) {
		case "true", "yes", "on", "y", "1":
			return true, ""
		case "false", "no", "off", "n", "0":
			return false, ""
		}
	}
	return limiting, fmt.Sprintf("%s is neither true nor false and counts as %t", f.key, limiting)
}
