package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"goset/internal/cli"
	"goset/isolation"
)

// TestDocumentedCommands runs every goset line of the documents, with a task
// that ends at once. Lines for root run where this test is root; lines that ask
// for more CPUs than there are are held to their flags alone.
func TestDocumentedCommands(t *testing.T) {
	allowed, err := isolation.Allowed()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := documentFolder(t)
	n := 0
	for _, line := range documentedLines(t) {
		words := strings.Fields(line)
		sudo := words[0] == "sudo"
		if sudo {
			words = words[1:]
		}
		args := words[1:]
		checkFlags(t, line, args)
		n++
		switch {
		case sudo && os.Geteuid() != 0, strings.Contains(line, "-watch"), strings.Contains(line, "-n ") && allowed.Len() < 5 && !strings.Contains(line, "-n 1"):
			continue
		case strings.Contains(line, "clude ") && allowed.Len() < 2:
			continue
		}
		if sudo {
			args = append([]string{"-best-effort", "-state", filepath.Join(dir, "state"), "-lock", filepath.Join(dir, "lock")}, args...)
		}
		runDocumented(t, dir, line, args)
	}
	if n < 15 {
		t.Errorf("%d command lines in the documents", n)
	}
}

func runDocumented(t *testing.T, dir, line string, args []string) {
	t.Helper()
	cmd := exec.Command("goset", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SHELL=/bin/true", "XDG_STATE_HOME="+dir)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v\n%s", line, err, said.Bytes())
	}
}

// checkFlags parses a line without running it.
func checkFlags(t *testing.T, line string, args []string) {
	t.Helper()
	a := &app{}
	cmd, rest, err := a.root().Traverse(cli.OneDash(args))
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

// documentFolder holds what the lines name: a task, and another machine.
func documentFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"task":                               "#!/bin/sh\nexit 0\n",
		"lock":                               "",
		"dump/proc/interrupts":               "CPU0\nLOC: 1 Local timer interrupts\n",
		"dump/sys/devices/system/cpu/online": "0\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// documentedLines are the goset lines of all shell blocks, without comments.
func documentedLines(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	var lines []string
	for _, file := range append(docs, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(m[1]) {
				line, _, _ = strings.Cut(line, " #")
				line = strings.TrimSpace(line)
				if strings.HasPrefix(line, "goset ") || line == "goset" || strings.HasPrefix(line, "sudo goset ") {
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}
