package home

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/crabstore/crabstore/apps/agent/internal/files"
)

// configName is the file in the home directory that a person writes.
const configName = "config.toml"

// Config is what config.toml says. All of it may be missing.
type Config struct {
	Store string `toml:"store"` // BACKEND:LOCATION, a path from the home directory on; empty: what is there
}

// ReadConfig reads the configuration of a home. Without a file it is empty. What the
// file says that no program of this version knows is refused: a setting that was
// mistyped must not pass for none.
func ReadConfig(dir string) (Config, error) {
	path := filepath.Join(dir, configName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, err
	}
	return parseConfig(path, data)
}

func parseConfig(path string, data []byte) (c Config, err error) {
	err = toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&c)
	var unknown *toml.StrictMissingError
	var syntax *toml.DecodeError
	switch {
	case err == nil:
		return c, nil
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		first := unknown.Errors[0]
		line, _ := first.Position()
		return c, fmt.Errorf("%w: %s, line %d: nothing is called %s; known is store", ErrConfig, path, line, strings.Join(first.Key(), "."))
	case errors.As(err, &syntax):
		line, column := syntax.Position()
		return c, fmt.Errorf("%w: %s, line %d, column %d: %w", ErrConfig, path, line, column, err)
	}
	return c, fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
}

// SetStore makes the configuration of a home name a store, and leaves everything else
// in the file as the person wrote it.
func SetStore(dir, spec string) error {
	path := filepath.Join(dir, configName)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := parseConfig(path, data); err != nil {
		return err
	}
	value, err := toml.Marshal(Config{Store: spec})
	if err != nil {
		return err
	}
	data = setLine(data, value)
	if c, err := parseConfig(path, data); err != nil || c.Store != spec {
		return errors.Join(fmt.Errorf("%w: %s cannot be changed by program; write into it: %s", ErrConfig, path, value), err)
	}
	return files.Write(path, false, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// setLine puts a line that sets the store in the place of the one that does, or else
// before all others, since what follows a table's header belongs to the table.
func setLine(data, line []byte) []byte {
	from, to := 0, 0
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.KeyValue {
			break // the first table: the end of what stands at the top
		}
		key := e.Key()
		if key.Next() && string(key.Node().Data) == "store" && key.IsLast() {
			start := int(key.Node().Raw.Offset)
			from = bytes.LastIndexByte(data[:start], '\n') + 1
			if n := bytes.IndexByte(data[start:], '\n'); n >= 0 {
				to = start + n + 1
			} else {
				to = len(data)
			}
			break
		}
	}
	return append(append(append([]byte{}, data[:from]...), line...), data[to:]...)
}
