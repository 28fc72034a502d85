package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"goset/cpulist"
	"goset/harness"
	"goset/host"
	"goset/internal/cli"
	"goset/isolation"
)

// options is what the flags say.
type options struct {
	mode       isolation.Mode
	bestEffort bool
	shell      bool
	plan       bool // nothing is run
	// sample is how long the CPUs are watched; 0: not, their counts since boot
	// decide.
	sample   time.Duration
	interval time.Duration
	report   string
	quiet    bool
	json     string
	color    string
	sysroot  string
	// interrupts is a file to read in the place of /proc/interrupts.
	interrupts string
	// state, lock and wait are about taking the machine.
	state, lock string
	wait        time.Duration
}

// addOutput adds the flags about how things are shown.
func (o *options) addOutput(fs *pflag.FlagSet) {
	fs.StringVar(&o.json, "json", "", "write everything as JSON to `FILE`; - is stdout")
	fs.StringVar(&o.color, "color", "auto", "auto, always or never")
}

// addSysroot adds the flag about whose files are read.
func (o *options) addSysroot(fs *pflag.FlagSet) {
	fs.StringVar(&o.sysroot, "sysroot", "", "read another machine's /proc and /sys below `DIR`; to show and rank only")
}

// addState adds the flag about where journals lie.
func (o *options) addState(fs *pflag.FlagSet) {
	fs.StringVar(&o.state, "state", isolation.DefaultState, "`FOLDER` of the journals that changes to the machine are undone from")
}

// addCount adds the flag about how many CPUs are chosen.
func (o *options) addCount(fs *pflag.FlagSet) {
	fs.IntVarP(&o.mode.N, "n", "n", 1, "number of CPUs")
}

// addChoice adds the flags that bind the choice of the CPUs.
func (o *options) addChoice(fs *pflag.FlagSet) {
	m := &o.mode
	fs.StringVar(&m.Include, "include", "", "`CPULIST` to take first, isolated CPUs too")
	fs.StringVar(&m.Exclude, "exclude", "", "`CPULIST` never to take")
	fs.StringVar(&m.NUMA, "numa", "", "take all CPUs from node `N`, or from one node (auto)")
	fs.DurationVar(&o.sample, "sample", harness.DefaultSample, "how long to watch the CPUs; 0: decide by their counts since boot")
	fs.StringVar(&m.Rank, "rank", "all", "what counts: interrupts, busy or all")
	fs.BoolVar(&m.Steer, "steer", false, "move steerable interrupts off the CPUs; only the others count then")
}

// addTask adds the flags about running a command.
func (o *options) addTask(fs *pflag.FlagSet) {
	fs.StringVar(&o.mode.CPUs, "cpus", "", "take this `CPULIST` and choose nothing")
	fs.BoolVar(&o.shell, "shell", false, "run $SHELL in the place of a command")
	fs.BoolVar(&o.plan, "plan", false, "say what would be done to this machine, with or without a command, and do nothing")
	fs.DurationVar(&o.interval, "interval", 100*time.Millisecond, "how often to poll while the command runs; 0: before and after only")
	fs.StringVar(&o.report, "report", "", "write the report to `FILE` and not to stderr; - is stdout")
	fs.BoolVar(&o.quiet, "quiet", false, "no report on stderr; what was not held is said all the same")
	fs.BoolVar(&o.bestEffort, "best-effort", false, "go on without the layers that cannot be held, and say so; never as another -user or on other -cpus")
	fs.StringSliceVar(&o.mode.Optional, "optional", nil, "`LAYERS` to go on without when they cannot be held; not user, not cpus")
	o.addMachine(fs)
	fs.StringVar(&o.interrupts, "interrupts", "", "show interrupts from `FILE`; without a command only")
}

// addMachine adds the flags about taking the machine.
func (o *options) addMachine(fs *pflag.FlagSet) {
	fs.DurationVar(&o.wait, "wait", 0, "how long to wait while another session has this machine, as 10m")
	fs.StringVar(&o.lock, "lock", isolation.DefaultLock, "existing `FILE` whose lock is taken: by layers that change the machine alone, else together with others like it")
}

// addLayers adds a flag for every layer, named as its key in a mode.
func (o *options) addLayers(fs *pflag.FlagSet) {
	m := &o.mode
	fs.StringVar(&m.Cgroup, "cgroup", "", "give the command a cpuset of its own; with cgroup version 2 a partition, which keeps others off: true (the strongest that holds), member (keeps nobody off), root or isolated; with version 1 only -shield keeps others off")
	fs.Lookup("cgroup").NoOptDefVal = "true"
	fs.BoolVar(&m.Shield, "shield", false, "with cgroup version 1: move other tasks off the CPUs")
	fs.BoolVar(&m.Fence, "fence", false, "keep others off the SMT siblings, too")
	optional(fs, &m.Nice, "nice", "", "nice value of the command, -20 to 19", strconv.Atoi)
	fs.IntVar(&m.FIFO, "fifo", 0, "real-time priority of the command, 1 to 99")
	fs.StringVar(&m.Governor, "governor", "", "frequency governor of the CPUs")
	fs.StringVar(&m.Frequency, "frequency", "", "frequency of the CPUs, as 2.4GHz or base")
	optional(fs, &m.Turbo, "turbo", "true", "allow frequencies above the base", parseBool)
	optional(fs, &m.SMT, "smt", "true", "SMT of the whole machine", parseBool)
	optional(fs, &m.ASLR, "aslr", "true", "address space layout randomization of the command", parseBool)
	fs.BoolVar(&m.StableEnv, "stable-env", false, "the same environment block and argument layout in every run")
	fs.IntVar(&m.EnvSize, "env-size", 0, "size of the environment block in bytes")
	fs.StringVar(&m.THP, "thp", "", "transparent huge pages for the command: always, madvise or never")
	fs.StringVar(&m.Memory, "memory", "", "memory limit, as 512MiB")
	fs.StringVar(&m.CPUQuota, "cpu-quota", "", "CPU quota, as 50%")
	fs.Var((*words)(&m.Wrap), "wrap", "`COMMAND` to run the command under, as 'perf stat'")
	fs.StringVar(&m.User, "user", "", "user to run the command as")
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "on", "1", "yes":
		return true, nil
	case "false", "off", "0", "no":
		return false, nil
	}
	return false, fmt.Errorf("want true or false, got %q", text)
}

// optionalValue is a flag that is nil until it is given.
type optionalValue[T any] struct {
	to    **T
	parse func(string) (T, error)
}

// optional adds such a flag; without is its value when it is given without one.
func optional[T any](fs *pflag.FlagSet, to **T, name, without, usage string, parse func(string) (T, error)) {
	fs.Var(&optionalValue[T]{to, parse}, name, usage)
	fs.Lookup(name).NoOptDefVal = without
}

func (v *optionalValue[T]) String() string {
	if v.to == nil || *v.to == nil {
		return ""
	}
	return fmt.Sprint(**v.to)
}

func (v *optionalValue[T]) Set(text string) error {
	value, err := v.parse(text)
	if err != nil {
		return err
	}
	*v.to = &value
	return nil
}

func (v *optionalValue[T]) Type() string {
	var zero T
	return strings.TrimLeft(fmt.Sprintf("%T", zero), "*")
}

// words is a flag that holds the words of a command.
type words []string

func (w *words) String() string        { return strings.Join(*w, " ") }
func (w *words) Set(text string) error { *w = strings.Fields(text); return nil }
func (w *words) Type() string          { return "command" }

// asked is the mode that the flags ask for. It has no name.
func (o *options) asked() isolation.Mode {
	m := o.mode
	m.Sample = o.sample
	if m.User == "" {
		// Root is not the command's to have when it is only goset that needs it.
		m.User = isolation.SudoCaller(os.Getenv, os.Geteuid())
	}
	return m
}

// check refuses combinations that contradict themselves.
func (o *options) check(flags *pflag.FlagSet) error {
	given := func(name string) bool { f := flags.Lookup(name); return f != nil && f.Changed }
	if given("cpus") {
		if set, err := cpulist.Parse(o.mode.CPUs); err == nil && set.Empty() {
			return usagef("cannot use -cpus: the CPU list is empty")
		}
		for _, name := range []string{"n", "include", "exclude", "numa"} {
			if given(name) {
				return usagef("cannot use -%s with -cpus: -cpus names the CPUs and leaves nothing to choose", name)
			}
		}
		if o.mode.CPUs == "rotate" {
			return usagef("cannot use -cpus rotate: one command has one turn; give a CPU list")
		}
	}
	if err := o.setKeys(flags); err != nil {
		return err
	}
	if o.mode.N < 1 {
		return usagef("cannot take %d CPUs: -n must be 1 or more", o.mode.N)
	}
	if o.sample < 0 {
		return usagef("cannot watch for %v: -sample must be 0 or more", o.sample)
	}
	if o.interval < 0 || o.interval > 0 && o.interval < time.Millisecond {
		return usagef("cannot poll every %v: -interval must be 0 or at least 1ms", o.interval)
	}
	return nil
}

// setKeys holds the flags that are keys of a mode to the rules that a file is
// held to. Flags of numbers and CPU lists have their own.
func (o *options) setKeys(flags *pflag.FlagSet) error {
	var errs []error
	flags.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "numa", "rank", "cgroup", "nice", "fifo", "governor", "frequency", "env-size", "thp", "memory", "cpu-quota", "user":
			if err := harness.SetKey(&o.mode, keyOf(f.Name), f.Value.String()); err != nil {
				errs = append(errs, usagef("cannot use -%s: it %v", f.Name, err))
			}
		}
	})
	if o.mode.FIFO != 0 && o.mode.Nice != nil {
		errs = append(errs, usagef("cannot use -nice with -fifo: the kernel ignores the nice of a FIFO task"))
	}
	return errors.Join(errs...)
}

// checkOptional refuses to let go of what was not asked for, which is a layer
// misspelt or forgotten, and of what no task goes without.
func (o *options) checkOptional() error {
	mode := o.asked()
	asked := mode.BestEffort().Optional
	for i, name := range o.mode.Optional {
		o.mode.Optional[i] = keyOf(name)
		why := mode.Binding(keyOf(name))
		if why == "" && name == "cpus" {
			why = "a command that is not pinned needs no goset"
		}
		if why != "" {
			return usagef("cannot use -optional %s: %s", name, why)
		}
		if !slices.Contains(asked, keyOf(name)) {
			return usagef("cannot use -optional %s%s: it must name a layer that is asked for", name, cli.Nearest(keyOf(name), asked))
		}
	}
	return nil
}

// checkTask refuses what makes no sense beside a command.
func (o *options) checkTask() error {
	if err := o.checkOptional(); err != nil {
		return err
	}
	switch {
	case o.sysroot != "":
		return usagef("cannot run a command on another machine: -sysroot is to show and rank only")
	case o.interrupts != "":
		return usagef("cannot run a command with -interrupts: it is to show only")
	case o.quiet && o.report != "":
		return usagef("cannot use -quiet with -report %s: give one of them", o.report)
	case o.json == "-" && o.report == "-":
		return usagef("cannot write both -json and -report to stdout: give one of them a file")
	case o.json != "" && o.json == o.report:
		return usagef("cannot write both -json and -report to %s: give each a file", o.json)
	}
	return nil
}

// showOnly refuses flags that mean nothing without a command.
func showOnly(flags *pflag.FlagSet) error {
	shared := []string{"json", "color", "sysroot", "interrupts", "state", "help", "version"}
	var useless []string
	flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(shared, f.Name) {
			useless = append(useless, "-"+f.Name)
		}
	})
	if len(useless) > 0 {
		return usagef("cannot use %s without a command: put one after --, or see goset rank -h", strings.Join(useless, ", "))
	}
	return nil
}

// root is the machine whose files are read.
func (o *options) root() host.FS {
	if o.sysroot == "" {
		return host.Local
	}
	return host.FS(o.sysroot)
}
