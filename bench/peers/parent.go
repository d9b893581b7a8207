package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// bench is what is to be measured.
type bench struct {
	engines  []engine
	groups   []string
	keys     int
	rounds   int
	stall    int64
	pace     int
	progress io.Writer
}

// floorName stands for the floor where stores are named.
const floorName = "floor"

// findings are all that came of the rounds so far.
type findings struct {
	figures figures
	answers map[string]origin
}

// figures are all that was measured: by store, by line, one a round.
type figures map[string]map[string][]float64

// origin is an answer and the store that gave it first.
type origin struct {
	answer
	store string
}

// median returns the middle figure, and whether there is one.
func (f figures) median(store, id string) (float64, bool) {
	all := slices.Sorted(slices.Values(f[store][id]))
	if len(all) == 0 {
		return 0, false
	}
	half := len(all) / 2
	if len(all)%2 == 0 {
		return (all[half-1] + all[half]) / 2, true
	}
	return all[half], true
}

// turn lists the stages of a store's turn that the wanted lines need.
func (b *bench) turn(e engine) []job {
	wants := func(groups ...string) bool {
		return slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(b.groups, g) })
	}
	reads := wants("get", "absent", "scan", "full", "open", "memory")
	jobs := []job{{Stage: "load"}, {Stage: "recover"}}
	if reads {
		jobs = append(jobs, job{Stage: "read", State: asLoaded})
	}
	if reads || wants("size") {
		jobs = append(jobs, job{Stage: "compact", State: compacted})
	}
	if reads {
		jobs = append(jobs, job{Stage: "read", State: compacted})
	}
	if wants("batch", "mixed", "delete") {
		jobs = append(jobs, job{Stage: "write"})
	}
	if wants("sync") {
		jobs = append(jobs, job{Stage: "sync"})
	}
	jobs = append(jobs, job{Stage: "digest"})
	if wants("stall") && e.stall != excludesWriter {
		jobs = append(jobs, job{Stage: "stall", Stall: b.stall, Pace: b.pace})
	}
	for i := range jobs {
		jobs[i].Store, jobs[i].Keys, jobs[i].Groups = e.name, b.keys, b.groups
	}
	return jobs
}

// run gives the floor and every store its turn, as often as there are rounds, in
// directories under dir.
func (b *bench) run(ctx context.Context, dir string) (findings, error) {
	found := findings{figures{}, map[string]origin{}}
	for round := range b.rounds {
		turns := [][]job{{{Store: floorName, Stage: "floor", Keys: b.keys}}}
		for _, e := range b.engines {
			turns = append(turns, b.turn(e))
		}
		for _, jobs := range turns {
			if err := b.take(ctx, round, jobs, dir, found); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

// take runs the stages of one turn. What they leave on the disk is removed.
func (b *bench) take(ctx context.Context, round int, jobs []job, dir string, found findings) error {
	for _, j := range jobs {
		j.Dir = filepath.Join(dir, j.Store)
		if j.Stage == "stall" {
			j.Dir += "-stall"
		}
		if err := os.MkdirAll(j.Dir, 0o700); err != nil {
			return err
		}
		defer os.RemoveAll(j.Dir)
		unix.Sync() // what others wrote is not to be this stage's burden
		start := time.Now()
		r, err := runChild(ctx, j)
		if err != nil {
			return fmt.Errorf("%s: stage %s%s: %w", j.Store, j.Stage, j.State, err)
		}
		fmt.Fprintf(b.progress, "round %d/%d  %-8s %-8s %-10s %6.1f s\n",
			round+1, b.rounds, j.Store, j.Stage, j.State, time.Since(start).Seconds())
		if err := found.add(j.Store, r); err != nil {
			return err
		}
	}
	return nil
}

// add keeps what a stage of a store's turn sent. It fails when the store read
// something other than another did.
func (f findings) add(store string, r result) error {
	if f.figures[store] == nil {
		f.figures[store] = map[string][]float64{}
	}
	for id, value := range r.Figures {
		f.figures[store][id] = append(f.figures[store][id], value)
	}
	for id, a := range r.Answers {
		first, ok := f.answers[id]
		if !ok {
			f.answers[id] = origin{a, store}
		} else if first.answer != a {
			return fmt.Errorf("%s and %s do not agree on %s: %v and %v", first.store, store, id, first.answer, a)
		}
	}
	return nil
}

// runChild does a job in a process of its own.
func runChild(ctx context.Context, j job) (result, error) {
	program, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	text, err := json.Marshal(j)
	if err != nil {
		return result{}, err
	}
	in, out, err := os.Pipe()
	if err != nil {
		return result{}, err
	}
	defer in.Close()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	cmd.ExtraFiles = []*os.File{out} // file 3
	cmd.Stderr = &stderr
	err = cmd.Start()
	out.Close()
	if err != nil {
		return result{}, err
	}
	var r result
	decodeErr := json.NewDecoder(in).Decode(&r)
	waitErr := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case decodeErr != nil:
		return r, fmt.Errorf("no result: %w\n%s", errors.Join(waitErr, decodeErr), stderr.Bytes())
	case r.Fault != "":
		return r, errors.New(r.Fault)
	}
	return r, nil // how the process ended does not matter: load ends by a kill
}
