package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goset/host"
	"goset/host/doctor"
	"goset/isolation"
)

// doctorFlags are the flags of `doctor`.
type doctorFlags struct {
	json    bool
	measure string
	sample  string
	sysroot string
}

func (a *app) doctorCommand() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what on this machine will spoil numbers, and change nothing",
		Long: `doctor looks at what moves or biases measurements on this machine: the clock
(governor, turbo, limits, heat), the CPUs (SMT, NUMA balancing, mitigations,
hypervisor, stolen time, timer), memory (huge pages, swap, address layout), who
else is here (irqbalance, tuned, load, the busiest processes, perflock, another
goset), and the limits on this process. Every line stands in one of four lists,
in order, advice, warning and cannot tell, with the value read, why it matters,
the command that changes it and the one that puts back what was found. Commands
are for a root shell; where a mode of an experiment can hold it for its own runs
alone, its key stands beside them.

doctor runs none of these commands. It watches the processes for -sample: at the
kernel's unit of 10 ms, a second shows a hundredth of a CPU. -measure also
runs the kernel jitter, for 10 s or as long as it says, and needs the machine for
itself.`,
		Example: `  goset-bench doctor
  goset-bench doctor -measure=30s
  goset-bench doctor -json | jq -r '.warning[].change[]?'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd, &f) },
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.json, "json", false, "print JSON, whose members within a schema number are only added to")
	fs.StringVar(&f.measure, "measure", "", "run the kernel jitter for so long, and say what it saw")
	fs.Lookup("measure").NoOptDefVal = "10s"
	fs.StringVar(&f.sample, "sample", "1s", "how long to watch the processes")
	fs.StringVar(&f.sysroot, "sysroot", "", "folder with another machine's /proc and /sys to look at")
	fs.String("wait", "0s", "with -measure: how long to wait while another session has this machine, as 10m")
	fs.String("state", isolation.DefaultState, "folder of the journals")
	fs.String("lock", isolation.DefaultLock, "file whose lock sessions take")
	fs.String("color", "auto", "auto, always or never")
	return cmd
}

// examination is what doctor found.
type examination struct {
	system   string // "linux"
	findings []doctor.Finding
	jitter   *doctor.Jitter
}

// doctor is `doctor` from flags to exit code: 0 when everything was looked at,
// whatever was found.
func (a *app) doctor(cmd *cobra.Command, f *doctorFlags) error {
	prefs, err := readPreferences(cmd.Flags())
	if err != nil {
		return err
	}
	watch, over, err := f.check()
	if err != nil {
		return err
	}
	style, err := a.style(prefs)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), endings()...)
	defer stop()
	x, err := a.examine(ctx, prefs, f.sysroot, watch, over)
	if ctx.Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted")}
	}
	if err != nil {
		return err
	}
	if f.json {
		err = x.json(a.stdout)
	} else {
		err = x.text(a.stdout, style)
	}
	if err != nil {
		return failed(fmt.Errorf("cannot print what was found: %v", err))
	}
	return nil
}

// The bounds of -sample and -measure.
const leastMeasure, mostMeasure = 10 * time.Millisecond, 10 * time.Minute

// check reads -sample and -measure (0: not asked for), and looks at -sysroot.
func (f *doctorFlags) check() (watch, over time.Duration, err error) {
	for _, d := range []struct {
		flag, text string
		to         *time.Duration
	}{{"sample", f.sample, &watch}, {"measure", f.measure, &over}} {
		if d.text == "" && d.to == &over {
			continue
		}
		if *d.to, err = time.ParseDuration(d.text); err != nil || *d.to < leastMeasure || *d.to > mostMeasure {
			return 0, 0, usagef("cannot use -%s=%q: want a length of time from %s to %s, as 10s", d.flag, d.text, leastMeasure, mostMeasure)
		}
	}
	if f.sysroot == "" {
		return watch, over, nil
	}
	if over > 0 {
		return 0, 0, usagef("cannot use -measure with -sysroot: another machine's files run nothing")
	}
	if info, err := os.Stat(f.sysroot); err != nil || !info.IsDir() {
		return 0, 0, usagef("cannot read -sysroot %q: it is no folder", f.sysroot)
	}
	return watch, 0, nil
}

// examine reads the machine, measures where that is asked for, and judges. What
// was read is from before the measurement.
func (a *app) examine(ctx context.Context, prefs *preferences, sysroot string, watch, over time.Duration) (*examination, error) {
	self := doctor.Process{Env: os.Getenv("GOMAXPROCS"), Procs: runtime.GOMAXPROCS(0)}
	switch {
	case sysroot != "":
		c := doctor.Case{Survey: host.ReadSurvey(host.FS(sysroot)), Turn: doctor.Turn{Unasked: true}}
		return &examination{system: "linux", findings: doctor.Examine(&c)}, nil
	case runtime.GOOS == "linux":
		c := doctor.Case{Survey: host.ReadSurvey(host.Local), Process: self, Turn: askTurn(prefs)}
		var err error
		c.Survey.Activity, err = host.Local.Watch(ctx, watch)
		c.Survey.Note("/proc/stat", err)
		if c.Jitter, err = a.measured(ctx, prefs, over); err != nil {
			return nil, err
		}
		return &examination{"linux", doctor.Examine(&c), c.Jitter}, nil
	case runtime.GOOS == "darwin":
		c := doctor.MacCase{Mac: host.ReadMac(macCommand(ctx)), Process: self}
		var err error
		if c.Jitter, err = a.measured(ctx, prefs, over); err != nil {
			return nil, err
		}
		return &examination{"darwin", doctor.ExamineMac(&c), c.Jitter}, nil
	}
	return nil, failed(fmt.Errorf("cannot examine this machine: doctor knows Linux and macOS, and this is %s", runtime.GOOS))
}

// askTurn looks who has the machine and what is not undone.
func askTurn(prefs *preferences) doctor.Turn {
	var t doctor.Turn
	note := func(what string, err error) {
		if err != nil {
			t.Unread = append(t.Unread, host.Unread{What: what, Cause: err.Error()})
		}
	}
	lock, state := prefs.text("lock", isolation.DefaultLock), prefs.text("state", isolation.DefaultState)
	var err error
	t.Holder, err = isolation.LockedBy(lock)
	note(lock, err)
	t.Leftovers, err = isolation.Leftovers(state)
	note(state, err)
	return t
}

// askFor bounds a command of macOS.
const askFor = 10 * time.Second

// macCommand runs the programs that tell what macOS is set to, in English.
func macCommand(ctx context.Context) host.Command {
	return func(name string, args ...string) (string, error) {
		ctx, stop := context.WithTimeout(ctx, askFor)
		defer stop()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			if said := strings.TrimSpace(stderr.String()); said != "" {
				return "", fmt.Errorf("%w: %.200s", err, said)
			}
			return "", err
		}
		return stdout.String(), nil
	}
}

// doctorSchema is the version of the JSON. Within one, members are only added.
const doctorSchema = 1

// json writes the four lists under their names.
func (x *examination) json(w io.Writer) error {
	lists := func(list doctor.List) []doctor.Finding {
		return append([]doctor.Finding{}, doctor.In(x.findings, list)...)
	}
	out := struct {
		Schema     int              `json:"schema"`
		System     string           `json:"system"`
		InOrder    []doctor.Finding `json:"in_order"`
		Advice     []doctor.Finding `json:"advice"`
		Warning    []doctor.Finding `json:"warning"`
		CannotTell []doctor.Finding `json:"cannot_tell"`
		Jitter     *doctor.Jitter   `json:"jitter"` // null: not measured
	}{doctorSchema, x.system, lists(doctor.InOrder), lists(doctor.Advice), lists(doctor.Warning), lists(doctor.CannotTell), x.jitter}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
