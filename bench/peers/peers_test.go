package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"hash/crc64"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The test binary is its own child, as the program is.
func TestMain(m *testing.M) {
	if childMain() {
		return
	}
	os.Exit(m.Run())
}

// testBench measures everything on every store, with few keys.
func testBench() bench {
	return bench{engines: engines(), groups: groups(), keys: 2000, rounds: 1, stall: 2 << 20, pace: 20_000, progress: io.Discard}
}

// Every store must have a figure on every line, and hold in the end what a map
// would hold. That they agree on all they read on the way, run checks.
func TestEveryLineOnEveryStore(t *testing.T) {
	b := testBench()
	found, err := b.run(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range b.engines {
		for _, l := range lines() {
			value, ok := found.figures.median(e.name, l.id)
			if none := l.group == "stall" && e.stall == excludesWriter; ok == none {
				t.Errorf("%s: %s: measured is %v, want %v", e.name, l.id, ok, !none)
			}
			if mayBeZero := l.group == "memory" || l.plain; ok && !mayBeZero && value <= 0 {
				t.Errorf("%s: %s is %v", e.name, l.id, value)
			}
		}
	}
	for _, l := range floorLines {
		if value, _ := found.figures.median(floorName, l.id); value <= 0 {
			t.Errorf("floor: %s is %v", l.id, value)
		}
	}
	if got, want := found.answers["digest"].answer, modelDigest(b.keys); got != want {
		t.Errorf("all stores end with %v, a map with %v", got, want)
	}
	if got := found.answers["all"+asLoaded].Count; got != uint64(b.keys) {
		t.Errorf("reading every key found %d of %d", got, b.keys)
	}
	checkReport(t, &report{bench: b, figures: found.figures, date: time.Now()})
}

// modelDigest does to a map what the stages do to a store.
func modelDigest(keys int) answer {
	w := newWorkload(keys)
	m := w.maker()
	model := map[string]string{}
	for i := range keys {
		model[string(m.key(i))] = string(m.value(i, 2))
	}
	for b := range keys / 500 {
		for message := 100; message < 200; message++ {
			i := b*scatter%w.sessions + message*w.sessions
			model[string(m.key(i))] = string(m.value(i, 1))
		}
	}
	for i := 2 * keys; i < 2*keys+keys/50/16*16; i++ { // synced puts
		model[string(m.key(i))] = string(m.value(i, 1))
	}
	for j := range keys / 20 {
		delete(model, string(m.key(w.scattered(j))))
	}
	var all strings.Builder
	for _, key := range slices.Sorted(maps.Keys(model)) {
		all.WriteString(key + model[key])
	}
	return answer{uint64(len(model)), crc64.Checksum([]byte(all.String()), crc64.MakeTable(crc64.ECMA))}
}

// checkReport wants a row a line in the table, and a plot that is XML.
func checkReport(t *testing.T, r *report) {
	t.Helper()
	text := string(r.markdown())
	for _, l := range lines() {
		if !strings.Contains(text, "\n| "+l.title+" |") {
			t.Errorf("the table lacks %q", l.title)
		}
	}
	for _, row := range strings.Split(text, "\n") {
		columns := 4 + len(r.engines) + 1
		if strings.HasPrefix(row, "| put, 1") && strings.Count(row, "|") != columns {
			t.Errorf("a row of other than %d columns: %s", columns-1, row)
		}
	}
	decoder := xml.NewDecoder(bytes.NewReader(r.chart()))
	var circles int
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the plot: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "circle" {
			circles++
		}
	}
	if circles < len(lines()) {
		t.Errorf("the plot has %d dots", circles)
	}
}

func TestStoresThatDisagreeFailTheRun(t *testing.T) {
	found := findings{figures{}, map[string]origin{}}
	whole := result{Answers: map[string]answer{"get": {10, 1234}}}
	if err := errors.Join(found.add("a", whole), found.add("b", whole)); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []answer{{9, 1234}, {10, 1235}, {}} {
		err := found.add("c", result{Answers: map[string]answer{"get": wrong}})
		if err == nil || !strings.Contains(err.Error(), "a and c do not agree on get") {
			t.Errorf("%v beside {10 1234}: %v", wrong, err)
		}
	}
}

func TestChildReportsItsFault(t *testing.T) {
	for _, c := range []struct {
		job  job
		want string
	}{
		{job{Store: "crabdb", Stage: "dance"}, `no stage "dance"`},
		{job{Store: "oracle", Stage: "load", Keys: 100}, `no store "oracle"`},
		{job{Store: "crabdb", Stage: "read", Keys: 100, Dir: t.TempDir()}, "first get: absent"},
	} {
		if _, err := runChild(t.Context(), c.job); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.job, err, c.want)
		}
	}
}

func TestFlags(t *testing.T) {
	o, err := parseFlags([]string{"-stores", "bbolt,crabdb", "-lines", "get,open", "-rounds", "2"}, io.Discard)
	if err != nil || len(o.engines) != 2 || o.engines[0].name != "bbolt" || o.rounds != 2 || o.keys != 1_000_000 {
		t.Fatalf("%+v, %v", o, err)
	}
	var stages []string
	for _, j := range o.turn(o.engines[0]) {
		stages = append(stages, j.Stage+j.State)
	}
	want := "load recover read/loaded compact/compacted read/compacted digest"
	if got := strings.Join(stages, " "); got != want {
		t.Errorf("stages are %s, want %s", got, want)
	}
	for _, args := range [][]string{{"-stores", "oracle"}, {"-lines", "dance"}, {"-keys", "1"}, {"-rounds", "0"}, {"more"}} {
		if _, err := parseFlags(args, io.Discard); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}
