package harnesses

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// MaxName is how many bytes a name may have. Each slash of it takes three in a key
// of kv.MaxKeySize.
const MaxName = 256

const digestPrefix = "sha256:"

// Digest returns the digest of an image: sha256: and 64 lower-case hexadecimal
// digits.
func Digest(image []byte) string {
	sum := sha256.Sum256(image)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// isDigest tells whether ref is what Digest returns.
func isDigest(ref string) bool {
	digits, ok := strings.CutPrefix(ref, digestPrefix)
	return ok && len(digits) == 2*sha256.Size && strings.Trim(digits, "0123456789abcdef") == ""
}

func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrInvalid)
	case len(name) > MaxName:
		return fmt.Errorf("%w: %.40q… has %d bytes, the limit is %d", ErrInvalid, name, len(name), MaxName)
	case strings.HasPrefix(name, digestPrefix):
		return fmt.Errorf("%w: %.80q begins like a digest", ErrInvalid, name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("%w: %q has the part %q between its slashes", ErrInvalid, name, part)
		}
		for _, r := range part {
			if !strings.ContainsRune(nameCharacters, r) {
				return fmt.Errorf("%w: %q holds %q; use letters, digits and . _ - : /", ErrInvalid, name, r)
			}
		}
	}
	return nil
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:"
