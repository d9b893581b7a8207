package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

type document struct{ ID, Text string }

type query struct{ id, text string }

type collection struct {
	documents []document
	queries   []query
	judgments map[string]judgments // by query
	notes     []string             // on what the files say, for the reader of the figures
}

func readCollection(dir string) (*collection, error) {
	c := &collection{judgments: map[string]judgments{}}
	for _, f := range []struct {
		name string
		line func(string) error
	}{{"corpus.jsonl", c.document}, {"queries.tsv", c.query}, {"qrels.txt", c.judgment}} {
		if err := readLines(filepath.Join(dir, f.name), f.line); err != nil {
			return nil, err
		}
	}
	c.matchIDs()
	return c, nil
}

// readLines calls fn with every line of a file that is not blank.
func readLines(path string, fn func(string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		if text := strings.TrimSpace(line); text != "" {
			if err := fn(text); err != nil {
				return fmt.Errorf("%s:%d: %w", path, n, err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *collection) document(line string) error {
	var d document
	if err := json.Unmarshal([]byte(line), &d); err != nil {
		return err
	}
	c.documents = append(c.documents, d)
	return nil
}

func (c *collection) query(line string) error {
	id, text, ok := strings.Cut(line, "\t")
	if !ok {
		return fmt.Errorf("no tab in %.40q", line)
	}
	c.queries = append(c.queries, query{id, text})
	return nil
}

func (c *collection) judgment(line string) error {
	fields := strings.Fields(line)
	if len(fields) != 4 {
		return fmt.Errorf("%d fields in %.40q, not 4", len(fields), line)
	}
	grade, err := strconv.Atoi(fields[3])
	if err != nil {
		return err
	}
	j := c.judgments[fields[0]]
	if j == nil {
		j = judgments{}
		c.judgments[fields[0]] = j
	}
	j[fields[2]] = grade
	return nil
}

// matchIDs renames judged documents that the corpus knows by the same number with
// zeros before it: the CACM judgments say CACM-756 of what is CACM-0756 there.
func (c *collection) matchIDs() {
	byNumber := map[string]string{}
	known := map[string]bool{}
	for _, d := range c.documents {
		byNumber[bareNumber(d.ID)], known[d.ID] = d.ID, true
	}
	renamed, unknown := 0, 0
	for _, j := range c.judgments {
		for id, grade := range maps.Clone(j) {
			if known[id] {
				continue
			}
			full, ok := byNumber[bareNumber(id)]
			if !ok {
				unknown++
				continue
			}
			delete(j, id)
			j[full] = grade
			renamed++
		}
	}
	if renamed+unknown > 0 {
		c.notes = append(c.notes, fmt.Sprintf("judgments: %d of documents that the corpus names with zeros before the number, %d of unknown ones", renamed, unknown))
	}
}

// bareNumber returns an id without the zeros before the number at its end.
func bareNumber(id string) string {
	text := strings.TrimRight(id, "0123456789")
	return text + strings.TrimLeft(id[len(text):], "0")
}
