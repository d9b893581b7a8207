//go:build unix

package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// quit tells postgres to end at once, as in a crash.
const quit = syscall.SIGQUIT

// owner is as whom a server runs: this process's user, or another when that is root,
// as whom PostgreSQL refuses to run.
type owner struct{ credential *syscall.Credential }

func findOwner() (owner, error) {
	if os.Geteuid() != 0 {
		return owner{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return owner{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
		}
	}
	return owner{}, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody")
}

// give makes a file the owner's.
func (o owner) give(path string) error {
	if o.credential == nil {
		return nil
	}
	return os.Chown(path, int(o.credential.Uid), int(o.credential.Gid))
}

// runs makes a command one of the owner's, in a session of its own.
func (o owner) runs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: o.credential, Setsid: true}
}
