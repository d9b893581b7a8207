package sessions_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv"
	"github.com/crabstore/crabstore/sessions"
)

// A record that the engine finds damaged costs its own message alone: those behind
// it are read, found, counted, and kept in the index.
func TestDamagedRecordHidesNoOther(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "store.crmem")
	s, err := crabkv.Open(path, crabdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sessions.Create(ctx, s, sessions.Meta{Handle: "h", Agent: "a", CreatedBy: "b"}); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		m := sessions.Message{Role: sessions.User, Blocks: []sessions.Block{{Type: sessions.Text, Text: fmt.Sprintf("heron number%d", i)}}}
		if _, err := sessions.Append(ctx, s, "h", m); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte("heron number2"))
	data[at] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = crabkv.Open(path, crabdb.Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wantMessages(t, s)
	if err := sessions.Reindex(ctx, s, "h"); err != nil {
		t.Fatal(err)
	}
	wantMessages(t, s)
	for _, word := range []string{"number1", "number4"} {
		found, err := sessions.Search(ctx, s, sessions.Query{Text: word})
		if err != nil || len(found.Hits) != 1 {
			t.Errorf("%s: %+v, %v", word, found, err)
		}
	}
	if meta, err := sessions.Load(ctx, s, "h"); err != nil || meta.Messages != 5 {
		t.Errorf("%d messages, %v; want 5", meta.Messages, err)
	}
	faults, err := sessions.Check(ctx, s, "h")
	if err != nil || len(faults) != 1 || !strings.Contains(faults[0].What, "msg/000000000002") {
		t.Errorf("faults %v, %v; want the damaged message alone", faults, err)
	}
}

func wantMessages(t *testing.T, s kv.KVStorage) {
	t.Helper()
	var got []string
	for m, err := range sessions.Messages(context.Background(), s, "h", sessions.Range{}) {
		switch {
		case errors.Is(err, kv.ErrCorrupt):
			got = append(got, fmt.Sprintf("%d damaged", m.Index))
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, fmt.Sprintf("%d %s", m.Index, m.Blocks[0].Text))
		}
	}
	want := "0 heron number0, 1 heron number1, 2 damaged, 3 heron number3, 4 heron number4"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
