package importer

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/crabstore/crabstore/apps/agent/internal/home"
	"github.com/crabstore/crabstore/apps/agent/internal/home/storetest"
	"github.com/crabstore/crabstore/apps/agent/internal/transcripts"
	"github.com/crabstore/crabstore/kv"
)

// BenchmarkImport imports 100,000 messages into a new store of the default engine,
// closing included, and imports them again, which finds nothing.
//
//	go test -run '^$' -bench Import -benchtime 1x ./apps/agent/internal/importer
func BenchmarkImport(b *testing.B) {
	benchmarkImport(b, home.Crabdb, 100_000)
	b.ReportMetric(float64(usage().Maxrss)/1024, "peak-MiB")
}

// BenchmarkImportInto imports 10,000 messages into every backend of the build.
//
//	go test -tags pebble,json,postgres,etcd -run '^$' -bench ImportInto -benchtime 1x ./apps/agent/internal/importer
func BenchmarkImportInto(b *testing.B) {
	for _, backend := range home.BuiltIn() {
		b.Run(backend, func(b *testing.B) { benchmarkImport(b, backend, 10_000) })
	}
}

func benchmarkImport(b *testing.B, backend string, messages int) {
	dir := b.TempDir()
	newCorpus(1).write(b, dir, messages, 500)
	found := walk(b, dir)
	b.ResetTimer()
	for range b.N {
		s := storetest.Open(b, backend)
		before := cpu()
		report, err := Run(context.Background(), s, found, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric((cpu() - before).Seconds(), "cpu-s")
		var st kv.Stats
		if t, ok := kv.As[kv.Statser](s); ok {
			if st, err = t.Stats(context.Background()); err != nil {
				b.Fatal(err)
			}
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
