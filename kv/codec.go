package kv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// The codec of structured values is msgpack, with fields named as the json tags
// name them. Marshal makes the same bytes of the same value: structs are maps,
// the keys of every map are sorted as bytes, and integers take their shortest
// form.

// Marshal encodes a value for storing. It returns ErrUnstorable, saying where,
// for what would not come back as it is: NaN and infinities, functions, channels,
// complex numbers, and, where a field can hold anything, what is not nil, a
// boolean, a number, a string, a time, a []any or a map[string]any of these.
// (Numbers in such a field come back as int64, uint64 or float64; bytes would
// come back as a string, so they want a field of their own. A time comes back as
// the same instant, in the local zone.)
func Marshal(v any) ([]byte, error) {
	if err := checkStorable(v); err != nil {
		return nil, err
	}
	enc := msgpack.GetEncoder()
	defer msgpack.PutEncoder(enc)
	var buf bytes.Buffer
	enc.Reset(&buf)
	enc.SetCustomStructTag("json")
	enc.UseCompactInts(true)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnstorable, err)
	}
	return canonical(buf.Bytes())
}

// Unmarshal decodes what Marshal made, and JSON, which older stores of the same
// key layout hold: a value that begins with { is JSON. Fields that v has not are
// ignored. Bytes that are neither, or that end early or go on behind the value,
// are ErrCorrupt.
func Unmarshal(data []byte, v any) error {
	if len(data) > 1 && data[0] == '{' { // alone it is the integer 123
		if err := json.Unmarshal(data, v); err != nil {
			return fmt.Errorf("%w: as JSON: %w", ErrCorrupt, err)
		}
		return nil
	}
	if err := checkWhole(data); err != nil {
		return fmt.Errorf("%w: as msgpack: %w", ErrCorrupt, err)
	}
	if err := decode(data, v); err != nil {
		return fmt.Errorf("%w: as msgpack: %w", ErrCorrupt, err)
	}
	return nil
}

// decode runs the decoder, which panics on a nil in place of a time.
func decode(data []byte, v any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder gave up: %v", r)
		}
	}()
	dec := msgpack.GetDecoder()
	defer msgpack.PutDecoder(dec)
	dec.Reset(bytes.NewReader(data))
	dec.SetCustomStructTag("json")
	dec.UseLooseInterfaceDecoding(true)
	return dec.Decode(v)
}

// Load gets and decodes the value of a key. The error names the key.
func Load[T any](ctx context.Context, s KVStorage, col Column, key []byte) (T, error) {
	var v T
	data, err := s.Get(ctx, col, key)
	if err == nil {
		err = Unmarshal(data, &v)
	}
	if err != nil {
		return v, fmt.Errorf("%s %q: %w", col, key, err)
	}
	return v, nil
}

// Store encodes and puts a value. Nothing is written when it cannot be encoded.
// The error names the key.
func Store(ctx context.Context, s KVStorage, col Column, key []byte, v any) error {
	data, err := Marshal(v)
	if err == nil {
		err = s.Put(ctx, col, key, data)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", col, key, err)
	}
	return nil
}

// Has tells whether a key is present.
func Has(ctx context.Context, s KVStorage, col Column, key []byte) (bool, error) {
	_, err := s.Get(ctx, col, key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
