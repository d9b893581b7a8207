//go:build !unix

package pgtest

import (
	"errors"
	"os"
	"os/exec"
)

var quit = os.Kill

type owner struct{}

func findOwner() (owner, error) {
	return owner{}, errors.New("pgtest starts servers on Unix alone; name one in CRABSTORE_POSTGRES")
}

func (owner) give(string) error { return nil }

func (owner) runs(*exec.Cmd) {}
