//go:build linux && amd64

package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// sweep kills a command before each of its points in turn, has the machine
// healed, and holds every snapshot against the first.
//
//	agent sweep -guard alive|dead -restore "goset-bench restore" [-step N] [-from N] -- COMMAND
//
// With the guard alive it is the guard that heals; with the guard killed first
// it is the restore command. It prints a line for each point that was not
// healed and ends in "points P tried T healed H slowest D".
func sweep(args []string) error {
	s := sweeper{}
	flags := flag.NewFlagSet("sweep", flag.ContinueOnError)
	flags.StringVar(&s.guard, "guard", "alive", "alive or dead")
	flags.StringVar(&s.restore, "restore", "goset-bench restore", "what heals when the guard is dead")
	flags.StringVar(&s.state, "state", "/run/goset", "folder of the journals")
	flags.IntVar(&s.step, "step", 1, "every step-th point alone")
	flags.IntVar(&s.from, "from", 1, "the first point")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.command = flags.Args()
	if len(s.command) == 0 || s.step < 1 {
		return errors.New("want a command, and a step of at least 1")
	}
	return s.sweep()
}

type sweeper struct {
	guard, restore, state string
	step, from            int
	command               []string

	before        string
	tried, healed int
	slowest       time.Duration
}

func (s *sweeper) sweep() error {
	// Once without a kill: what the first run leaves for good (folders, loaded
	// pools of workers) is no difference of the runs that follow.
	whole := &tracer{stateDir: s.state}
	text, err := whole.trace(s.command)
	if err != nil {
		return err
	}
	if whole.points == 0 {
		return fmt.Errorf("the command changes nothing:\n%s", text)
	}
	if s.before, err = s.settled(""); err != nil {
		return err
	}
	fmt.Printf("points %d of the whole run\n", whole.points)
	for at := s.from; ; at += s.step {
		reached, err := s.point(at)
		if err != nil {
			return err
		}
		if !reached {
			break
		}
	}
	fmt.Printf("points %d tried %d healed %d slowest %v\n", whole.points, s.tried, s.healed, s.slowest.Round(time.Millisecond))
	return nil
}

// point kills the command before one point. It returns false when the command
// came to its end before.
func (s *sweeper) point(at int) (bool, error) {
	t := &tracer{stateDir: s.state, killAt: at}
	if s.guard == "dead" {
		t.first = killGuards
	}
	text, err := t.trace(s.command)
	if err != nil {
		return false, err
	}
	if t.killed == "" {
		return false, nil
	}
	s.tried++
	// The console shows a person, or the log of a sweep that hangs, how far it
	// is; nothing depends on it.
	if console, err := os.OpenFile("/dev/console", os.O_WRONLY, 0); err == nil {
		fmt.Fprintf(console, "sweep: guard %s, point %d: %s\n", s.guard, at, t.killed)
		_ = console.Close()
	}
	healing, err := s.heal()
	if err != nil {
		fmt.Printf("point %d (%s): %v\n%s", at, t.killed, err, text)
	}
	s.slowest = max(s.slowest, healing)
	after, err := s.settled(s.before)
	if err != nil {
		return true, err
	}
	if after == s.before {
		s.healed++
		return true, nil
	}
	fmt.Printf("point %d (%s): not as before\n%s\n%s", at, t.killed, differing(s.before, after), text)
	// The next point is judged against what is there now.
	s.before = after
	return true, nil
}

// heal waits for the guard, or runs the restore command, and says how long it
// took.
func (s *sweeper) heal() (time.Duration, error) {
	start := time.Now()
	if s.guard == "dead" {
		words := strings.Fields(s.restore)
		out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
		if err != nil {
			return time.Since(start), fmt.Errorf("%s: %w: %s", s.restore, err, out)
		}
		return time.Since(start), nil
	}
	for end := start.Add(20 * time.Second); ; pause() {
		if len(guards(0)) == 0 {
			return time.Since(start), nil
		}
		if time.Now().After(end) {
			return time.Since(start), errors.New("the guard is still there after 20 seconds")
		}
	}
}

// settled takes snapshots until one equals what is wanted, or two in a row are
// the same when nothing is; the kernel's workers leave old pools lazily.
func (s *sweeper) settled(want string) (string, error) {
	last := ""
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		var out bytes.Buffer
		for _, section := range sections {
			if err := section.print(&out); err != nil {
				return "", err
			}
		}
		now := out.String()
		if now == want || want == "" && now == last || time.Now().After(end) {
			return now, nil
		}
		last = now
	}
}

// differing lists the lines that only one of two snapshots has.
func differing(before, after string) string {
	count := map[string]int{}
	for line := range strings.Lines(before) {
		count[line]--
	}
	for line := range strings.Lines(after) {
		count[line]++
	}
	var out strings.Builder
	for line := range strings.Lines(before + after) {
		switch n := count[line]; {
		case n < 0:
			fmt.Fprintf(&out, "- %s", line)
		case n > 0:
			fmt.Fprintf(&out, "+ %s", line)
		}
		delete(count, line)
	}
	return out.String()
}

// killat runs a command and kills it before its N-th point: "killat N COMMAND".
func killat(args []string) error {
	if len(args) < 2 {
		return errors.New("want a number and a command")
	}
	t := &tracer{stateDir: "/run/goset"}
	if _, err := fmt.Sscan(args[0], &t.killAt); err != nil {
		return err
	}
	text, err := t.trace(args[1:])
	fmt.Fprintf(os.Stderr, "%spoints %d killed before: %s\n", text, t.points, t.killed)
	return err
}
