package cli

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// input returns stdin as a stream that ends with an error when ctx does: a read of a
// terminal cannot be called off, and whoever interrupts the program need not do so
// twice.
func (a *app) input(ctx context.Context) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, a.sys.In)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	return r
}

// readInput reads a file, or stdin when its name is -, of at most so many bytes.
func (a *app) readInput(ctx context.Context, name string, most int64) ([]byte, error) {
	var in io.Reader
	if name == "-" {
		in = a.input(ctx)
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(data)) > most {
		err = fail("%s has more than %d bytes", name, most)
	}
	return data, err
}
