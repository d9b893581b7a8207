package cli

import (
	"context"
	"fmt"

	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/crabdb"
)

// rawItem is a crabdb.Item as programs get it.
type rawItem struct {
	Offset int64           `json:"offset"`
	Length int64           `json:"length"`
	Kind   crabdb.Kind     `json:"kind"`
	Sum    crabdb.SumState `json:"sum"`
	Column *byte           `json:"column,omitempty"`
	Key    *string         `json:"key,omitempty"` // in hexadecimal
	Value  int64           `json:"value_length,omitempty"`
	Batch  int64           `json:"batch,omitempty"`
	Note   string          `json:"note,omitempty"`
}

// dumpRecords writes what stands in a file, record by record.
func (a *app) dumpRecords(ctx context.Context, path string) error {
	damage := 0
	for i, err := range crabdb.Records(ctx, path) {
		if err != nil {
			return err
		}
		if i.Kind == crabdb.KindDamage {
			damage++
		}
		if err := a.dumpItem(i); err != nil {
			return err
		}
	}
	if damage > 0 {
		return fmt.Errorf("%s is damaged in %s", path, console.Plural(damage, "place"))
	}
	return nil
}

func (a *app) dumpItem(i crabdb.Item) error {
	if a.json {
		raw := rawItem{Offset: i.Offset, Length: i.Length, Kind: i.Kind, Sum: i.Sum, Value: i.Value, Batch: i.Batch, Note: i.Note}
		if i.Key != nil {
			key := fmt.Sprintf("%x", i.Key)
			raw.Column, raw.Key = &i.Column, &key
		}
		return a.writeJSON(raw)
	}
	kind := string(i.Kind)
	if i.Batch > 0 {
		kind = "  " + kind
	}
	line := fmt.Sprintf("%12d %10d  %-10s sum %-4s", i.Offset, i.Length, kind, i.Sum)
	switch {
	case i.Key != nil:
		line += fmt.Sprintf("  column %d, value %d, key %q", i.Column, i.Value, i.Key)
	case i.Kind == crabdb.KindBatch:
		line += fmt.Sprintf("  %d bytes of records", i.Value)
	case i.Note != "":
		line += "  " + i.Note
	}
	a.out.Println(line)
	return nil
}
