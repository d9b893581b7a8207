package main

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// corpusPackages are Debian packages of long English prose. Where one is there only
// to depend on the newest of its kind, that is taken as well.
const corpusPackages = "debian-faq,debian-policy,debian-reference-en,developers-reference,dict-foldoc,dict-gcide," +
	"dict-jargon,fortunes,git-doc,linux-doc,maint-guide,perl-doc,postgresql-doc,python3-doc"

// corpusMain makes the corpus: one message a line.
func corpusMain(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("peers corpus", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", defaultCorpus(), "write the messages to this `file`")
	n := flags.Int("n", 200_000, "how many messages")
	packages := flags.String("packages", corpusPackages, "Debian packages that they are cut from")
	dir := flags.String("debs", "", "fetch nothing, and take the packages that lie in this `directory`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *n < 1 {
		return errors.New("want no arguments and at least a message; see -help")
	}
	if *dir == "" {
		temporary, err := os.MkdirTemp("", "crabstore-corpus-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		if err := fetchPackages(ctx, temporary, strings.Split(*packages, ","), stderr); err != nil {
			return err
		}
		*dir = temporary
	}
	messages, err := cutPackages(ctx, *dir)
	if err != nil {
		return err
	}
	if len(messages) < *n {
		return fmt.Errorf("the packages give %d messages, of %d that are wanted; name more with -packages", len(messages), *n)
	}
	fmt.Fprintf(stderr, "%s: %d messages of %d\n", *out, *n, len(messages))
	return writeMessages(*out, messages[:*n])
}

// defaultCorpus is where the corpus lies if no flag says otherwise: outside of any
// repository.
func defaultCorpus() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "crabstore", "corpus.txt")
}

// fetchPackages gets packages from wherever this system gets its own.
func fetchPackages(ctx context.Context, dir string, names []string, stderr io.Writer) error {
	var all []string
	for _, name := range names {
		depends, err := exec.CommandContext(ctx, "apt-cache", "depends", "--important", name).Output()
		if err != nil {
			return fmt.Errorf("apt-cache depends %s: %w", name, err)
		}
		all = append(all, name)
		for line := range strings.Lines(string(depends)) {
			on, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: ")
			if ok && strings.Contains(on, "doc") && !strings.HasPrefix(on, "<") {
				all = append(all, on)
			}
		}
	}
	get := exec.CommandContext(ctx, "apt-get", append([]string{"download", "-q"}, all...)...)
	get.Dir, get.Stderr = dir, stderr
	if err := get.Run(); err != nil {
		return fmt.Errorf("apt-get download, which may need an apt-get update first: %w", err)
	}
	return nil
}

// cutPackages returns the messages of all packages in a directory, shuffled, the
// same for the same packages.
func cutPackages(ctx context.Context, dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.deb")) // sorted
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no packages", dir)
	}
	random := rand.New(rand.NewPCG(1, 1))
	c := newCutter(random)
	for _, path := range paths {
		if err := cutPackage(ctx, path, c); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	random.Shuffle(len(c.messages), func(i, j int) { c.messages[i], c.messages[j] = c.messages[j], c.messages[i] })
	return c.messages, nil
}

func cutPackage(ctx context.Context, path string, c *cutter) error {
	unpack := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", path)
	unpacked, err := unpack.StdoutPipe()
	if err != nil {
		return err
	}
	if err := unpack.Start(); err != nil {
		return err
	}
	err = cutArchive(tar.NewReader(unpacked), c)
	_, drainErr := io.Copy(io.Discard, unpacked) // or it would wait for a reader
	return errors.Join(err, drainErr, unpack.Wait())
}

func cutArchive(archive *tar.Reader, c *cutter) error {
	for {
		file, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, content := file.Name, io.Reader(archive)
		read := readerOf(name)
		if file.Typeflag != tar.TypeReg || read == nil {
			continue
		}
		if strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".dz") {
			if content, err = gzip.NewReader(archive); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := read(content, c.paragraph); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.end()
	}
}

// readerOf returns what reads the paragraphs of a file in a package; nil for what is
// no prose, no English, or the source of what comes as HTML as well.
func readerOf(name string) func(io.Reader, func(string)) error {
	for _, part := range []string{"/_sources/", "/translations/", "/changelog", "/copyright", "/genindex"} {
		if strings.Contains(name, part) {
			return nil
		}
	}
	plain := strings.TrimSuffix(name, ".gz")
	switch {
	case strings.HasSuffix(plain, ".html"):
		return readHTML
	case strings.HasSuffix(plain, ".pod"):
		return readPod
	case strings.HasSuffix(plain, ".dict.dz"):
		return readText
	case strings.Contains(name, "/games/fortunes/") && filepath.Ext(name) == "":
		return readText
	}
	return nil
}

func writeMessages(path string, messages []string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for _, m := range messages {
		fmt.Fprintln(w, m)
	}
	return errors.Join(w.Flush(), f.Close())
}

// readMessages returns the first n messages of a corpus.
func readMessages(path string, n int) ([]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w; make it with: go run . corpus", err)
	}
	if err != nil {
		return nil, err
	}
	messages := slices.Collect(strings.SplitSeq(strings.TrimSpace(string(text)), "\n"))
	if len(messages) < n {
		return nil, fmt.Errorf("%s: %d messages, of %d that are wanted", path, len(messages), n)
	}
	return messages[:n], nil
}
