package skills

import "strings"

// block is a field with the lines that belong to it.
type block struct {
	key   string
	rest  string // what stands behind the colon of the first line
	lines []string
	line  int // of the first one, in the file
}

// repair returns the front matter with those values put in quotes that are not
// YAML but plainly a text, such as
//
//	description: Does a thing. Use when: you need it.
//
// Each field is tried alone, so only the lines at fault are touched. A field that
// limits what the skill may do is never guessed at: if it is at fault, so is the
// file.
func repair(h *header) (string, error) {
	blocks, err := splitBlocks(h)
	if err != nil {
		return "", err
	}
	var mended strings.Builder
	for _, b := range blocks {
		text := strings.Join(b.lines, "")
		if _, fault := parseYAML(text, b.line); fault != nil {
			fault.Line = min(fault.Line, b.line+len(b.lines)-1) // what is missing at the end is missing in the line before
			if restrictions[spelling(b.key)] {
				fault.Reason += "; put the value of " + b.key + " in quotes"
				return "", fault
			}
			quoted, ok := b.quoted()
			if !ok {
				return "", fault
			}
			if _, again := parseYAML(quoted, b.line); again != nil {
				return "", fault
			}
			h.warn(b.key + " is not YAML and was read as the text it is; put it in quotes")
			text = quoted
		}
		mended.WriteString(text)
	}
	return mended.String(), nil
}

// splitBlocks splits the front matter at the lines that begin a field. Comments
// and blank lines before the first are a block without a key.
func splitBlocks(h *header) ([]block, error) {
	blocks := []block{{line: h.line}}
	n := h.line - 1
	for line := range strings.Lines(h.text) {
		n++
		if key, rest, ok := splitField(line); ok {
			blocks = append(blocks, block{key: key, rest: rest, line: n})
		}
		last := &blocks[len(blocks)-1]
		last.lines = append(last.lines, line)
	}
	if first := strings.Join(blocks[0].lines, ""); !isBlank(first) {
		return nil, faultAt(h.line, "the front matter does not begin with a line of the form key: value")
	}
	return blocks, nil
}

// quoted returns the field with its value in single quotes, in which nothing but
// a single quote has a meaning. It refuses what is not plainly a text: a value
// that begins on a line of its own, and one whose further lines are not indented
// or look like a field that limits what the skill may do.
func (b block) quoted() (string, bool) {
	value := strings.TrimSpace(b.rest)
	if value == "" || value[0] == '|' || value[0] == '>' {
		return "", false
	}
	for _, line := range b.lines[1:] {
		text := strings.TrimSpace(line)
		if key, _, ok := splitField(text); ok && restrictions[spelling(key)] || text != "" && line[0] != ' ' {
			return "", false
		}
	}
	lines := append([]string{value + "\n"}, b.lines[1:]...)
	text := strings.TrimRight(strings.Join(lines, ""), " \t\n")
	end := strings.Repeat("\n", len(lines)-strings.Count(text, "\n")) // the lines behind keep their numbers
	return b.key + ": '" + strings.ReplaceAll(text, "'", "''") + "'" + end, true
}
