package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goset/harness"
	"goset/report"
)

// reportSessions reports on several result folders of one experiment.
func (a *app) reportSessions(cmd *cobra.Command, dirs []string, f *reportFlags, style tableStyle) error {
	ink, err := a.sessionsInk(f, style)
	if err != nil {
		return err
	}
	if err := distinctFolders(dirs); err != nil {
		return err
	}
	var list []report.Session
	for _, dir := range dirs {
		s, err := readSession(cmd.Context(), dir, f)
		if err != nil {
			return err
		}
		if flag := cmd.Flags().Lookup("baseline"); flag.Changed {
			if s.Opts.Baseline = flag.Value.String(); !s.Data.HasMode(s.Opts.Baseline) {
				return usagef("cannot compare with -baseline %q: no such mode in %q (there are %s)", s.Opts.Baseline, dir, s.Data.ModeNames())
			}
		}
		list = append(list, s)
	}
	f.table.warn(a.stderr, list[0].Data, list[0].Opts.Metrics)
	s, err := report.CompareSessions(list, f.cost)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if err := ink(s); err != nil {
		return failed(fmt.Errorf("cannot print tables: %v", err))
	}
	return nil
}

// readSession reads one folder.
func readSession(ctx context.Context, dir string, f *reportFlags) (report.Session, error) {
	results, err := harness.OpenResults(dir)
	if err != nil {
		return report.Session{}, &exitError{exitUsage, err}
	}
	opt, err := f.table.options(results.Manifest)
	if err != nil {
		return report.Session{}, err
	}
	s, err := report.ReadSession(ctx, dir, results, opt)
	if err != nil {
		return report.Session{}, failed(err)
	}
	return s, nil
}

// sessionsInk is the ink for several folders. What is about one alone is
// refused before anything is read.
func (a *app) sessionsInk(f *reportFlags, style tableStyle) (func(*report.Sessions) error, error) {
	for _, one := range []struct {
		given bool
		flag  string
	}{{f.write, "-write"}, {f.rules, "-rules"}, {f.plots != "", "-plots"}, {len(f.table.gate.failOn) > 0, "-fail-on"}, {f.table.gate.strict, "-strict"}} {
		if one.given {
			return nil, usagef("cannot use %s with several folders: it is about one; give one folder", one.flag)
		}
	}
	if f.cost < 0 {
		return nil, usagef("cannot use -session-cost %s: want 0 or more", f.cost)
	}
	inks := map[string]func(io.Writer, *report.Sessions) error{
		"text": func(w io.Writer, s *report.Sessions) error {
			return report.SessionsText(w, s, report.TextOptions{Color: style.color, Width: style.width})
		},
		"markdown": report.SessionsMarkdown, "github": report.SessionsGitHub, "latex": report.SessionsLaTeX, "html": report.SessionsHTML,
		"csv": report.SessionsCSV, "contrasts": report.SessionsContrastsCSV, "json": report.SessionsJSON,
	}
	ink, ok := inks[f.format]
	switch {
	case !ok && slices.Contains(formatNames(), f.format):
		return nil, usagef("cannot print several folders as %q: want %s; or give one folder", f.format, strings.Replace(formats, ", "+f.format, "", 1))
	case !ok:
		return nil, badFormat(f.format)
	}
	return func(s *report.Sessions) error { return ink(a.stdout, s) }, nil
}

// distinctFolders refuses a folder that is given twice, by whatever name.
func distinctFolders(dirs []string) error {
	var infos []os.FileInfo
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil {
			return usagef("cannot read result folder %q: %v", dir, err)
		}
		for i, other := range infos {
			if os.SameFile(info, other) {
				return usagef("cannot use one folder as two sessions: %q and %q are the same; give each once", filepath.Clean(dirs[i]), filepath.Clean(dir))
			}
		}
		infos = append(infos, info)
	}
	return nil
}
