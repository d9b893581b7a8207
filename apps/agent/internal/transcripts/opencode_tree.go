package transcripts

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A storage tree keeps every object in a JSON file of its own:
//
//	session/{project}/{session}.json  message/{session}/{message}.json  part/{message}/{part}.json
//
// and before 0.6, for each project,
//
//	session/info/{session}.json  session/message/{session}/…  session/part/{session}/{message}/…
//
// Objects are rewritten in place, so a session is read whole when any of its files has changed.

// openCodeTree is the files of one session.
type openCodeTree struct {
	reading  *reading
	id       string
	messages []string // files, in order
	parts    map[string][]string
	loose    []string // parts in no message's folder
	print    []string // name, size and time of every file
}

func (r *reading) readTree() error {
	raw, err := readSmall(r.src.Path, r.opts.MaxLine)
	if err != nil {
		return err
	}
	var o openCodeSession
	if err := decode(raw, &o); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !isFileName(string(o.ID)) {
		return fmt.Errorf("no session id in it: %w", ErrChanged)
	}
	t := &openCodeTree{reading: r, id: string(o.ID), parts: map[string][]string{}}
	if err := t.find(); err != nil {
		return err
	}
	now := Cursor{Size: int64(len(t.print)), Head: digest(t.print...)}
	if now.Size == r.from.Size && now.Head == r.from.Head {
		return nil
	}
	r.asm.amending = r.from.Size > 0
	r.asm.records, r.asm.known = 0, 0
	r.mark = func(last bool) (Cursor, error) {
		now.Records, now.Known = r.asm.records, r.asm.known
		if !last {
			return r.from, nil
		}
		return now, nil
	}
	return t.read(&o)
}

// find lists the files of the session. Where the folders stand is tried for both layouts.
func (t *openCodeTree) find() error {
	if err := t.note(t.reading.src.Path); err != nil {
		return err
	}
	above := filepath.Dir(filepath.Dir(t.reading.src.Path)) // storage/session, since parts have projects
	for _, root := range []string{filepath.Dir(above), above} {
		files, err := t.list(filepath.Join(root, "message", t.id))
		if err != nil {
			return err
		}
		if len(files) == 0 {
			continue
		}
		t.messages = files
		t.loose, err = t.list(filepath.Join(root, "part"))
		return errors.Join(err, t.findParts(root))
	}
	return nil
}

// findParts lists the parts of every message.
func (t *openCodeTree) findParts(root string) error {
	for _, path := range t.messages {
		raw, err := readSmall(path, t.reading.opts.MaxLine)
		if err != nil {
			continue // told when it is read
		}
		var m openCodeMessage
		if decode(raw, &m) != nil || !isFileName(string(m.ID)) {
			continue
		}
		for _, dir := range []string{filepath.Join(root, "part", string(m.ID)), filepath.Join(root, "part", t.id, string(m.ID))} {
			files, err := t.list(dir)
			if err != nil {
				return err
			}
			t.parts[string(m.ID)] = append(t.parts[string(m.ID)], files...)
		}
	}
	return nil
}

// list gives the JSON files of a folder, by name, which is their order. There may be no folder.
func (t *openCodeTree) list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() && filepath.Ext(e.Name()) == ".json" {
			files = append(files, filepath.Join(dir, e.Name()))
			if err := t.note(files[len(files)-1]); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// note takes a file into the print that tells whether anything changed.
func (t *openCodeTree) note(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	t.print = append(t.print, path, strconv.FormatInt(info.Size(), 10), strconv.FormatInt(info.ModTime().UnixNano(), 10))
	return nil
}

// read yields the session and its messages, in the order of their times.
func (t *openCodeTree) read(o *openCodeSession) error {
	r := t.reading
	s := o.open(r.asm)
	loose := t.looseParts()
	var messages []*openCodeMessage
	for _, path := range t.messages {
		m := &openCodeMessage{}
		if !t.object(path, m) {
			continue
		}
		for _, p := range t.parts[string(m.ID)] {
			var part openCodePart
			if t.object(p, &part) {
				m.Parts = append(m.Parts, part)
			}
		}
		m.Parts = append(m.Parts, loose[m.ID]...)
		messages = append(messages, m)
	}
	slices.SortStableFunc(messages, func(x, y *openCodeMessage) int {
		return cmp.Or(x.Time.V.Created.Compare(y.Time.V.Created.Time), cmp.Compare(x.ID, y.ID))
	})
	for _, m := range messages {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := m.take(r, s); err != nil {
			return err
		}
	}
	return r.emit(true)
}

// looseParts are the parts that stand in no message's folder, by message.
func (t *openCodeTree) looseParts() map[text][]openCodePart {
	parts := map[text][]openCodePart{}
	for _, path := range t.loose {
		var p openCodePart
		if t.object(path, &p) {
			parts[p.MessageID] = append(parts[p.MessageID], p)
		}
	}
	return parts
}

// object reads one file. A damaged one is skipped, for itself.
func (t *openCodeTree) object(path string, into any) bool {
	raw, err := readSmall(path, t.reading.opts.MaxLine)
	if err == nil {
		err = decode(raw, into)
	}
	if err != nil {
		t.reading.asm.batch.Skips = append(t.reading.asm.batch.Skips, Skip{Path: validText(path), Reason: reason(err)})
		return false
	}
	return true
}

// readSmall reads a file of at most limit bytes.
func readSmall(path string, limit int) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > int64(limit) {
		return nil, fmt.Errorf("not a file of at most %d bytes", limit)
	}
	return os.ReadFile(path)
}

// isFileName tells whether an id can name a file: what a transcript says must not lead elsewhere.
func isFileName(id string) bool {
	return id != "" && id != "." && id != ".." && !strings.ContainsAny(id, "/\\\x00") && filepath.IsLocal(id)
}
