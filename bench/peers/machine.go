package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// machine is what a run ran on, and of which versions.
type machine struct {
	processor  string
	cores      int
	kernel     string
	fileSystem string // its number, where it has no name here
	goVersion  string
	commit     string // of this repository, with a plus when files differ from it
	versions   map[string]string
}

func thisMachine(ctx context.Context, dir string) (machine, error) {
	m := machine{cores: runtime.NumCPU(), goVersion: runtime.Version(), versions: map[string]string{}}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return m, err
	}
	m.kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return m, err
	}
	m.fileSystem = fileSystemName(int64(fs.Type))
	m.processor = processorName()
	m.commit = commitHere(ctx)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			m.versions[dep.Path] = dep.Version
		}
	}
	return m, nil
}

func fileSystemName(number int64) string {
	names := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
		unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs",
	}
	if name, ok := names[number]; ok {
		return name
	}
	return fmt.Sprintf("file system %#x", number)
}

func processorName() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// commitHere asks git, since go run puts no commit into what it builds.
func commitHere(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty=+", "--exclude=*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// version returns what an engine's figures are of.
func (m machine) version(e engine) string {
	if e.ours || e.name == crabdbEngine.name {
		return m.commit
	}
	return m.versions[e.module]
}
