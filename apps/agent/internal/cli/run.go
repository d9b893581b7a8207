package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/crabstore/crabstore/apps/agent/internal/console"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitPartial     = 3
	exitInterrupted = 130 // 128 and the number of SIGINT
	exitPipe        = 141 // 128 and the number of SIGPIPE: whoever was reading has enough
)

// System is what a command line has of the system that it runs on.
type System struct {
	In, Out, Err *os.File
	Getenv       func(string) string
	Now          func() time.Time
}

// Run runs a command line, without the program's name, and returns the exit code.
func Run(args []string, sys System) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once

	a := &app{
		sys: sys,
		out: console.New(sys.Out, sys.Getenv), err: console.New(sys.Err, sys.Getenv),
	}
	root := a.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.began {
		err = usageOf(cmd, err)
	}
	err = errors.Join(err, a.out.Flush())
	code := exitCode(err)
	if code != exitPipe {
		a.tell(ctx, err)
	}
	a.err.Flush()
	return code
}

// exit is an error with an exit code of its own.
type exit struct {
	code int
	err  error // nil when all was said already
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// exitCode returns the code for the error that a command ended with.
func exitCode(err error) int {
	var e *exit
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, syscall.EPIPE):
		return exitPipe
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}
