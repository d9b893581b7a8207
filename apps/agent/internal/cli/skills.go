package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/skills"
	"github.com/crabstore/crabstore/textsearch"
)

func (a *app) skillsCommand() *cobra.Command {
	return listing("skills", "Add, list, find, show, check and remove skills",
		a.skillsList(), a.skillsAdd(), a.skillsSearch(), a.skillsShow(), a.skillsCheck(), a.skillsRemove())
}

func (a *app) skillsAdd() *cobra.Command {
	var replace bool
	c := &cobra.Command{Use: "add DIR|FILE…", Short: "Add the skills in folders, or single SKILL.md files", Args: takes("DIR|FILE…")}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		paths, err := absolute(args)
		if err != nil {
			return err
		}
		return a.writing(ctx, func(s kv.KVStorage) error {
			add := skills.Add
			if replace {
				add = skills.Replace
			}
			return a.eachSkill(ctx, paths, "Added", func(body []byte, source string) (skills.Summary, error) {
				return add(ctx, s, body, source)
			})
		})
	})
	c.Flags().BoolVar(&replace, "replace", false, "take the place of skills of these names from elsewhere")
	return c
}

func (a *app) skillsCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check DIR|FILE…", Short: "Say what is wrong with skills, and store nothing", Args: takes("DIR|FILE…"),
		RunE: a.run(func(ctx context.Context, args []string) error {
			paths, err := absolute(args)
			if err != nil {
				return err
			}
			warned := false
			err = a.eachSkill(ctx, paths, "Checked", func(body []byte, source string) (skills.Summary, error) {
				sum, err := skills.Parse(body, source)
				warned = warned || len(sum.Warnings) > 0
				return sum, err
			})
			var e *exit
			if err == nil && warned || errors.As(err, &e) && e.code == exitPartial { // all of it was said
				return &exit{exitFailed, nil}
			}
			return err
		}),
	}
}

// take stores or checks one SKILL.md.
type take func(body []byte, source string) (skills.Summary, error)

// eachSkill takes every skill at some paths, and says what became of each.
func (a *app) eachSkill(ctx context.Context, paths []string, did string, take take) error {
	var report skills.Report
	for _, path := range paths {
		found, err := takeSkills(ctx, path, take)
		report.Skills = append(report.Skills, found.Skills...)
		report.Faults = append(report.Faults, found.Faults...)
		if err != nil {
			return errors.Join(err, a.reportSkills(report, did))
		}
	}
	return a.reportSkills(report, did)
}

// takeSkills takes the skills in a folder, or the one that a file is.
func takeSkills(ctx context.Context, path string, take take) (skills.Report, error) {
	info, err := os.Stat(path)
	if err != nil {
		return skills.Report{}, err
	}
	if info.IsDir() {
		return skills.WalkDir(ctx, path, take)
	}
	f, err := os.Open(path)
	if err != nil {
		return skills.Report{}, err
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, skills.MaxSize+1)) // Parse refuses what is larger
	if err != nil {
		return skills.Report{}, err
	}
	sum, err := take(body, path)
	var fault *skills.Fault
	switch {
	case errors.As(err, &fault):
		return skills.Report{Faults: []*skills.Fault{fault}}, nil
	case err != nil:
		return skills.Report{}, err
	}
	return skills.Report{Skills: []skills.Summary{sum}}, nil
}

// reportSkills says what became of skills: 3 is the exit code if one was refused, 1
// if all were.
func (a *app) reportSkills(r skills.Report, did string) error {
	for i := range r.Skills {
		sum := &r.Skills[i]
		if a.json {
			if err := a.writeJSON(sum); err != nil {
				return err
			}
		} else {
			a.out.Printf("%s %s\n", did, console.Line(sum.Name))
		}
		for _, w := range sum.Warnings {
			a.err.Printf("%s: %s\n", console.Line(sum.Source), console.Line(w))
		}
	}
	for _, f := range r.Faults {
		a.err.Println(console.Line(f.Error()))
	}
	switch {
	case len(r.Faults) == 0 && len(r.Skills) == 0:
		return fail("no %s there", skills.FileName)
	case len(r.Faults) == 0:
		return nil
	case len(r.Skills) == 0:
		return &exit{exitFailed, nil}
	}
	return &exit{exitPartial, nil}
}

func (a *app) skillsList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List skills", Args: takes(),
		RunE: a.run(func(ctx context.Context, _ []string) error {
			return a.reading(ctx, func(s kv.KVStorage) error { return a.listSkills(ctx, s) })
		}),
	}
}

func (a *app) listSkills(ctx context.Context, s kv.KVStorage) error {
	list, err := skills.List(ctx, s)
	if err != nil {
		return err
	}
	if a.json {
		return writeLines(a, slices.Values(list))
	}
	if len(list) == 0 {
		a.err.Println(`No skills; "agent skills add DIR" adds those in a folder.`)
		return nil
	}
	t := &console.Table{Columns: []console.Column{{Title: "NAME"}, {Title: "DESCRIPTION", Flex: true}, {Title: "SIZE", Right: true}}}
	for i := range list {
		t.Add(console.Line(list[i].Name), console.Line(list[i].Description), console.Size(list[i].Size))
	}
	a.out.Table(t)
	return nil
}

func (a *app) skillsSearch() *cobra.Command {
	limit := textsearch.DefaultLimit
	c := &cobra.Command{Use: "search QUERY…", Short: "Find skills by what they are for", Args: takes("QUERY…")}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		if limit < 1 {
			return usage("--limit is 1 or more")
		}
		return a.reading(ctx, func(s kv.KVStorage) error { return a.findSkills(ctx, s, strings.Join(args, " "), limit) })
	})
	c.Flags().IntVar(&limit, "limit", limit, "how many at most")
	return c
}

func (a *app) findSkills(ctx context.Context, s kv.KVStorage, query string, limit int) error {
	hits, err := skills.Search(ctx, s, query, limit)
	if err != nil {
		return err
	}
	for i := range hits {
		if a.json {
			if err := a.writeJSON(skillHit(hits[i])); err != nil {
				return err
			}
			continue
		}
		a.out.Printf("%s\n%s", a.out.Bold(console.Line(hits[i].Summary.Name)), a.out.Indent("  ", console.Line(hits[i].Summary.Description)))
	}
	if len(hits) == 0 && !a.json {
		a.err.Printf("No skill is for %q. %q lists all.\n", query, "agent skills list")
	}
	return nil
}

func (a *app) skillsShow() *cobra.Command {
	var about bool
	c := &cobra.Command{Use: "show NAME", Short: "Write the SKILL.md of a skill, byte for byte", Args: takes("NAME")}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		return a.reading(ctx, func(s kv.KVStorage) error {
			sum, err := skills.Get(ctx, s, args[0])
			if errors.Is(err, kv.ErrNotFound) {
				return fail("no skill is called %q", args[0])
			}
			if err != nil {
				return err
			}
			if a.json {
				return a.writeJSON(sum)
			}
			if about {
				a.aboutSkill(&sum)
				return nil
			}
			body, err := skills.Body(ctx, s, args[0])
			if err != nil {
				return err
			}
			if a.out.Terminal() {
				body = []byte(console.Text(string(body)))
			}
			_, err = a.out.Write(body)
			return err
		})
	})
	c.Flags().BoolVar(&about, "about", false, "say what is known of it instead")
	return c
}

func (a *app) aboutSkill(s *skills.Summary) {
	list := func(names []string) string {
		if names != nil && len(names) == 0 {
			return "none"
		}
		return strings.Join(names, ", ")
	}
	for _, f := range []struct{ name, value string }{
		{"name", s.Name}, {"description", s.Description}, {"when to use", s.WhenToUse}, {"license", s.License},
		{"allowed", list(s.AllowedTools)}, {"disallowed", list(s.DisallowedTools)}, {"tools", list(s.Tools)},
		{"keywords", strings.Join(s.Keywords, ", ")}, {"source", s.Source}, {"sha256", s.SHA256},
		{"size", console.Size(s.Size)}, {"warnings", strings.Join(s.Warnings, "; ")},
	} {
		if f.value != "" {
			name := pad(f.name, 12)
			value := a.out.Indent(strings.Repeat(" ", len(name)), console.Line(f.value))
			a.out.Printf("%s%s", a.out.Dim(name), value[len(name):])
		}
	}
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(n-len(s), 1)) }

func (a *app) skillsRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a skill", Args: takes("NAME"),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.changing(ctx, func(s kv.KVStorage) error {
				err := skills.Remove(ctx, s, args[0])
				if errors.Is(err, kv.ErrNotFound) {
					return fail("no skill is called %q", args[0])
				}
				if err != nil {
					return err
				}
				return a.done("Removed "+args[0]+".", "removed", args[0])
			})
		}),
	}
}
