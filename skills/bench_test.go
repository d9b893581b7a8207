package skills

import (
	"context"
	"fmt"
	"testing"

	"github.com/crabstore/crabstore/kv/memkv"
)

var typical = []byte(file(
	"name: pdf-tools",
	"description: Extracts text and tables from PDF files, fills in forms and merges documents. Use when: the user has a PDF.",
	"license: Apache-2.0", "allowed-tools: Read Grep Bash(pdftotext *)", "metadata:", "  author: someone", "  version: 1.0",
))

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(typical)))
	for b.Loop() {
		if _, err := Parse(typical, "pdf-tools/SKILL.md"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAdd adds to a store of a thousand skills, with all of whose names the
// new one is compared.
func BenchmarkAdd(b *testing.B) {
	ctx, s := context.Background(), memkv.New()
	for i := range 1000 {
		name := fmt.Sprintf("skill-%d", i)
		if _, err := Add(ctx, s, []byte(file("name: "+name, "description: d")), name+"/SKILL.md"); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := Add(ctx, s, typical, "pdf-tools/SKILL.md"); err != nil {
			b.Fatal(err)
		}
	}
}
