// Package crabstore_test holds the rules of the house that no compiler checks:
// imports run downward, the core links no database, and nothing in the repository
// is about one machine.
package crabstore_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/crabstore/crabstore/"

// mayImport lists, for each package of the house, what of the house it may import
// besides packages below its own folder. RFC-0207.md has the picture.
var mayImport = map[string][]string{
	"crabdb":              {},
	"kv":                  {},
	"kv/kvtest":           {"kv", "kv/memkv"},
	"kv/memkv":            {"kv"},
	"kv/crabkv":           {"kv", "crabdb"},
	"kv/pebblekv":         {"kv"},
	"kv/sqlitekv":         {"kv"},
	"kv/jsonkv":           {"kv"},
	"kv/pgkv":             {"kv"},
	"kv/pgkv/pgtest":      {},
	"kv/etcdkv":           {"kv"},
	"kv/etcdkv/etcdtest":  {},
	"kv/crabkv/crashtest": {"kv", "kv/memkv", "kv/crabkv", "crabdb"},
	"textsearch":          {"kv"},
	"memory":              {"kv", "textsearch"},
	"sessions":            {"kv", "textsearch", "memory"},
	"agents":              {"kv"},
	"skills":              {"kv", "textsearch"},
	"harnesses":           {"kv"},
	"apps/agent":          {"*"},
	"bench":               {"*"},
	".ci/tools":           {},
}

// forTests are packages that tests alone may import besides, from anywhere.
var forTests = []string{"kv", "kv/kvtest", "kv/memkv", "kv/crabkv", "kv/crabkv/crashtest", "kv/pgkv/pgtest", "kv/etcdkv/etcdtest", "crabdb"}

func TestImportsRunDownward(t *testing.T) {
	for _, file := range goFiles(t) {
		home := homeOf(path.Dir(file))
		if home == "" {
			if path.Dir(file) != "." {
				t.Errorf("%s lies in no package of the house; add its folder to mayImport", file)
			}
			continue
		}
		for _, imported := range houseImports(t, file) {
			if !allowed(home, imported, strings.HasSuffix(file, "_test.go")) {
				t.Errorf("%s imports %s, which %s may not", file, imported, home)
			}
		}
	}
}

// homeOf returns the longest folder of the house that holds dir.
func homeOf(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, ok := mayImport[dir]; ok {
			return dir
		}
	}
	return ""
}

func allowed(home, imported string, test bool) bool {
	target := homeOf(imported)
	may := mayImport[home]
	return target == home || slices.Contains(may, "*") || slices.Contains(may, target) ||
		test && home != "crabdb" && slices.Contains(forTests, target)
}

func houseImports(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if rest, ok := strings.CutPrefix(p, module); ok {
			found = append(found, rest)
		}
	}
	return found
}

func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata"):
			return filepath.SkipDir
		case strings.HasSuffix(p, ".go"):
			files = append(files, filepath.ToSlash(p))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// What is not an adapter links no engine and no database; the engine links the
// standard library alone.
func TestCoreLinksNoDatabase(t *testing.T) {
	core := []string{"./kv", "./textsearch", "./agents", "./sessions", "./memory", "./skills", "./harnesses"}
	databases := []string{"crabstore/crabdb", "sqlite", "pebble", "pgx", "etcd", "bbolt", "badger", "database/sql"}
	for _, dep := range deps(t, core...) {
		for _, db := range databases {
			if strings.Contains(dep, db) && dep != "database/sql/driver" { // an interface that ids have
				t.Errorf("the core links %s", dep)
			}
		}
	}
	for _, dep := range deps(t, "./crabdb") {
		if host, _, _ := strings.Cut(dep, "/"); strings.Contains(host, ".") && !strings.HasPrefix(dep, module+"crabdb") {
			t.Errorf("crabdb links %s, which is not of the standard library", dep)
		}
	}
}

func deps(t *testing.T, pkgs ...string) []string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command to list dependencies with")
	}
	out, err := exec.Command("go", append([]string{"list", "-deps"}, pkgs...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	return strings.Fields(string(out))
}

// No tracked file names a place on the machine where it was written, or the host
// of a package registry.
func TestNothingNamesAMachine(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("not in a git checkout: %v", err)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	bad := [][]byte{[]byte(filepath.Dir(wd) + "/"), []byte("proxy.go" + "lang.org"), []byte("registry.npm" + "js.org"), []byte("deb.deb" + "ian.org")}
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		bad = append(bad, []byte(home+"/"))
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // removed from the work tree, not yet from the index
		}
		for _, word := range bad {
			if bytes.Contains(data, word) {
				t.Errorf("%s names %q", name, word)
			}
		}
	}
}
