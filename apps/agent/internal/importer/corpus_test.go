package importer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// corpus writes sessions as Claude Code does, of words that are as frequent as
// words are. Of every four messages one is a user's, two are an assistant's, one of
// them with a call of a tool in two lines, and one is what the tool returned.
type corpus struct {
	random *rand.Rand
	words  *rand.Zipf
	clock  time.Time
}

// vocabulary is how many different words there are.
const vocabulary = 30_000

func newCorpus(seed uint64) *corpus {
	r := rand.New(rand.NewPCG(seed, 1))
	return &corpus{r, rand.NewZipf(r, 1.1, 8, vocabulary-1), time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)}
}

// word returns the i-th word: syllables that spell the number.
func word(i uint64) string {
	syllables := []string{"ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "za"}
	var b strings.Builder
	for n := i + 10; n > 0; n /= 10 {
		b.WriteString(syllables[n%10])
	}
	return b.String()
}

func (c *corpus) text(least, most int) string {
	var b strings.Builder
	for n := least + c.random.IntN(most-least); n > 0; n-- {
		b.WriteString(word(c.words.Uint64()))
		b.WriteByte(" .\n"[min(c.random.IntN(12), 2)/2])
	}
	return b.String()
}

// write writes so many messages in files of perFile, with a fork of every eighth
// one that has the first half of it.
func (c *corpus) write(t testing.TB, dir string, messages, perFile int) {
	for n := 0; messages > 0; n++ {
		size := min(perFile, messages)
		messages -= size
		id := fmt.Sprintf("%08x-0000-4000-8000-%012x", n, c.random.Uint64()&(1<<48-1))
		lines := c.session(id, n, size)
		writeLines(t, filepath.Join(dir, fmt.Sprintf("project-%d", n%7), id+".jsonl"), lines)
		if n%8 == 3 && messages > 0 {
			fork := fmt.Sprintf("%08x-ffff-4000-8000-%012x", n, c.random.Uint64()&(1<<48-1))
			writeLines(t, filepath.Join(dir, "forks", fork+".jsonl"), c.fork(fork, id, n, lines))
		}
	}
}

type object map[string]any

func (c *corpus) session(id string, n, messages int) (lines []object) {
	parent := ""
	line := func(k int, kind string, message object) {
		uuid := fmt.Sprintf("%08x-%04x-4000-8000-%012x", n, k, len(lines))
		c.clock = c.clock.Add(time.Duration(1+c.random.IntN(40)) * time.Second)
		lines = append(lines, object{"type": kind, "sessionId": id, "uuid": uuid, "parentUuid": parent, "isSidechain": false,
			"cwd": "/src/project", "version": "2.1.0", "gitBranch": "main", "timestamp": c.clock.Format(time.RFC3339Nano), "message": message})
		parent = uuid
	}
	for k := range messages {
		reply := fmt.Sprintf("msg_01Corpus%08x%08x", n, k)
		usage := object{"input_tokens": 10, "output_tokens": 20 + k%50}
		call := fmt.Sprintf("toolu_01Corpus%08x%08x", n, k-k%4)
		switch k % 4 {
		case 0:
			line(k, "user", object{"role": "user", "content": c.text(8, 60)})
		case 1:
			line(k, "assistant", object{"id": reply, "role": "assistant", "model": "m", "usage": usage, "content": []object{{"type": "text", "text": c.text(20, 120)}}})
			line(k, "assistant", object{"id": reply, "role": "assistant", "model": "m", "usage": usage, "content": []object{{"type": "tool_use", "id": call, "name": "Bash", "input": object{"command": c.text(5, 20)}}}})
		case 2:
			line(k, "user", object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": call, "content": c.text(50, 400)}}})
		case 3:
			line(k, "assistant", object{"id": reply, "role": "assistant", "model": "m", "usage": usage, "content": []object{{"type": "text", "text": c.text(20, 160)}}})
		}
	}
	return lines
}

// fork copies the first half of a session, as Claude Code does, and goes on.
func (c *corpus) fork(id, from string, n int, lines []object) []object {
	var out []object
	for _, l := range lines[:len(lines)/2] {
		copied := object{}
		for k, v := range l {
			copied[k] = v
		}
		copied["sessionId"] = id
		copied["forkedFrom"] = object{"sessionId": from, "messageUuid": l["uuid"]}
		out = append(out, copied)
	}
	return append(out, c.session(id, n|1<<30, 8)...)
}

func writeLines(t testing.TB, path string, lines []object) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
