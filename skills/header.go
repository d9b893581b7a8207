package skills

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxHeader bounds the front matter, in bytes. The longest seen in the wild has
// some four thousand.
const maxHeader = 256 << 10

// header is the front matter of a file: the text between its --- lines.
type header struct {
	text     string // its lines, each ended by \n alone
	line     int    // where the first of them stands in the file, from 1
	warnings []string
}

// lineEnds makes \n the only one. The separators of Unicode are none: YAML once held
// them to be, and other readers of these files do not.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", " ", "\u2028", " ", "\u2029", " ")

// findHeader finds the front matter in a file of any encoding and line ends that
// editors and shells make.
func findHeader(body []byte) (header, error) {
	text, warnings := decode(body)
	h := header{warnings: warnings}
	lines := strings.SplitAfter(lineEnds.Replace(text), "\n")
	n := 0
	for n < len(lines) && strings.TrimSpace(lines[n]) == "" {
		n++
	}
	if n == len(lines) {
		return h, faultAt(1, "the file is empty")
	}
	if n > 0 {
		h.warn("there are blank lines before the front matter")
	}
	if !isFence(lines[n]) {
		return h, faultAt(n+1, "the file does not begin with front matter: a line of three hyphens, then name and description, then a line of three hyphens")
	}
	h.line = n + 2
	for end, line := range lines[n+1:] {
		if isFence(line) || strings.TrimRight(line, " \t\n") == "..." {
			h.text = strings.Join(lines[n+1:n+1+end], "")
			if len(h.text) > maxHeader {
				return h, faultAt(n+1, "the front matter has %d bytes, the limit is %d", len(h.text), maxHeader)
			}
			return h, nil
		}
	}
	return h, faultAt(n+1, "the front matter that begins here has no end; put a line of three hyphens behind it")
}

func (h *header) warn(text string) { h.warnings = append(h.warnings, text) }

func isFence(line string) bool { return strings.TrimRight(line, " \t\n") == "---" }

// decode returns the text of a file: UTF-8, with or without a byte-order mark, or
// UTF-16 in either order, as Windows shells write it. What is neither becomes
// U+FFFD, so that a stray byte in the body does not cost the whole skill.
func decode(body []byte) (text string, warnings []string) {
	switch {
	case bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")):
		body = body[3:]
	case bytes.HasPrefix(body, []byte("\xFF\xFE")):
		return fromUTF16(body[2:], binary.LittleEndian), []string{"the file is UTF-16"}
	case bytes.HasPrefix(body, []byte("\xFE\xFF")):
		return fromUTF16(body[2:], binary.BigEndian), []string{"the file is UTF-16"}
	case bytes.HasPrefix(body, []byte("-\x00-\x00")):
		return fromUTF16(body, binary.LittleEndian), []string{"the file is UTF-16 without a byte-order mark"}
	case bytes.HasPrefix(body, []byte("\x00-\x00-")):
		return fromUTF16(body, binary.BigEndian), []string{"the file is UTF-16 without a byte-order mark"}
	}
	if !utf8.Valid(body) {
		warnings = []string{"the file holds bytes that are not UTF-8; they are read as U+FFFD"}
	}
	return strings.ToValidUTF8(string(body), "\uFFFD"), warnings
}

// fromUTF16 decodes pairs of bytes. Half a pair at the end is left out: it can only
// be of the body, of which nothing is read.
func fromUTF16(b []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(b)/2)
	for ; len(b) >= 2; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return string(utf16.Decode(units))
}
