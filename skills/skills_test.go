package skills

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest/brittle"
	"github.com/crabstore/crabstore/kv/memkv"
)

func add1(t *testing.T, s kv.KVStorage, body, source string) Summary {
	t.Helper()
	sum, err := Add(context.Background(), s, []byte(body), source)
	if err != nil {
		t.Fatalf("Add %s: %v", source, err)
	}
	return sum
}

func wantSkill(t *testing.T, s kv.KVStorage, want Summary, body string) {
	t.Helper()
	ctx := context.Background()
	if got, err := Get(ctx, s, want.Name); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Get(%q) = %+v, %v\nwant %+v", want.Name, got, err, want)
	}
	if got, err := Body(ctx, s, want.Name); err != nil || string(got) != body {
		t.Errorf("Body(%q) = %q, %v; want %q", want.Name, got, err, body)
	}
}

func wantNames(t *testing.T, s kv.KVStorage, want ...string) {
	t.Helper()
	list, err := List(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, sum := range list {
		got = append(got, sum.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("List = %q, want %q", got, want)
	}
}

func wantFaultOf(t *testing.T, err, want error, text string) {
	t.Helper()
	var fault *Fault
	if !errors.As(err, &fault) || !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want a fault of %v with %s", err, want, text)
	}
}

func TestAdd(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	before := time.Now().Add(-time.Second)
	body := "\xEF\xBB\xBF---\r\nname: pdf\r\ndescription: Reads: PDF\r\nallowed-tools: []\r\ndisallowed-tools: Bash(a b) Write\r\nuser-invocable: false\r\nmetadata: {a: [b, {c: d}]}\r\nx: y\r\n---\r\nBody \xff\x00"
	sum := add1(t, s, body, "skills/pdf/SKILL.md")
	if sum.UpdatedAt.Before(before) || sum.UpdatedAt.Location() != time.UTC || sum.AllowedTools == nil || len(sum.Warnings) != 2 {
		t.Errorf("stored as %+v", sum)
	}
	wantSkill(t, s, sum, body)
	wantNames(t, s, "pdf")

	longer := strings.ReplaceAll(body, "Body", "Another body")
	again := add1(t, s, longer, "skills/pdf/SKILL.md") // from where it was
	if again.SHA256 == sum.SHA256 || again.Size != sum.Size+8 {
		t.Errorf("stored as %+v", again)
	}
	wantSkill(t, s, again, longer)

	if same := add1(t, s, longer, "elsewhere/pdf/SKILL.md"); !reflect.DeepEqual(same, again) {
		t.Errorf("the same bytes from elsewhere were stored as %+v", same)
	}
	_, err := Add(ctx, s, []byte(body), "elsewhere/pdf/SKILL.md")
	wantFaultOf(t, err, ErrExists, `elsewhere/pdf/SKILL.md: the store has a skill "pdf" from skills/pdf/SKILL.md`)
	wantSkill(t, s, again, longer)

	moved, err := Replace(ctx, s, []byte(body), "elsewhere/pdf/SKILL.md")
	if err != nil || moved.Source != "elsewhere/pdf/SKILL.md" {
		t.Fatalf("Replace = %+v, %v", moved, err)
	}
	wantSkill(t, s, moved, body)

	_, err = Add(ctx, s, []byte("no skill"), "x/SKILL.md")
	wantFaultOf(t, err, ErrInvalid, "x/SKILL.md:1: ")
	wantNames(t, s, "pdf")
}

func TestSHA256(t *testing.T) {
	sum := add1(t, memkv.New(), "---\nname: folder\n---\n", "\xff/SKILL.md")
	// By sha256sum.
	if want := "a0645ec2967395c1cc5e466709972ec52f092c19f1020b7dc2f442640b356f05"; sum.SHA256 != want || sum.Source != "\uFFFD/SKILL.md" {
		t.Errorf("got %+v, want %s", sum, want)
	}
}

// TestE07_NamesThatDifferByCaseAlone adds two of them, in several alphabets and
// in both forms of an accent.
func TestE07_NamesThatDifferByCaseAlone(t *testing.T) {
	ctx := context.Background()
	for _, names := range [][2]string{{"pdf", "PDF"}, {"Pdf", "pDf"}, {"навык", "НАВЫК"}, {"\u00e9t\u00e9", "E\u0301t\u00c9"}, {"straße", "STRASSE"}, {"ﬁle", "file"}, {"ｐｄｆ", "pdf"}} {
		s := memkv.New()
		first := add1(t, s, file("name: "+names[0], "description: d"), "a/SKILL.md")
		for _, put := range []func(context.Context, kv.KVStorage, []byte, string) (Summary, error){Add, Replace} {
			_, err := put(ctx, s, []byte(file("name: "+names[1], "description: d")), "a/SKILL.md")
			wantFaultOf(t, err, ErrExists, "differs by case alone")
		}
		wantSkill(t, s, first, file("name: "+names[0], "description: d"))
		wantNames(t, s, names[0])
	}
	s := memkv.New()
	for _, name := range []string{"a", "a-b", "a_b", "a.b", "a b", "ab"} {
		add1(t, s, file("name: "+name, "description: d"), name+"/SKILL.md")
	}
	wantNames(t, s, "a", "a b", "a-b", "a.b", "a_b", "ab")
}

func TestRemove(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	for _, name := range []string{"a", "ab"} {
		add1(t, s, file("name: "+name, "description: unicorn"), name+"/SKILL.md")
	}
	if err := Remove(ctx, s, "a"); err != nil {
		t.Fatal(err)
	}
	wantNames(t, s, "ab")
	for _, name := range []string{"a", "A", "", "..", "a/b", strings.Repeat("x", 5000), "\xff"} {
		_, err := Get(ctx, s, name)
		_, err2 := Body(ctx, s, name)
		for _, err := range []error{err, err2, Remove(ctx, s, name)} {
			if !errors.Is(err, kv.ErrNotFound) {
				t.Errorf("%.20q: %v, want ErrNotFound", name, err)
			}
		}
	}
	if err := Remove(ctx, s, "ab"); err != nil {
		t.Fatal(err)
	}
	if dump := brittle.Dump(t, s); dump != "" {
		t.Errorf("left in the store:\n%s", dump)
	}
}

func TestBodyThatIsNotOfItsSummary(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	add1(t, s, file("name: a", "allowed-tools: Read"), "a/SKILL.md")
	if err := s.Put(ctx, kv.Skill, bodyKey(s, "a"), []byte(file("name: a"))); err != nil {
		t.Fatal(err)
	}
	if body, err := Body(ctx, s, "a"); !errors.Is(err, kv.ErrCorrupt) || body != nil {
		t.Errorf("Body = %q, %v; want ErrCorrupt", body, err)
	}
	add1(t, s, file("name: a", "allowed-tools: Read"), "a/SKILL.md") // mends it
	if _, err := Body(ctx, s, "a"); err != nil {
		t.Error(err)
	}
}

// TestListReadsNoBody takes the bodies away.
func TestListReadsNoBody(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	add1(t, s, file("name: b"), "b/SKILL.md")
	add1(t, s, file("name: a"), "a/SKILL.md")
	for _, name := range []string{"a", "b"} {
		if _, err := s.Delete(ctx, kv.Skill, bodyKey(s, name)); err != nil {
			t.Fatal(err)
		}
	}
	wantNames(t, s, "a", "b")
	if _, err := Body(ctx, s, "a"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Body: %v, want ErrNotFound", err)
	}
}

func wantHits(t *testing.T, s kv.KVStorage, query string, limit int, want ...string) {
	t.Helper()
	hits, err := Search(context.Background(), s, query, limit)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range hits {
		got = append(got, h.Summary.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("Search(%q) = %q, want %q", query, got, want)
	}
}

func TestSearch(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	add1(t, s, file("name: alpha", "description: beta", "keywords: [spreadsheet]"), "alpha/SKILL.md")
	add1(t, s, file("name: beta", "description: alpha", "when-to-use: on demand")+"spreadsheet", "beta/SKILL.md")
	wantHits(t, s, "beta", 0, "beta", "alpha") // of one length, and alpha is first among equals
	wantHits(t, s, "beta", 1, "beta")
	wantHits(t, s, "spreadsheets", 0, "alpha")
	wantHits(t, s, "demand", 0, "beta")
	wantHits(t, s, "", 0)
	add1(t, s, file("name: beta", "description: gamma"), "beta/SKILL.md")
	wantHits(t, s, "demand", 0)
	if _, err := s.Delete(ctx, kv.Skill, metaKey(s, "alpha")); err != nil {
		t.Fatal(err)
	}
	wantHits(t, s, "spreadsheet beta", 0, "beta") // C22: one that is gone is no hit
	if faults, err := Check(ctx, s); err != nil || !strings.Contains(fmt.Sprint(faults), `"alpha" is indexed, and there is none`) {
		t.Errorf("Check = %q, %v", faults, err)
	}
	if err := Reindex(ctx, s); err != nil {
		t.Fatal(err)
	}
	wantIndexWhole(t, s)
}

func wantIndexWhole(t *testing.T, s kv.KVStorage) {
	t.Helper()
	if faults, err := Check(context.Background(), s); err != nil || len(faults) > 0 {
		t.Errorf("Check = %q, %v", faults, err)
	}
}

func TestBodyIsTheCallersOwn(t *testing.T) {
	s, body := memkv.New(), []byte(file("name: a"))
	sum, err := Add(context.Background(), s, body, "a/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	want := string(body)
	clear(body)
	got, err := Body(context.Background(), s, "a")
	if err != nil || string(got) != want || bytes.Equal(got, body) {
		t.Errorf("Body = %q, %v", got, err)
	}
	clear(got)
	wantSkill(t, s, sum, want)
}

// sound wants every summary that is listed to have its body or to say that it has
// not, and Reindex to make every skill found.
func sound(t *testing.T, s kv.KVStorage) {
	t.Helper()
	ctx := context.Background()
	list, err := List(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range list {
		body, err := Body(ctx, s, sum.Name)
		if errors.Is(err, kv.ErrCorrupt) {
			continue // a new body under the old summary: to be added again
		}
		if err != nil || digest(body) != sum.SHA256 {
			t.Errorf("%s: %v", sum.Name, err)
		}
	}
	if _, err := Search(ctx, s, "one two three", 0); err != nil {
		t.Error(err)
	}
	if err := Reindex(ctx, s); err != nil {
		t.Fatal(err)
	}
	wantIndexWhole(t, s)
}

// TestFailureAtEachCall fails every call of every operation.
func TestFailureAtEachCall(t *testing.T) {
	ctx := context.Background()
	one := []byte(file("name: one", "description: one text"))
	setup := func(s kv.KVStorage) error {
		_, err := Add(ctx, s, one, "one/SKILL.md")
		return err
	}
	for name, op := range map[string]func(s kv.KVStorage) error{
		"add": func(s kv.KVStorage) error {
			_, err := Add(ctx, s, []byte(file("name: two", "description: two texts")), "two/SKILL.md")
			return err
		},
		"add again": func(s kv.KVStorage) error {
			_, err := Add(ctx, s, []byte(file("name: one", "description: three")), "one/SKILL.md")
			return err
		},
		"remove":  func(s kv.KVStorage) error { return Remove(ctx, s, "one") },
		"reindex": func(s kv.KVStorage) error { return Reindex(ctx, s) },
		"get":     func(s kv.KVStorage) error { _, err := Get(ctx, s, "one"); return err },
		"body":    func(s kv.KVStorage) error { _, err := Body(ctx, s, "one"); return err },
		"list":    func(s kv.KVStorage) error { _, err := List(ctx, s); return err },
		"search":  func(s kv.KVStorage) error { _, err := Search(ctx, s, "text", 0); return err },
	} {
		t.Run(name, func(t *testing.T) { brittle.Each(t, setup, op, sound) })
	}
}
