package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// job is what one child does: a stage of one store's turn.
type job struct {
	Store  string
	Stage  string
	State  string // of the store in a read stage: what its figures end in
	Dir    string
	Keys   int
	Stall  int64      // bytes of the store that is compacted beside a writer
	Pace   int        // puts a second of that writer, 0 for as many as it can
	Groups []string   // of lines that are wanted
	Search *searchJob `json:",omitempty"` // a stage of the comparison of search, which needs this instead
}

func (j job) wants(group string) bool { return slices.Contains(j.Groups, group) }

// result is what a child sends back.
type result struct {
	Figures map[string]float64
	Answers map[string]answer
	Fault   string
}

const (
	jobVariable = "CRABSTORE_PEERS_JOB" // tells a process that it is a child, and its job
	resultFile  = 3                     // the pipe to the parent
)

// stage is a job at work.
type stage struct {
	job
	*workload
	engine engine
	result
}

// stages are what a child can be asked for, in the order of a store's turn.
var stages = map[string]func(*stage) error{
	"load":    (*stage).load,
	"recover": (*stage).recover,
	"read":    (*stage).read,
	"compact": (*stage).compact,
	"write":   (*stage).write,
	"sync":    (*stage).sync,
	"digest":  (*stage).digest,
	"stall":   (*stage).stall,
	"floor":   (*stage).floor,
}

// childMain does the job of this process if it is a child, and tells whether it
// was.
func childMain() bool {
	text, ok := os.LookupEnv(jobVariable)
	if !ok {
		return false
	}
	s := &stage{result: result{Figures: map[string]float64{}, Answers: map[string]answer{}}}
	if err := s.run(text); err != nil {
		s.Fault = err.Error()
	}
	if err := s.send(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if s.Stage == "load" {
		killSelf() // what is found at the next opening is what a killed process leaves
	}
	return true
}

func (s *stage) run(text string) (err error) {
	if err := json.Unmarshal([]byte(text), &s.job); err != nil {
		return err
	}
	if s.Search != nil {
		return s.runSearch()
	}
	do, ok := stages[s.Stage]
	if !ok {
		return fmt.Errorf("no stage %q", s.Stage)
	}
	if s.Stage != "floor" {
		if s.engine, err = engineNamed(s.Store); err != nil {
			return err
		}
	}
	s.workload = newWorkload(s.Keys)
	return do(s)
}

func (s *stage) send() error {
	return json.NewEncoder(os.NewFile(resultFile, "result")).Encode(s.result)
}

// figure records the figure of a line; in a read stage, of that in its state.
func (s *stage) figure(id string, value float64) { s.Figures[id+s.State] = value }

func (s *stage) answer(id string, a answer) { s.Answers[id+s.State] = a }

// inMicroseconds and inMilliseconds are the units that figures of time have.
func inMicroseconds(d time.Duration) float64 { return float64(d) / 1e3 }
func inMilliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// stopwatch adds up the time of calls, without that of preparing them.
type stopwatch struct {
	total time.Duration
	calls int
}

// time runs fn, which makes so many calls.
func (w *stopwatch) time(calls int, fn func() error) error {
	start := time.Now()
	err := fn()
	w.total += time.Since(start)
	w.calls += calls
	return err
}

// perCall returns the mean, in nanoseconds.
func (w *stopwatch) perCall() float64 { return float64(w.total) / float64(max(1, w.calls)) }

func (w *stopwatch) microseconds() float64 { return w.perCall() / 1e3 }

// chunkSize is how many keys and values are prepared at a time: few enough to stay
// in the processor's cache.
const chunkSize = 256

// chunks prepares the keys and values of index(0) to index(n-1), calls use for up
// to size of them at a time, and returns how long that took. The entries are
// overwritten from one call to the next.
func (w *workload) chunks(n, size, version int, index func(int) int, use func([]entry) error) (stopwatch, error) {
	var watch stopwatch
	m := w.maker()
	entries := make([]entry, size)
	for at := 0; at < n; at += size {
		part := entries[:min(size, n-at)]
		for j := range part {
			i := index(at + j)
			part[j].key = append(part[j].key[:0], m.key(i)...)
			part[j].value = append(part[j].value[:0], m.value(i, version)...)
		}
		if err := watch.time(len(part), func() error { return use(part) }); err != nil {
			return watch, err
		}
	}
	return watch, nil
}

// inOrder is the order in which messages are written.
func inOrder(i int) int { return i }

// scattered visits every key once, in an order that looks random.
func (w *workload) scattered(i int) int { return i * scatter % w.keys }
