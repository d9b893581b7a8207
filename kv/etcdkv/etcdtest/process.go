package etcdtest

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

// process is a running server.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// start runs a program with its output appended to a file.
func start(path, log string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = out, out, diesWithParent()
	if err := launch(cmd.Start); err != nil {
		return nil, err
	}
	p := &process{cmd, make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // it is killed, or ends in an error that its log tells
	}()
	return p, nil
}

// kill ends the process as kill -9 does and waits until it is gone.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	<-p.done
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// launch runs fn on a thread that lives as long as this process: what dies with its
// parent dies, on Linux, with the thread that started it.
func launch(fn func() error) error {
	launcher()
	err := make(chan error)
	launches <- func() { err <- fn() }
	return <-err
}

var launches = make(chan func())

var launcher = sync.OnceFunc(func() {
	go func() {
		runtime.LockOSThread()
		for fn := range launches {
			fn()
		}
	}()
})
