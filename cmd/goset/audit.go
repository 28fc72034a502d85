package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"goset/harness"
	"goset/host"
	"goset/internal/cli"
	"goset/internal/texttab"
)

// auditCommand is `goset audit`.
func (a *app) auditCommand() *cobra.Command {
	reads := 1000
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Count the interrupts that reading each source causes on another CPU",
		Long: `audit runs a loop on one CPU, isolated as far as this machine lets it, and reads
every source of the telemetry 1,000 times from another CPU. Interrupts on the
first one that come with the reading are the source's. A control that interrupts
every CPU must be seen, which needs root; without it nothing is proven.

What was found silent is remembered for this kernel, in goset/audit.json below
$XDG_STATE_HOME (~/.local/state when that is not set): goset polls no source that
is neither known to be silent on this kernel nor found so by an audit of the same
user.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.audit(cmd.Context(), reads) },
	}
	cmd.Flags().IntVar(&reads, "reads", reads, "how often each source is read")
	a.opt.addOutput(cmd.Flags())
	a.opt.addState(cmd.Flags())
	a.opt.addChoice(cmd.Flags())
	a.opt.addMachine(cmd.Flags())
	return cmd
}

// spin is a task that does nothing but run: one thread, no system calls.
func spin() []string { return []string{"/bin/sh", "-c", "while :; do :; done"} }

func (a *app) audit(parent context.Context, reads int) error {
	if reads < 1 {
		return usagef("cannot read %d times: -reads must be 1 or more", reads)
	}
	color, err := cli.Color(a.opt.color, a.stdout)
	if err != nil {
		return usageError{err}
	}
	found, err := a.runAudit(parent, reads)
	if err != nil {
		return err
	}
	if a.opt.json != "" {
		if err := writeTo(a.opt.json, a.stdout, func(w io.Writer) error { return writeJSON(w, found) }); err != nil {
			return err
		}
	}
	if a.opt.json != "-" {
		if _, err := io.WriteString(a.stdout, auditText(found, &page{color: color, width: cli.Width(a.stdout)})); err != nil {
			return err
		}
	}
	if !found.Seen {
		return errors.New("the control was not seen, and so nothing is proven: " + found.Control.Verdict)
	}
	return remember(found)
}

// runAudit audits from inside a run: by then goset is off the CPU.
func (a *app) runAudit(parent context.Context, reads int) (found *host.Audit, err error) {
	t := &task{app: a, argv: spin(), mode: a.opt.asked()}
	t.opt.bestEffort = true
	t.mode.N, t.mode.Cgroup = 1, "true"
	var ctx context.Context
	t.relay, ctx = startRelay(parent)
	defer t.relay.stop()
	if t.runner, err = harness.NewRunner(); err != nil {
		return nil, err
	}
	defer func() { err = t.closing(err) }()
	if err := t.open(ctx); err != nil {
		return nil, t.or(err)
	}
	if err := t.choose(ctx); err != nil {
		return nil, t.or(err)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	job := t.job()
	job.Foreground = false
	job.CPUs = t.selection.Set
	var failed error
	job.Started = func(pid int) {
		found, failed = host.Local.Audit(ctx, host.AuditOptions{Target: host.Target{CPU: t.selection.Task[0], PID: pid}, Reads: reads})
		end()
	}
	_, err = t.runner.Execute(ctx, job)
	if ended := t.relay.ended(); ended != nil {
		return nil, ended
	}
	return found, errors.Join(err, failed)
}

func auditText(a *host.Audit, p *page) string {
	p.head("Audit of %s, %d reads of each source, interrupts on CPU %d", a.Kernel, a.Reads, a.CPU)
	var head line
	head.add("source", texttab.Left, faint)
	for _, name := range []string{"CAL", "RES", "TLB", "IWI", "LOC", "without"} {
		head.add(name, texttab.Right, faint)
	}
	head.add("verdict", texttab.Left, faint)
	lines := []line{head}
	for _, row := range append([]host.AuditRow{a.Control}, a.Sources...) {
		var l line
		l.left(row.Source)
		for _, n := range []uint64{row.Caused.Call, row.Caused.Reschedule, row.Caused.TLB, row.Caused.Work, row.Caused.Local, row.Idle.Sum()} {
			text := fmt.Sprint(n)
			if row.Reads == 0 {
				text = absent
			}
			l.right(text)
		}
		color := amber
		if row.Silent || row.Source == a.Control.Source && a.Seen {
			color = green
		}
		l.add(row.Verdict, texttab.Left, color)
		lines = append(lines, l)
	}
	p.table(1, lines)
	return p.String()
}

// auditFile is where the last audit of this machine is kept.
func auditFile() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "goset", "audit.json"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "goset", "audit.json"), nil
}

// remember keeps an audit for later runs.
func remember(found *host.Audit) error {
	name, err := auditFile()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o755)
	}
	if err == nil {
		var b strings.Builder
		if err = writeJSON(&b, found); err == nil {
			err = os.WriteFile(name, []byte(b.String()), 0o644)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot remember the audit: %w", err)
	}
	return nil
}

// proven are the sources that an audit of this very kernel found silent. What
// cannot be read proves nothing.
func proven() []string {
	name, err := auditFile()
	if err != nil {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	var found host.Audit
	if json.Unmarshal(text, &found) != nil || !found.Seen || !host.Local.Runs(found.Kernel, found.Version) {
		return nil
	}
	return found.Proven()
}
