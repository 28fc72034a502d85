//go:build linux && amd64

// Command agent is what a test guest runs: it serves the test over a serial
// line (serve), and it is the box of small tools that the tests need inside,
// without libc (snapshot, hold, spin, wr, ...).
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

func main() { os.Exit(run(os.Args)) }

// tools are the subcommands by name.
var tools = map[string]func(args []string) error{
	"serve":    serve,
	"snapshot": snapshotTool,
	"until":    until,
	"wr":       wr,
	"aff":      aff,
	"on":       on,
	"spin":     spin,
	"sleep":    forever,
	"bear":     bear,
	"hold":     hold,
	"where":    where,
	"addr":     addr,
	"without":  without,
	"gap":      gap,
	"fifo":     fifo,
	"mask":     mask,
	"guards":   printGuards,
	"filtered": filtered,
	"sweep":    sweep,
	"killat":   killat,
}

func run(args []string) int {
	if len(args) < 2 {
		return usage()
	}
	tool, ok := tools[args[1]]
	if !ok {
		return usage()
	}
	if err := tool(args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s %s: %v\n", filepath.Base(args[0]), args[1], err)
		return 1
	}
	return 0
}

func usage() int {
	var names []string
	for name := range tools {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintf(os.Stderr, "usage: agent %v ...\n", names)
	return 2
}
