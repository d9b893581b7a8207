package importer

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/crabstore/crabstore/apps/agent/internal/transcripts"
	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv/crabkv"
)

// BenchmarkImport imports 100,000 messages into a new store of the default engine,
// closing included, and imports them again, which finds nothing.
//
//	go test -run '^$' -bench Import -benchtime 1x ./apps/agent/internal/importer
func BenchmarkImport(b *testing.B) {
	dir := b.TempDir()
	newCorpus(1).write(b, dir, 100_000, 500)
	found := walk(b, dir)
	b.ResetTimer()
	for range b.N {
		path := filepath.Join(b.TempDir(), "store.crmem")
		s, err := crabkv.Open(path, crabdb.Options{})
		if err != nil {
			b.Fatal(err)
		}
		before := cpu()
		report, err := Run(context.Background(), s, found, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric((cpu() - before).Seconds(), "cpu-s")
		st, err := s.Stats(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		messages := 0
		for _, f := range report.Formats {
			messages += f.Messages.New
		}
		b.ReportMetric(float64(messages)/report.Duration.Seconds(), "msgs/s")
		b.ReportMetric(float64(messages), "msgs")
		b.ReportMetric(float64(st.Bytes)/(1<<20), "store-MiB")
		b.ReportMetric(float64(st.Memory)/(1<<20), "index-MiB")
	}
	b.StopTimer()
	b.ReportMetric(float64(usage().Maxrss)/1024, "peak-MiB")
}

// cpu returns the processor time that this process took, which tells more than the
// clock on a machine that others use.
func cpu() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func usage() (u syscall.Rusage) {
	syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for no one that asks of itself
	return u
}

func walk(t testing.TB, paths ...string) []transcripts.Finding {
	t.Helper()
	var found []transcripts.Finding
	for f := range transcripts.Walk(context.Background(), paths) {
		found = append(found, f)
	}
	return found
}
