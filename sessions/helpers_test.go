package sessions_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
)

// plain is a store of the five methods and nothing more.
type plain struct{ kv.KVStorage }

// eachStore runs a test on a store with transactions and on one without.
func eachStore(t *testing.T, test func(t *testing.T, s kv.KVStorage)) {
	t.Run("atomic", func(t *testing.T) { test(t, memkv.New()) })
	t.Run("plain", func(t *testing.T) { test(t, plain{memkv.New()}) })
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func mustCreate(t testing.TB, s kv.KVStorage, m sessions.Meta) sessions.Meta {
	t.Helper()
	return must[sessions.Meta](t)(sessions.Create(context.Background(), s, m))
}

func mustAppend(t testing.TB, s kv.KVStorage, handle string, msgs ...sessions.Message) sessions.Meta {
	t.Helper()
	return must[sessions.Meta](t)(sessions.Append(context.Background(), s, handle, msgs...))
}

// user, assistant and tool are messages as they come most often.
func user(text string) sessions.Message { return said(sessions.User, text) }

func assistant(text string, calls ...string) sessions.Message {
	m := said(sessions.Assistant, text)
	for _, id := range calls {
		m.Blocks = append(m.Blocks, sessions.Block{Type: sessions.ToolUse, ID: id, Name: "run_" + id, Input: []byte(`{}`)})
	}
	return m
}

func result(id, text string) sessions.Message {
	return sessions.Message{Role: sessions.Tool, Blocks: []sessions.Block{{Type: sessions.ToolResult, ID: id, Text: text}}}
}

func said(role sessions.Role, text string) sessions.Message {
	m := sessions.Message{Role: role}
	if text != "" {
		m.Blocks = []sessions.Block{{Type: sessions.Text, Text: text}}
	}
	return m
}

// textOf is all that the blocks of a message hold, in order.
func textOf(m sessions.Message) string {
	var parts []string
	for _, b := range m.Blocks {
		parts = append(parts, b.Text+b.Name)
	}
	return strings.Join(parts, "+")
}

// collect ends the test at the first error.
func collect[T any](t testing.TB, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var list []T
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

func texts(t testing.TB, s kv.KVStorage, handle string, r sessions.Range) []string {
	t.Helper()
	var list []string
	for _, m := range collect(t, sessions.Messages(context.Background(), s, handle, r)) {
		list = append(list, textOf(m))
	}
	return list
}

func handles(list []sessions.Meta) []string {
	var out []string
	for _, m := range list {
		out = append(out, m.Handle)
	}
	return out
}

func wantEqual[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func wantError(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

// wantSound fails the test for every fault that Check finds, in all of the store.
func wantSound(t testing.TB, s kv.KVStorage) {
	t.Helper()
	for _, f := range must[[]sessions.Fault](t)(sessions.Check(context.Background(), s, "")) {
		t.Errorf("fault: %s", f)
	}
}

// wantEmpty fails the test for every key that is left, but for statistics.
func wantEmpty(t testing.TB, s kv.KVStorage) {
	t.Helper()
	for _, col := range kv.Columns() {
		for key, err := range s.ScanKeys(context.Background(), col, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(string(key), "/stats") {
				t.Errorf("left in %s: %s", col, key)
			}
		}
	}
}

func at(second int) time.Time { return time.Date(2026, 5, 6, 7, 8, second, 0, time.UTC) }
