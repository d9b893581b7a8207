package memfs

import (
	"bytes"
	"maps"
	"os"
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

// always says the same of every change.
func always(c Change) func() Change { return func() Change { return c } }

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
	after := m.Crash(fates(t, Kept, Lost, Zeroed, Garbled, Zeroed, Garbled, Lost), always(Undone))

	want := sector(n) + sector(o) + sector(o) + sector(n) + sector("\x00") + sector(string([]byte{'n' ^ 0xA5}))
	if got := content(after)["/f"]; got != want {
		t.Fatalf("the file has %d bytes, want %d, and differs", len(got), len(want))
	}
	f.Sync()
	f.Truncate(10)
	for cut, size := range map[Change]int{Done: 10, Half: 7 * SectorSize, Undone: 7 * SectorSize} {
		after := m.Crash(fates(t), always(cut))
		if got := len(content(after)["/f"]); got != size {
			t.Errorf("%v: cut to %d bytes, want %d", cut, got, size)
		}
	}
}

func TestCrashOfARename(t *testing.T) {
	m := New()
	create(t, m, "/a", "A").Sync()
	create(t, m, "/b", "B").Sync()
	m.SyncDir("/")
	m.Rename("/a", "/b")
	for change, want := range map[Change]map[string]string{
		Done:   {"/b": "A"},
		Undone: {"/a": "A", "/b": "B"},
		Half:   {"/a": "A", "/b": "A"},
	} {
		after := m.Crash(fates(t), always(change))
		if got := content(after); !maps.Equal(got, want) {
			t.Errorf("the rename is %v: %q, want %q", change, got, want)
		}
		if change == Half && after.entries["/a"] != after.entries["/b"] {
			t.Error("the names are of two files")
		}
	}
	m.SyncDir("/")
	m.Remove("/b")
	if got := content(m.Crash(fates(t), always(Undone))); got["/b"] != "A" {
		t.Errorf("a removal was durable without a sync: %q", got)
	}
	if got := content(m.Crash(fates(t), always(Done))); len(got) != 0 {
		t.Errorf("a removal was undone: %q", got)
	}
}

// Bytes that one crash left behind the end of a file another can show, until others
// were synced in their place.
func TestCrashHidesWhatAnotherShows(t *testing.T) {
	for _, paved := range []bool{false, true} {
		m := New()
		create(t, m, "/f", "").Sync()
		m.SyncDir("/")
		create(t, m, "/f", "old")
		after := m.Crash(fates(t, Hidden), always(Undone))
		if got := content(after)["/f"]; got != "" {
			t.Fatalf("%q is not hidden", got)
		}
		want := "ol"
		if paved {
			f := create(t, after, "/f", "\x00\x00\x00")
			f.Sync()
			f.Truncate(0)
			f.Sync()
			want = "\x00\x00"
		}
		create(t, after, "/f", "AB")
		again := after.Crash(fates(t, Zeroed), always(Undone))
		if got := content(again)["/f"]; got != want {
			t.Errorf("paved %v: the file has %q, want %q", paved, got, want)
		}
	}
}
