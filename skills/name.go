package skills

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// MaxName is how many characters a name may have: the Agent Skills specification
// (agentskills.io/specification, "name field") says 64.
const MaxName = 64

// checkName refuses what cannot be the name of a skill, by a list of what can be,
// so that no name is a path, an option or a hidden file anywhere.
//
// The specification allows lower-case letters and digits, with single hyphens
// between them. Files in the wild also have upper case, letters of other scripts,
// underscores, dots and single spaces (Skill Development, v1.2, my_skill); these
// are taken as they are written, and warning tells of it. All else is refused:
// slashes, backslashes, colons, percent signs, control and format characters,
// and a hyphen, dot or space at an end.
func checkName(name string) (warning string, err error) {
	switch {
	case name == "":
		return "", fmt.Errorf("the name is empty")
	case !utf8.ValidString(name):
		return "", fmt.Errorf("the name %q is not valid UTF-8", name)
	case utf8.RuneCountInString(name) > MaxName:
		return "", fmt.Errorf("the name %.40q… has %d characters, the limit is %d", name, utf8.RuneCountInString(name), MaxName)
	case strings.Contains(name, "..") || strings.Contains(name, "  "):
		return "", fmt.Errorf("the name %q has two dots or two spaces in a row", name)
	case strings.Trim(name, "-. ") != name:
		return "", fmt.Errorf("the name %q begins or ends with a hyphen, dot or space", name)
	}
	strict := !strings.Contains(name, "--")
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
		case unicode.In(r, unicode.L, unicode.Nd, unicode.M), r == '_', r == '.', r == ' ':
			strict = false
		default:
			return "", fmt.Errorf("the name %q holds %q; letters, digits and hyphens make a name", name, r)
		}
	}
	if !strict {
		warning = fmt.Sprintf("the name %q is outside the specification, which has lower-case letters, digits and single hyphens", name)
	}
	return warning, nil
}

// fold maps names to one text that only case or Unicode composition tells apart.
func fold(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(name) // the same, and a good deal faster
	}
	return cases.Fold().String(norm.NFKC.String(name))
}

// folderOf returns the name of the folder in which a SKILL.md lies, or "".
func folderOf(source string) string {
	dir, file := path.Split(strings.ReplaceAll(source, `\`, "/"))
	if !strings.EqualFold(file, FileName) {
		return ""
	}
	if base := path.Base(dir); base != "/" && base != "." {
		return base
	}
	return ""
}
