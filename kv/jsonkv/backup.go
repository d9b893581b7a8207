package jsonkv

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/frozen"
)

const (
	manifestName = "backup.json"
	backupFormat = formatName + "-backup"
)

// manifest comes first in a backup, and tells what else has to be there.
type manifest struct {
	Format    string            `json:"format"`
	Version   int               `json:"version"`
	Documents map[string]string `json:"documents"` // name to SHA-256
}

// Backup writes a tar file with the documents of the store as they are on the disk
// at one moment, a manifest in front. Documents that somebody has broken meanwhile
// are kv.ErrCorrupt.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	texts, err := s.texts(ctx)
	if err != nil {
		return err
	}
	m := manifest{backupFormat, formatVersion, map[string]string{}}
	for name, text := range texts {
		sum := sha256.Sum256(text)
		m.Documents[name] = hex.EncodeToString(sum[:])
	}
	head, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	out, now := tar.NewWriter(w), time.Now()
	if err := addFile(out, manifestName, append(head, '\n'), now); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if err := s.gate.Check(ctx); err != nil {
			return err
		}
		if err := addFile(out, name, texts[name], now); err != nil {
			return err
		}
	}
	return out.Close()
}

func addFile(out *tar.Writer, name string, data []byte, at time.Time) error {
	err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), ModTime: at})
	if err == nil {
		_, err = out.Write(data)
	}
	return err
}

// texts reads the documents; writers of this process wait until it has.
func (s *Store) texts(ctx context.Context) (map[string][]byte, error) {
	leave, err := s.gate.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	s.writing.Lock()
	texts, _, _, err := readAll(s.writer.disk)
	s.writing.Unlock()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.dir, err)
	}
	_, err = parseAll(s.dir, texts)
	return texts, err
}

// Restore makes a store in dir of what Backup wrote. It is there whole when Restore
// returns nil; otherwise there is none, or an empty one, into which to restore again
// is right. A store that holds something is refused with fs.ErrExist, what is no whole
// backup with ErrBadBackup, and one of a newer version with ErrVersion.
func Restore(ctx context.Context, dir string, r io.Reader) (err error) {
	all, err := readBackup(ctx, r)
	if err != nil {
		return err
	}
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.restore(ctx, &all)
}

// restore fills an empty store.
func (s *Store) restore(ctx context.Context, all *state) error {
	return s.write(ctx, func(now *frozen.Snapshot) ([]kv.Change, error) {
		if n := now.Entries.Len(); n > 0 {
			return nil, fmt.Errorf("jsonkv: %s holds a store of %d keys; name another directory: %w", s.dir, n, fs.ErrExist)
		}
		var changes []kv.Change
		for at, value := range all.entries.Ascend("") {
			changes = append(changes, kv.Change{Column: kv.Column(at[0]), Key: []byte(at[1:]), Value: value})
		}
		return changes, nil
	})
}

// readBackup reads a whole backup and checks it. Nothing in it is a path: a name is
// that of a document, which its keys have to confirm, or refused.
func readBackup(ctx context.Context, r io.Reader) (state, error) {
	in := tar.NewReader(r)
	name, head, err := nextFile(in)
	if err != nil {
		return state{}, badBackup("%w", err)
	}
	var m manifest
	if err := json.Unmarshal(head, &m); name != manifestName || err != nil || m.Format != backupFormat || m.Version < 1 {
		return state{}, badBackup("it does not begin with a %s whose format is %s", manifestName, backupFormat)
	}
	if m.Version > formatVersion {
		return state{}, fmt.Errorf("%w: the backup is of version %d, this program knows versions up to %d", ErrVersion, m.Version, formatVersion)
	}
	texts := map[string][]byte{}
	for {
		if err := ctx.Err(); err != nil {
			return state{}, err
		}
		name, text, err := nextFile(in)
		if err == io.EOF {
			break
		} else if err != nil {
			return state{}, badBackup("%w", err)
		}
		sum := sha256.Sum256(text)
		switch _, twice := texts[name]; {
		case !isDocument(name) || twice:
			return state{}, badBackup("%.200q is no document, or there twice", name)
		case m.Documents[name] != hex.EncodeToString(sum[:]):
			return state{}, badBackup("%s is not the one that was backed up", name)
		}
		texts[name] = text
	}
	if len(texts) != len(m.Documents) || texts[storeDocument] == nil {
		return state{}, badBackup("it has %d of %d documents", len(texts), len(m.Documents))
	}
	all, err := parseAll("", texts)
	if err != nil {
		return state{}, badBackup("%w", err)
	}
	return all, nil
}

func nextFile(in *tar.Reader) (name string, data []byte, err error) {
	h, err := in.Next()
	if err != nil {
		return "", nil, err
	}
	if h.Typeflag != tar.TypeReg {
		return "", nil, fmt.Errorf("%.200q is no regular file", h.Name)
	}
	var b bytes.Buffer
	_, err = b.ReadFrom(in)
	return h.Name, b.Bytes(), err
}

func badBackup(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrBadBackup, fmt.Errorf(format, args...))
}
