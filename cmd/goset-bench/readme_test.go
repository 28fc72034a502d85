package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"goset/harness"
	"goset/internal/cli"
)

// block is a fenced block of a document.
type block struct{ language, text string }

func blocksOf(t *testing.T, file string) []block {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	for _, m := range regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, block{m[1], m[2]})
	}
	return blocks
}

// TestDocumentedExperiments loads and plans every TOML block of the documents.
func TestDocumentedExperiments(t *testing.T) {
	n := 0
	for _, file := range documents(t) {
		for _, b := range blocksOf(t, file) {
			if b.language != "toml" {
				continue
			}
			n++
			e, err := harness.Load(file, []byte(b.text), harness.LoadOptions{})
			if err != nil {
				t.Errorf("%s: %v\n%s", file, err, b.text)
				continue
			}
			if _, err := e.Expand(1); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if n == 0 {
		t.Error("the documents show no experiment")
	}
}

// TestDocumentedCommands holds every command line of the documents to the
// flags and commands that there are.
func TestDocumentedCommands(t *testing.T) {
	n := 0
	for _, file := range documents(t) {
		for _, b := range blocksOf(t, file) {
			if b.language != "sh" {
				continue
			}
			for line := range strings.Lines(b.text) {
				args := commandLine(line)
				if args == nil {
					continue
				}
				n++
				checkCommandLine(t, file, args)
			}
		}
	}
	if n < 8 {
		t.Errorf("%d command lines in the documents", n)
	}
}

func documents(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append(docs, "../../README.md")
}

// commandLine gives the arguments of a goset-bench line; nil for others.
func commandLine(line string) []string {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(line)
	for i, w := range words {
		if w == "goset-bench" || w == "./cmd/goset-bench" {
			return words[i+1:]
		}
	}
	return nil
}

// checkCommandLine parses the flags of a line without running it.
func checkCommandLine(t *testing.T, file string, args []string) {
	t.Helper()
	a := &app{}
	cmd, rest, err := a.root().Find(cli.OneDash(args))
	if err != nil {
		t.Errorf("%s: goset-bench %q: %v", file, args, err)
		return
	}
	if !cmd.Runnable() || cmd.Parent() == nil {
		t.Errorf("%s: goset-bench %q is no command", file, args)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: goset-bench %q: %v", file, args, err)
	}
}
