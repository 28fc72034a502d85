package isolation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"goset/cpulist"
)

// performance is the governor, and the energy preference, of highest speed.
const performance = "performance"

// governorLayer sets the governor of the run's CPUs.
type governorLayer struct {
	machineLayer
	want     string
	policies []policy
	readings
}

func newGovernorLayer(r *applied) layer {
	if r.mode.Governor == "" {
		return nil
	}
	return &governorLayer{want: r.mode.Governor}
}

func (*governorLayer) key() string { return "governor" }

func (l *governorLayer) probe(r *applied) *Unsupported {
	policies, u := taskPolicies(r, l.key())
	if u != nil {
		return u
	}
	for _, p := range policies {
		// A governor that is not listed may be a module, which a write would
		// load for good.
		if !slices.Contains(p.governors, l.want) {
			return &Unsupported{
				Reason: fmt.Sprintf("%s has the governors %s", p.name(), strings.Join(p.governors, ", ")),
				Hint:   fmt.Sprintf("ask for one of those, or load it with modprobe cpufreq_%s", l.want),
			}
		}
	}
	return nil
}

func (l *governorLayer) enforce(r *applied) error {
	policies, u := taskPolicies(r, l.key())
	if u != nil {
		return u
	}
	for _, p := range policies {
		if p.governor == l.want {
			continue
		}
		if p.hasEPP && l.want == performance {
			// intel_pstate and amd-pstate pin the preference under that
			// governor, and may leave it there after it.
			if err := r.journal.Remember(KindWords, p.file("energy_performance_preference"), performance, ""); err != nil {
				return err
			}
		}
		if err := r.journal.Set(KindWords, p.file("scaling_governor"), l.want); err != nil {
			return fmt.Errorf("cannot set the governor of %s: %w", p.name(), err)
		}
	}
	l.policies = policies
	return nil
}

func (l *governorLayer) check(r *applied, at moment) {
	if at.phase == duringRun {
		return
	}
	for _, p := range l.policies {
		got, err := r.kernel.readFile(p.file("scaling_governor"))
		l.add(got, err, got == l.want, p.name())
	}
}

func (l *governorLayer) state() LayerState { return l.readings.state(l.key(), l.want) }

// frequencyLayer holds the clock of the run's CPUs at one frequency.
type frequencyLayer struct {
	machineLayer
	want string
	held []heldPolicy
	readings
}

// heldPolicy is a policy and the frequency, in kHz, that it is held at.
type heldPolicy struct {
	policy
	khz int64
}

func newFrequencyLayer(r *applied) layer {
	if r.mode.Frequency == "" {
		return nil
	}
	return &frequencyLayer{want: r.mode.Frequency}
}

func (*frequencyLayer) key() string { return "frequency" }

func (l *frequencyLayer) probe(r *applied) *Unsupported {
	if _, u := l.targets(r); u != nil {
		return u
	}
	return nil
}

// targets finds the frequency of every policy.
func (l *frequencyLayer) targets(r *applied) ([]heldPolicy, *Unsupported) {
	ask, err := parseFrequency(l.want)
	if err != nil {
		return nil, &Unsupported{Reason: err.Error(), Hint: "see the rule"}
	}
	policies, u := taskPolicies(r, l.key())
	if u != nil {
		return nil, u
	}
	var held []heldPolicy
	for _, p := range policies {
		khz, u := ask.target(&p)
		if u != nil {
			return nil, u
		}
		held = append(held, heldPolicy{p, khz})
	}
	return held, nil
}

func (l *frequencyLayer) enforce(r *applied) error {
	// Anew: switching the turbo off changes what the hardware says it has.
	held, u := l.targets(r)
	if u != nil {
		return u
	}
	for _, p := range held {
		for _, file := range p.limitWrites(p.khz) {
			err := r.journal.Set(KindClock, file, fmt.Sprint(p.khz))
			var set *SetError
			if errors.As(err, &set) && set.Err == nil && nearClock(set.Got, set.Value) {
				continue
			}
			if err != nil {
				return fmt.Errorf("cannot hold %s at %s: %w", p.name(), hertz(p.khz), err)
			}
		}
	}
	l.held = held
	return nil
}

// check reads the limits and not the clock itself: reading that can interrupt
// the CPU (APERF and MPERF before kernel 5.19). Writes to the limits succeed
// whatever comes of them, so they are read, by range.
func (l *frequencyLayer) check(r *applied, at moment) {
	if at.phase == duringRun {
		return
	}
	for _, p := range l.held {
		least, err := readKHz(r.kernel, p.file("scaling_min_freq"))
		most, merr := readKHz(r.kernel, p.file("scaling_max_freq"))
		got := hertz(least)
		if most != least {
			got += " to " + hertz(most)
		}
		l.add(got, errors.Join(err, merr), near(least, p.khz) && near(most, p.khz), p.name())
	}
}

func (l *frequencyLayer) state() LayerState { return l.readings.state(l.key(), l.want) }

// turboLayer switches the frequencies above the base one off, or on, for the
// whole machine.
type turboLayer struct {
	machineLayer
	want     bool
	switches []turboSwitch
	readings
}

// turboSwitch is a file that switches turbo, with what it says for on and off.
type turboSwitch struct{ file, on, off string }

func (s turboSwitch) value(on bool) string {
	if on {
		return s.on
	}
	return s.off
}

// The global switches: intel_pstate's, and that of the other drivers. Where
// neither is there, each policy may have one of its own (from kernel 6.12 on).
func turboSwitches(k kernel) ([]turboSwitch, error) {
	for _, s := range []turboSwitch{
		{cpuFolder + "/intel_pstate/no_turbo", "0", "1"},
		{policyFolder + "/boost", "1", "0"},
	} {
		if exists(k, s.file) {
			return []turboSwitch{s}, nil
		}
	}
	policies, err := readPolicies(k, cpulist.Set{})
	if err != nil {
		return nil, err
	}
	var switches []turboSwitch
	for _, p := range policies {
		if !p.hasBoost {
			return nil, nil
		}
		switches = append(switches, turboSwitch{p.file("boost"), "1", "0"})
	}
	return switches, nil
}

func newTurboLayer(r *applied) layer {
	if r.mode.Turbo == nil {
		return nil
	}
	return &turboLayer{want: *r.mode.Turbo}
}

func (*turboLayer) key() string { return "turbo" }

func (l *turboLayer) probe(r *applied) *Unsupported {
	switches, err := turboSwitches(r.kernel)
	if err != nil {
		return &Unsupported{Reason: err.Error(), Hint: `leave "turbo" out`}
	}
	if len(switches) == 0 {
		return &Unsupported{
			Reason: "this machine has no switch for turbo (neither intel_pstate/no_turbo nor cpufreq/boost; virtual machines have none)",
			Hint:   `leave "turbo" out, or name it in optional to run without it`,
		}
	}
	return nil
}

func (l *turboLayer) enforce(r *applied) error {
	switches, err := turboSwitches(r.kernel)
	if err != nil {
		return err
	}
	for _, s := range switches {
		now, err := r.kernel.readFile(s.file)
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", s.file, err)
		}
		if now == s.value(l.want) {
			continue
		}
		// no_turbo lowers a min_perf_pct that is above what is left, and does
		// not raise it again (intel_pstate.c: store_no_turbo).
		if floor := cpuFolder + "/intel_pstate/min_perf_pct"; strings.HasSuffix(s.file, "/no_turbo") && exists(r.kernel, floor) {
			if err := keepFloor(r, floor); err != nil {
				return err
			}
		}
		if err := r.journal.Set(KindWords, s.file, s.value(l.want)); err != nil {
			return turboRefusal(s, err)
		}
	}
	l.switches = switches
	return nil
}

// keepFloor remembers a limit that the kernel is about to lower.
func keepFloor(r *applied, file string) error {
	now, err := r.kernel.readFile(file)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", file, err)
	}
	return r.journal.Remember(KindFloor, file, now, "")
}

// turboRefusal turns what the kernel says into what it means.
func turboRefusal(s turboSwitch, err error) error {
	switch {
	case errors.Is(err, syscall.EPERM):
		return &Unsupported{Reason: fmt.Sprintf("%s refuses (%v): the firmware has turbo switched off", s.file, err), Hint: "switch it on in the firmware's setup"}
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EOPNOTSUPP):
		return &Unsupported{Reason: fmt.Sprintf("%s refuses (%v): the driver has no turbo to switch", s.file, err), Hint: `leave "turbo" out`}
	}
	return fmt.Errorf("cannot switch turbo: %w", err)
}

func (l *turboLayer) check(r *applied, at moment) {
	if at.phase == duringRun {
		return
	}
	for _, s := range l.switches {
		text, err := r.kernel.readFile(s.file)
		got := text
		switch text {
		case s.on:
			got = "true"
		case s.off:
			got = "false"
		}
		l.add(got, err, text == s.value(l.want), s.file)
	}
}

func (l *turboLayer) state() LayerState { return l.readings.state(l.key(), fmt.Sprint(l.want)) }
