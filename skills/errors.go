package skills

import (
	"errors"
	"fmt"
)

// What is absent is kv.ErrNotFound.
var (
	// ErrExists is returned when a skill from elsewhere has the name, or one that
	// differs from it by case alone. Nothing was written.
	ErrExists = errors.New("skills: the name is taken")

	// ErrInvalid is returned for a file that is no skill. It is wrapped by a Fault,
	// which says where and why.
	ErrInvalid = errors.New("skills: not a skill")
)

// Fault is why a file cannot be read as a skill, or why one is not taken.
type Fault struct {
	Source string // the file, as the caller named it
	Line   int    // from 1, or 0 when the fault is in no line
	Reason string
	Err    error // ErrInvalid, ErrExists, or what the system or the store said
}

// Error returns source:line: reason, in the form that editors jump to.
func (f *Fault) Error() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.Source, f.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", f.Source, f.Line, f.Reason)
}

// Unwrap returns what kind of fault it is.
func (f *Fault) Unwrap() error { return f.Err }

// faultAt is a Fault of a line, whose source the caller will fill in.
func faultAt(line int, format string, args ...any) *Fault {
	return &Fault{Line: line, Reason: fmt.Sprintf(format, args...), Err: ErrInvalid}
}
