package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// memory is what of this process is resident, in bytes.
type memory struct {
	anonymous int64 // heaps and stacks, Go's and C's
	mapped    int64 // pages of files, which the system may drop; the program's own among them
}

// memoryNow gives free heap back to the system first, so that what is counted is in
// use and not the collector's room.
func memoryNow() (memory, error) {
	debug.FreeOSMemory()
	const path = "/proc/self/smaps_rollup"
	f, err := os.Open(path)
	if err != nil {
		return memory{}, err
	}
	defer f.Close()
	kib := map[string]int64{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if field := strings.Fields(lines.Text()); len(field) == 3 && field[2] == "kB" {
			kib[strings.TrimSuffix(field[0], ":")], _ = strconv.ParseInt(field[1], 10, 64)
		}
	}
	if kib["Rss"] == 0 {
		return memory{}, fmt.Errorf("%s: no Rss", path)
	}
	return memory{kib["Anonymous"] << 10, (kib["Rss"] - kib["Anonymous"]) << 10}, lines.Err()
}

// diskUse returns how many bytes the files under a directory take, without holes
// without what is reserved past their ends, and without texts that an index only
// reads.
func diskUse(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), textsFile) {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return errors.ErrUnsupported
		}
		total += min(stat.Blocks*512, stat.Size)
		return nil
	})
	return total, err
}

func inMiB(bytes int64) float64 { return float64(bytes) / (1 << 20) }
