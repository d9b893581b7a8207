package cli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/apps/agent/internal/home"
	"github.com/crabstore/crabstore/apps/agent/internal/home/storetest"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/memory"
	"github.com/crabstore/crabstore/sessions"
)

// What is stored of a session is shown as it is, decoded.
func TestReadState(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l, err := home.Locate("", dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := home.OpenWrite(ctx, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := sessions.Create(ctx, s, sessions.Meta{Handle: "H/1", Agent: "a", CreatedBy: "b", Title: "legs"})
	must(t, err)
	_, err = sessions.Append(ctx, s, meta.Handle, sessions.Message{Role: sessions.User, Blocks: []sessions.Block{
		{Type: sessions.Text, Text: "how many?"}, {Type: sessions.Image, MIME: "image/png", Data: []byte{0xff, 0}}}})
	must(t, err)
	_, err = sessions.AppendEvents(ctx, s, meta.Handle, sessions.Event{Type: "said"})
	must(t, err)
	must(t, sessions.SetState(ctx, s, meta.Handle, []byte("\xff raw")))
	_, err = sessions.Compact(ctx, s, meta.Handle, sessions.Compaction{Summary: "of legs"})
	must(t, err)
	must(t, s.Close())

	var st struct {
		Session string
		Meta    sessions.Meta
		Archive string
		State   struct {
			Raw string `json:"$raw"`
		}
		Messages []struct {
			Role   string
			Blocks []struct {
				Text string
				Data struct {
					Base64 string `json:"$base64"`
				}
			}
		}
		Events []struct{ Type string }
	}
	text := output(t, agent(t, dir, "store", "read-state", "--session", "H/1"))
	if err := json.Unmarshal([]byte(text), &st); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if st.Session != "H/1" || st.Meta.Title != "legs" || !strings.HasPrefix(st.Archive, memory.Archive+"/") || st.State.Raw != "/yByYXc=" ||
		len(st.Messages) != 1 || st.Messages[0].Blocks[0].Text != "how many?" || st.Messages[0].Blocks[1].Data.Base64 != "/wA=" ||
		len(st.Events) == 0 || st.Events[0].Type != "said" {
		t.Errorf("%s", text)
	}
	if code := codeOf(t, agent(t, dir, "store", "read-state", "--session", "other")); code != exitFailed {
		t.Errorf("exit code %d for a session that is not there", code)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Reading takes no lock and changes no byte, of a store that rests and beside one that
// writes, on every backend that has bytes here.
func TestReadStateOfEveryBackendChangesNothing(t *testing.T) {
	inFull(t)
	for _, backend := range home.BuiltIn() {
		if !home.Local(backend) {
			continue
		}
		t.Run(backend, func(t *testing.T) {
			ctx, dir, store := context.Background(), t.TempDir(), storetest.Spec(t, backend)
			output(t, agent(t, dir, "--store", store, "import", "--sample", "-q"))
			l, err := home.Parse(store, dir)
			must(t, err)
			read := func(when string) {
				before := bytesIn(t, filepath.Dir(l.Place))
				said := output(t, agent(t, dir, "--store", store, "store", "read-state"))
				if n := strings.Count(said, "\n"); n != 5 {
					t.Errorf("%s: %d sessions, want 5", when, n)
				}
				if after := bytesIn(t, filepath.Dir(l.Place)); after != before {
					t.Errorf("%s: the files were\n%sand are\n%s", when, before, after)
				}
			}
			read("at rest")
			s, err := home.Open(ctx, l, home.Make, nil)
			must(t, err)
			defer s.Close()
			for i := range 3 {
				must(t, s.Put(ctx, kv.Config, fmt.Append(nil, i), []byte("written")))
				read("beside a writer")
			}
		})
	}
}

// bytesIn tells what the files of a folder hold, but for SQLite's index of its log, in
// which readers note how far they read.
func bytesIn(t *testing.T, dir string) string {
	t.Helper()
	text := ""
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "-shm") {
			return err
		}
		data, err := os.ReadFile(path)
		text += fmt.Sprintf("%s %x\n", path, sha256.Sum256(data))
		return err
	})
	must(t, err)
	return text
}
