package doctor

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"goset/host"
)

// MacCase is a [Case] on a Mac.
type MacCase struct {
	Mac     host.Mac
	Process Process
	Jitter  *Jitter
}

// macChecks are what is looked at on a Mac. The knobs are few: no interface
// tells or sets the frequency, nothing pins, and the QoS clamps only lower.
func macChecks() []struct {
	name  string
	judge func(*MacCase) Finding
} {
	return []struct {
		name  string
		judge func(*MacCase) Finding
	}{
		{"power source", macSource}, {"power mode", macPower}, {"frequency", macFrequency}, {"thermal state", macThermal},
		{"pinning", macPinning}, {"qos", macQoS}, {"spotlight", macSpotlight},
		{"load", macLoad}, {"busiest processes", macBusiest}, {"swap", macSwap}, {"hypervisor", macHypervisor}, {"gomaxprocs", macProcs},
	}
}

// ExamineMac judges a Mac. Here [Finding.File] is the command that did not tell.
func ExamineMac(c *MacCase) []Finding {
	var all []Finding
	for _, check := range macChecks() {
		f := check.judge(c)
		f.Check = check.name
		all = append(all, f)
	}
	for _, f := range jitter(&Case{Jitter: c.Jitter}) {
		f.Check = "jitter"
		all = append(all, f)
	}
	return all
}

// unsaid is a finding about what a command did not tell.
func unsaid(m *host.Mac, command, why string) Finding {
	cause, ok := m.Cause(command)
	if !ok {
		cause = "it does not say"
	}
	return Finding{List: CannotTell, Value: command + ": " + cause, Why: why, File: command}
}

func macSource(c *MacCase) Finding {
	f := Finding{List: InOrder, Value: c.Mac.PowerSource, Why: "the charger gives what the cores ask for"}
	const why = "on the battery, macOS lowers the clock when it likes"
	switch {
	case f.Value == "":
		return unsaid(&c.Mac, "pmset -g ps", why)
	case !strings.Contains(f.Value, "AC"):
		f.List, f.Why = Warning, why+": plug it in"
	}
	return f
}

// macPower: a Mac has one of two names for the knob, and a value for each source
// of power.
func macPower(c *MacCase) Finding {
	m := &c.Mac
	f := Finding{List: InOrder, Why: "macOS gives what the cores ask for"}
	name, mode := "powermode", m.PowerMode
	if mode == nil {
		name, mode = "lowpowermode", m.LowPowerMode
	}
	if mode == nil {
		return unsaid(m, "pmset -g", "in low power mode the clock is held down")
	}
	f.Value = fmt.Sprintf("%s %d", name, *mode)
	if *mode != 1 {
		return f
	}
	f.List, f.Value, f.Why = Warning, f.Value+" (low)", "in low power mode the clock is held down"
	source := "-a"
	switch {
	case strings.Contains(m.PowerSource, "AC"):
		source = "-c"
	case strings.Contains(m.PowerSource, "Battery"):
		source = "-b"
	}
	f.Change, f.Undo = []string{"pmset " + source + " " + name + " 0"}, []string{"pmset " + source + " " + name + " 1"}
	return f
}

func macFrequency(c *MacCase) Finding {
	return Finding{List: CannotTell, Value: "macOS has no interface that tells or sets it (sysctl hw)", File: "sysctl hw",
		Why: "the clock follows load, heat and power; let the machine come to rest between runs (idle in [plan]), and compare within rounds"}
}

func macThermal(c *MacCase) Finding {
	m := &c.Mac
	f := Finding{List: InOrder, Why: "macOS has recorded nothing that holds the clock down"}
	const why = "a CPU that is too hot lowers its clock, more in each run than in the one before"
	if m.SpeedLimit == nil && m.ThermalQuiet == nil {
		return unsaid(m, "pmset -g therm", why)
	}
	f.Value = "no thermal warning"
	if m.ThermalQuiet != nil && !*m.ThermalQuiet {
		f.List, f.Value, f.Why = Warning, "a thermal warning", why
	}
	if n := m.SpeedLimit; n != nil {
		f.Value += fmt.Sprintf(", speed limit %d%%", *n)
		if *n < 100 {
			f.List, f.Why = Warning, why
		}
	}
	return f
}

func macPinning(c *MacCase) Finding {
	f := Finding{List: Advice, Value: "not to be had", Why: "macOS puts threads where it likes, and moves them: modes that name CPUs are refused, only repetition and order within rounds help"}
	var levels []string
	for _, l := range c.Mac.Levels {
		levels = append(levels, fmt.Sprintf("%d %s", l.CPUs, cmp.Or(l.Name, "unnamed")))
	}
	if len(levels) > 1 {
		f.Value += "; " + strings.Join(levels, " and ") + " cores"
		f.Why += "; a run that meets the slower cores is another one"
	}
	return f
}

// macQoS: the QoS of the shell is inherited, and no command tells it.
func macQoS(*MacCase) Finding {
	return Finding{List: CannotTell, Value: "no command tells the QoS that runs inherit (taskpolicy)", File: "taskpolicy",
		Why: "clamps only lower: taskpolicy -c utility or background holds a command to the slower cores, none to the fast ones; start from a terminal in the foreground, not from a background job, launchd or cron"}
}

func macSpotlight(c *MacCase) Finding {
	m := &c.Mac
	f := Finding{List: InOrder, Value: "indexes nothing", Why: "no file that a run writes is read again behind its back"}
	const why = "what runs write is indexed meanwhile"
	if m.Indexed == nil {
		return unsaid(m, "mdutil -a -s", why)
	}
	if len(m.Indexed) == 0 {
		return f
	}
	f.List, f.Value, f.Why = Advice, "indexes "+strings.Join(m.Indexed, ", "), why
	for _, volume := range m.Indexed {
		f.Change = append(f.Change, "mdutil -i off "+word(volume))
		f.Undo = append(f.Undo, "mdutil -i on "+word(volume))
	}
	return f
}

func macLoad(c *MacCase) Finding {
	m := &c.Mac
	f := Finding{List: InOrder, Why: "next to nothing waits for a CPU"}
	const why = "what else runs takes cores, caches and memory bandwidth from the runs"
	if len(m.Load) < 3 {
		return unsaid(m, "sysctl -n vm.loadavg", why)
	}
	f.Value = fmt.Sprintf("%.2f %.2f %.2f (1, 5, 15 minutes)", m.Load[0], m.Load[1], m.Load[2])
	if m.CPUs != nil {
		f.Value += fmt.Sprintf("; %s", counted(int(*m.CPUs), "CPU", "CPUs"))
	}
	// A Mac at rest has a load of one or two.
	switch {
	case m.CPUs != nil && m.Load[0] >= 0.5*float64(*m.CPUs):
		f.List, f.Why = Warning, why
	case m.Load[0] >= 2:
		f.List, f.Why = Advice, why
	}
	return f
}

func macBusiest(c *MacCase) Finding {
	const why = "they take cores, caches and memory bandwidth from the runs: end them, or stop them for the time"
	if len(c.Mac.Busiest) == 0 {
		return unsaid(&c.Mac, "ps -A -c -o pid=,pcpu=,comm=", why)
	}
	return busiestOf(c.Mac.Busiest, why)
}

func macSwap(c *MacCase) Finding {
	f := Finding{List: InOrder, Value: "nothing used", Why: "nothing is read back from the disk in the middle of a run"}
	const why = "what was swapped out is read back when it is touched, in the middle of a run: close what uses the memory; there is no knob"
	switch used := c.Mac.SwapUsed; {
	case used == nil:
		return unsaid(&c.Mac, "sysctl -n vm.swapusage", why)
	case *used > 0:
		f.List, f.Value, f.Why = Advice, bytes(*used)+" used", why
	}
	return f
}

func macHypervisor(c *MacCase) Finding {
	f := Finding{List: InOrder, Value: "none", Why: "no host gives these cores to somebody else"}
	const why = "the host moves and halts these cores, unseen"
	switch h := c.Mac.Hypervisor; {
	case h == nil:
		return unsaid(&c.Mac, "sysctl -n kern.hv_vmm_present", why)
	case *h:
		f.List, f.Value, f.Why = Warning, "this is a virtual machine", why
	}
	return f
}

func macProcs(c *MacCase) Finding {
	f := Finding{List: InOrder, Value: strconv.Itoa(c.Process.Procs), Why: "a Go program uses all cores, of both kinds"}
	if c.Process.Procs == 0 {
		return unsaid(&c.Mac, "sysctl -n hw.logicalcpu", "it is how many cores Go programs use")
	}
	if env := c.Process.Env; env != "" {
		f.List, f.Value = Advice, f.Value+", GOMAXPROCS="+env+" in the environment"
		f.Why = "Go programs use other than all cores"
		f.Change, f.Undo = []string{"unset GOMAXPROCS"}, []string{"export GOMAXPROCS=" + word(env)}
	}
	return f
}
