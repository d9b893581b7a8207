package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/apps/agent/internal/files"
	"github.com/crabstore/crabstore/harnesses"
	"github.com/crabstore/crabstore/kv"
)

func (a *app) harnessesCommand() *cobra.Command {
	return listing("harnesses", "Add, list, get and remove the images in which agents run",
		a.harnessesList(), a.harnessesAdd(), a.harnessesShow(), a.harnessesGet(), a.harnessesTag(), a.harnessesRemove())
}

func (a *app) harnessesAdd() *cobra.Command {
	return &cobra.Command{
		Use: "add NAME FILE", Short: "Store an image under a name", Args: takes("NAME", "FILE"),
		Long: "Store an image under a name; the FILE - is stdin. If the name led to another image,\nthat one goes unless it has another name.",
		RunE: a.run(func(ctx context.Context, args []string) error {
			image, err := a.readInput(ctx, args[1], kv.MaxValueSize)
			if err != nil {
				return err
			}
			return a.writing(ctx, func(s kv.KVStorage) error {
				t, err := harnesses.Put(ctx, s, args[0], image)
				if err != nil {
					return err
				}
				return a.tagged(t)
			})
		}),
	}
}

func (a *app) tagged(t harnesses.Tagged) error {
	if a.json {
		return a.writeJSON(t)
	}
	a.out.Printf("%s is %s, %s.\n", console.Line(t.Name), t.Digest, console.Size(t.Size))
	return nil
}

func (a *app) harnessesTag() *cobra.Command {
	return &cobra.Command{
		Use: "tag NAME REF", Short: "Give the image of a name or digest another name", Args: takes("NAME", "REF"),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.changing(ctx, func(s kv.KVStorage) error {
				t, err := harnesses.Tag(ctx, s, args[0], args[1])
				if err != nil {
					return noHarness(err, args[1])
				}
				return a.tagged(t)
			})
		}),
	}
}

func noHarness(err error, ref string) error {
	if errors.Is(err, kv.ErrNotFound) {
		return fail("no harness is called %q, and none has that digest", ref)
	}
	return err
}

func (a *app) harnessesList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List names, and what they lead to", Args: takes(),
		RunE: a.run(func(ctx context.Context, _ []string) error {
			return a.reading(ctx, func(s kv.KVStorage) error {
				list, err := harnesses.List(ctx, s)
				if err != nil {
					return err
				}
				return a.harnessTable(list)
			})
		}),
	}
}

func (a *app) harnessTable(list []harnesses.Tagged) error {
	if a.json {
		return writeLines(a, slices.Values(list))
	}
	if len(list) == 0 {
		a.err.Println(`No harnesses; "agent harnesses add NAME FILE" adds one.`)
		return nil
	}
	t := &console.Table{Columns: []console.Column{{Title: "NAME"}, {Title: "SIZE", Right: true}, {Title: "DIGEST", Flex: true}}}
	for _, h := range list {
		t.Add(console.Line(h.Name), console.Size(h.Size), h.Digest)
	}
	a.out.Table(t)
	return nil
}

func (a *app) harnessesShow() *cobra.Command {
	return &cobra.Command{
		Use: "show REF", Short: "Say what a name or digest leads to, having checked its bytes", Args: takes("REF"),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.reading(ctx, func(s kv.KVStorage) error {
				image, digest, err := harnesses.Get(ctx, s, args[0])
				if err != nil {
					return noHarness(err, args[0])
				}
				list, err := harnesses.List(ctx, s)
				if err != nil {
					return err
				}
				var names []string
				for _, t := range list {
					if t.Digest == digest {
						names = append(names, t.Name)
					}
				}
				if a.json {
					return a.writeJSON(map[string]any{"digest": digest, "size": len(image), "names": names})
				}
				a.out.Printf("%s%s\n%s%s\n%s%s\n", pad("digest", 8), digest, pad("size", 8), console.Size(int64(len(image))),
					pad("names", 8), console.Line(strings.Join(names, ", ")))
				return nil
			})
		}),
	}
}

func (a *app) harnessesGet() *cobra.Command {
	var file string
	var force bool
	c := &cobra.Command{Use: "get REF", Short: "Write an image to a file, or to stdout", Args: takes("REF")}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		if file == "" && isTerminal(a.sys.Out) {
			return usage("an image is nothing for a terminal; say -o FILE, or -o - to write it there")
		}
		return a.reading(ctx, func(s kv.KVStorage) error {
			image, _, err := harnesses.Get(ctx, s, args[0])
			if err != nil {
				return noHarness(err, args[0])
			}
			if file == "" || file == "-" {
				_, err = a.out.Write(image)
				return err
			}
			return files.Write(file, !force, func(w io.Writer) error {
				_, err := w.Write(image)
				return err
			})
		})
	})
	c.Flags().StringVarP(&file, "output", "o", "", "file to write")
	c.Flags().BoolVar(&force, "force", false, "write over a file that exists")
	return c
}

func (a *app) harnessesRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME|DIGEST", Short: "Remove a name, or an image with all its names", Args: takes("NAME|DIGEST"),
		Long: "Remove a name, and the image with it if it has no other; or, by its digest, an image\nwith all its names.",
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.changing(ctx, func(s kv.KVStorage) error {
				remove := harnesses.Untag
				if strings.HasPrefix(args[0], "sha256:") {
					remove = harnesses.Remove
				}
				if err := remove(ctx, s, args[0]); err != nil {
					return noHarness(err, args[0])
				}
				return a.done("Removed "+args[0]+".", "removed", args[0])
			})
		}),
	}
}
