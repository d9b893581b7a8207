// Agent keeps and finds what agents said, remember and are, in a Crabstore.
package main

import (
	"os"
	"time"

	"github.com/crabstore/crabstore/apps/agent/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], cli.System{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now,
	}))
}
