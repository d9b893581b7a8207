package home

import (
	"fmt"
	"os"
	"path/filepath"
)

// Variable is the environment variable that names the home directory.
const Variable = "CRABSTORE_HOME"

// Dir returns the directory where things are kept, absolute: the one given, else
// that of $CRABSTORE_HOME, else .crabstore in the user's own. It need not exist.
func Dir(given string, getenv func(string) string) (string, error) {
	if given == "" {
		given = getenv(Variable)
	}
	if given != "" {
		return filepath.Abs(given)
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no home directory: %w; give one with --home or $%s", err, Variable)
	}
	return filepath.Join(user, ".crabstore"), nil
}
