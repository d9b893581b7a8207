package memfs

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// content returns what a file system holds, by path.
func content(m *FS) map[string]string {
	all := map[string]string{}
	for path, n := range m.entries {
		all[path] = string(n.now)
	}
	return all
}

func create(t *testing.T, m *FS, path, data string) *file {
	t.Helper()
	f, err := m.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(data), 0); err != nil {
		t.Fatal(err)
	}
	return f.(*file)
}

// always and never are the two answers for every entry.
func always() bool { return true }
func never() bool  { return false }

// fates gives the sectors of a crash their fates, one after the other.
func fates(t *testing.T, all ...Fate) func() Fate {
	return func() Fate {
		if len(all) == 0 {
			t.Fatal("more sectors than expected are not synced")
		}
		next := all[0]
		all = all[1:]
		return next
	}
}

func TestCrashKeepsWhatWasSynced(t *testing.T) {
	m := New()
	create(t, m, "/d/synced", "1").Sync()
	create(t, m, "/e/other", "1").Sync()
	m.SyncDir("/d")
	create(t, m, "/d/synced", "2") // not synced again
	create(t, m, "/d/later", "1").Sync()

	if got, want := content(m.Synced()), map[string]string{"/d/synced": "1"}; !maps.Equal(got, want) {
		t.Errorf("synced alone: %q, want %q", got, want)
	}
	want := map[string]string{"/d/synced": "2", "/d/later": "1", "/e/other": "1"}
	if got := content(m.Kill()); !maps.Equal(got, want) {
		t.Errorf("after a kill: %q, want %q", got, want)
	}
	after := m.Synced()
	if got := content(after.Synced()); !maps.Equal(got, content(after)) {
		t.Errorf("a second crash lost something: %q", got)
	}
}

func TestCrashTakesSectorsApart(t *testing.T) {
	m := New()
	const o, n = "o", "n"
	sector := func(s string) string { return strings.Repeat(s, SectorSize) }
	old := sector(o) + sector(o) + sector(o) + o // the fourth is begun
	f := create(t, m, "/f", old)
	f.Sync()
	m.SyncDir("/")
	f.WriteAt(bytes.Repeat([]byte(n), 7*SectorSize), 0)
	after := m.Crash(fates(t, Kept, Lost, Zeroed, Garbled, Zeroed, Garbled, Lost), never)

	want := sector(n) + sector(o) + sector(o) + sector(n) + sector("\x00") + sector(string([]byte{'n' ^ 0xA5}))
	if got := content(after)["/f"]; got != want {
		t.Fatalf("the file has %d bytes, want %d, and differs", len(got), len(want))
	}
	f.Sync()
	f.Truncate(10)
	for shortened, size := range map[bool]int{true: 10, false: 7 * SectorSize} {
		after := m.Crash(fates(t), func() bool { return shortened })
		if got := len(content(after)["/f"]); got != size {
			t.Errorf("cut to %d bytes, want %d", got, size)
		}
	}
}

func TestCrashRenamesWholeOrNotAtAll(t *testing.T) {
	m := New()
	create(t, m, "/a", "A").Sync()
	create(t, m, "/b", "B").Sync()
	m.SyncDir("/")
	m.Rename("/a", "/b")
	for _, happened := range []bool{true, false} {
		got := slices.Sorted(maps.Values(content(m.Crash(fates(t), func() bool { return happened }))))
		want := []string{"A"}
		if !happened {
			want = []string{"A", "B"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("renamed %v: %q", happened, got)
		}
	}
	m.SyncDir("/")
	m.Remove("/b")
	if got := content(m.Crash(fates(t), never)); got["/b"] != "A" {
		t.Errorf("a removal was durable without a sync: %q", got)
	}
	if got := content(m.Crash(fates(t), always)); len(got) != 0 {
		t.Errorf("a removal was undone: %q", got)
	}
}
