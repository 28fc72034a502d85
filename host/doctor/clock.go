package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goset/host"
)

// noPolicies is the finding where there is no cpufreq.
func noPolicies(c *Case, why string) []Finding {
	f := lacking(&c.Survey, cpufreq, "policy", why)
	if c.Survey.Facts.Hypervisor != nil {
		f[0].Value += "; the host of this guest decides"
	}
	return f
}

// words are the different values of all policies, in their order.
func words(policies []host.Policy, value func(*host.Policy) string) []string {
	var all []string
	for i := range policies {
		if v := value(&policies[i]); v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

func governorOf(p *host.Policy) string { return p.Governor }

func governor(c *Case) []Finding {
	s := &c.Survey
	f := Finding{Why: "a governor that follows the load changes the clock within a run, some milliseconds late"}
	if len(s.Policies) == 0 {
		return noPolicies(c, f.Why)
	}
	governors := words(s.Policies, governorOf)
	if len(governors) == 0 {
		return unknown(s, s.Policies[0].Path+"/scaling_governor", f.Why)
	}
	drivers := words(s.Policies, func(p *host.Policy) string { return p.Driver })
	f.Value = fmt.Sprintf("%s (driver %s, %s)", strings.Join(governors, ", "), strings.Join(drivers, ", "), counted(len(s.Policies), "policy", "policies"))
	f.List = governorList(s.Policies)
	if f.List == InOrder {
		f.Why = "the clock does not wait for the load"
		return []Finding{f}
	}
	if slices.Equal(governors, []string{"userspace"}) || slices.Equal(governors, []string{"powersave"}) && f.List == Advice {
		f.Why = "the clock stands still, and lower than it need be"
	}
	if !hasPerformance(s.Policies) {
		f.Value += "; performance is not among the governors of this kernel"
		return []Finding{f}
	}
	f.Mode = `governor = "performance"`
	f.Change = toPolicies(s.Policies, "scaling_governor", func(*host.Policy) string { return "performance" })
	f.Undo = toPolicies(s.Policies, "scaling_governor", governorOf)
	// performance sets the preference too, and refuses to have it written
	// (intel_pstate, amd-pstate): it is put back after the governor.
	f.Undo = append(f.Undo, toPolicies(s.Policies, "energy_performance_preference", func(p *host.Policy) string {
		if p.Governor == "performance" {
			return ""
		}
		return p.EPP
	})...)
	return []Finding{f}
}

// scales reports a driver that chooses frequencies by itself: what it calls
// powersave follows the load (Documentation/admin-guide/pm/intel_pstate.rst,
// amd-pstate.rst).
func scales(driver string) bool { return driver == "intel_pstate" || driver == "amd-pstate-epp" }

func governorList(policies []host.Policy) List {
	list := InOrder
	for i := range policies {
		switch p := &policies[i]; {
		case p.Governor == "performance":
		case p.Governor == "userspace", p.Governor == "powersave" && !scales(p.Driver):
			if list == InOrder {
				list = Advice
			}
		default:
			list = Warning
		}
	}
	return list
}

// hasPerformance: a driver that lists no governors is taken to have it.
func hasPerformance(policies []host.Policy) bool {
	return !slices.ContainsFunc(policies, func(p host.Policy) bool {
		return len(p.Governors) > 0 && !slices.Contains(p.Governors, "performance")
	})
}

func turbo(c *Case) []Finding {
	s := &c.Survey
	f := Finding{Why: "above its base frequency a core's clock depends on heat and on what its neighbours do"}
	if len(s.Turbo) == 0 {
		return noTurbo(c, f.Why)
	}
	on := slices.DeleteFunc(slices.Clone(s.Turbo), func(k host.Knob) bool { return !k.On() })
	if len(on) == 0 {
		f.List, f.Value, f.Why = InOrder, "off ("+s.Turbo[0].Path+")", "the clock does not depend on heat or neighbours above the base frequency"
		return []Finding{f}
	}
	f.List, f.Value, f.Mode = Advice, "on ("+on[0].Path+")", "turbo = false"
	files := map[int64][]string{}
	for _, k := range on {
		files[k.Value] = append(files[k.Value], k.Path)
	}
	for _, value := range []int64{0, 1} {
		if len(files[value]) > 0 {
			f.Change = append(f.Change, tee(strconv.FormatInt(1-value, 10), files[value]))
			f.Undo = append(f.Undo, tee(strconv.FormatInt(value, 10), files[value]))
		}
	}
	// Writing no_turbo squashes min_perf_pct (drivers/cpufreq/intel_pstate.c).
	if s.MinPercent != nil && strings.HasSuffix(on[0].Path, "/"+host.NoTurbo) {
		f.Undo = append(f.Undo, echo(strconv.FormatInt(s.MinPercent.Value, 10), s.MinPercent.Path))
	}
	return []Finding{f}
}

// noTurbo is where none of the files is: cpufreq makes one when a driver has
// frequencies to boost to. Those of x86 have some without a file on old kernels.
func noTurbo(c *Case, why string) []Finding {
	s := &c.Survey
	for _, file := range []string{"/sys/devices/system/cpu/intel_pstate/" + host.NoTurbo, cpufreq + "/boost"} {
		if _, ok := s.Cause(file); ok {
			return unknown(s, file, why)
		}
	}
	if len(s.Policies) == 0 {
		return noPolicies(c, why)
	}
	for i := range s.Policies {
		file := s.Policies[i].Path + "/boost"
		if _, ok := s.Cause(file); ok {
			return unknown(s, file, why)
		}
	}
	if slices.ContainsFunc(s.Policies, func(p host.Policy) bool { return strings.HasPrefix(p.Driver, "intel_") }) {
		return unknown(s, "/sys/devices/system/cpu/intel_pstate/"+host.NoTurbo, why)
	}
	if slices.ContainsFunc(s.Policies, func(p host.Policy) bool {
		return p.Driver == "acpi-cpufreq" || strings.HasPrefix(p.Driver, "amd-pstate")
	}) {
		return unknown(s, cpufreq+"/boost", why)
	}
	return []Finding{{List: InOrder, Value: "none: driver " + s.Policies[0].Driver + " has no knob for it", Why: "there is no frequency above the base one that heat could take away"}}
}

func limits(c *Case) []Finding {
	s := &c.Survey
	f := Finding{List: Advice, Why: "between its limits the clock is the governor's and the firmware's to choose"}
	if len(s.Policies) == 0 {
		return noPolicies(c, f.Why)
	}
	q := s.Facts.Frequency
	if q == nil || q.MinHz == nil || q.MaxHz == nil {
		return unknown(s, missingLimit(s.Policies), f.Why)
	}
	f.Value = hertz(*q.MinHz) + " to " + hertz(*q.MaxHz)
	if capped := cappedPolicies(s); len(capped) > 0 || s.MaxPercent != nil && s.MaxPercent.Value < 100 {
		return []Finding{uncap(s, f, capped)}
	}
	if fixed(s.Policies) {
		f.List, f.Why = InOrder, "the limits leave one frequency"
		f.Value = "fixed at " + hertz(*q.MaxHz)
		if *q.MinHz != *q.MaxHz {
			f.Value = "fixed, at " + hertz(*q.MinHz) + " to " + hertz(*q.MaxHz) + " by policy"
		}
		return []Finding{f}
	}
	f.Mode = `frequency = "base"`
	base := func(p *host.Policy) string { return number(p.BaseKHz) }
	if len(words(s.Policies, base)) == 0 {
		f.Mode = `frequency = "70%"`
		f.Value += "; what the maker rates it for is not said (" + s.Policies[0].Path + "/base_frequency)"
		return []Finding{f}
	}
	// The kernel keeps the lower limit below the upper one: down with the lower
	// limit last, back with the upper one first.
	f.Change = append(toPolicies(s.Policies, "scaling_max_freq", base), toPolicies(s.Policies, "scaling_min_freq", base)...)
	f.Undo = append(maxBack(s.Policies), toPolicies(s.Policies, "scaling_min_freq", func(p *host.Policy) string { return number(p.MinKHz) })...)
	return []Finding{f}
}

func maxBack(policies []host.Policy) []string {
	return toPolicies(policies, "scaling_max_freq", func(p *host.Policy) string { return number(p.MaxKHz) })
}

func missingLimit(policies []host.Policy) string {
	for i := range policies {
		if p := &policies[i]; p.MinKHz == nil {
			return p.Path + "/scaling_min_freq"
		}
	}
	return policies[0].Path + "/scaling_max_freq"
}

func fixed(policies []host.Policy) bool {
	return !slices.ContainsFunc(policies, func(p host.Policy) bool {
		return p.MinKHz == nil || p.MaxKHz == nil || *p.MinKHz != *p.MaxKHz
	})
}

// cappedPolicies are those whose upper limit is below that of the hardware
// without being a fixed frequency. With turbo off, some drivers show the base
// frequency as the limit: that is no cap.
func cappedPolicies(s *host.Survey) []host.Policy {
	turboOff := len(s.Turbo) > 0 && !slices.ContainsFunc(s.Turbo, host.Knob.On)
	var capped []host.Policy
	for _, p := range s.Policies {
		most := p.HighestKHz
		if turboOff {
			most = p.BaseKHz
		}
		if most != nil && p.MaxKHz != nil && p.MinKHz != nil && *p.MaxKHz < *most && *p.MinKHz != *p.MaxKHz {
			capped = append(capped, p)
		}
	}
	return capped
}

// uncap says that something holds the clock down: a power profile, thermald, or
// a person.
func uncap(s *host.Survey, f Finding, capped []host.Policy) Finding {
	f.Why = "something lowered the upper limit (a power profile, a thermal daemon, a person): these are not the numbers of this CPU"
	if len(capped) > 0 {
		highest := func(p *host.Policy) string { return number(p.HighestKHz) }
		if most := capped[0].HighestKHz; most != nil {
			f.Value += " of a possible " + hertz(*most*1000)
		}
		f.Change, f.Undo = toPolicies(capped, "scaling_max_freq", highest), maxBack(capped)
		if len(capped) < len(s.Policies) {
			f.Value += fmt.Sprintf(" in %d of %d policies", len(capped), len(s.Policies))
			f.Change = explicit(capped, highest)
			f.Undo = explicit(capped, func(p *host.Policy) string { return number(p.MaxKHz) })
		}
	}
	if p := s.MaxPercent; p != nil && p.Value < 100 {
		f.Value += fmt.Sprintf("; max_perf_pct is %d%%", p.Value)
		f.Change = append(f.Change, echo("100", p.Path))
		f.Undo = append(f.Undo, echo(strconv.FormatInt(p.Value, 10), p.Path))
	}
	return f
}

// explicit names every policy's file: a pattern would reach those that are not
// meant.
func explicit(policies []host.Policy, value func(*host.Policy) string) []string {
	var commands []string
	for i := range policies {
		commands = append(commands, toPolicies(policies[i:i+1], "scaling_max_freq", value)...)
	}
	return commands
}

// nearLimit is how close to its limit, in °C, a thermometer is hot: a core that
// starts to work warms up by more within a second.
const nearLimit = 10

func thermal(c *Case) []Finding {
	s := &c.Survey
	t := &s.Thermal
	f := Finding{Why: "a CPU that is too hot lowers its clock, more in each run than in the one before"}
	if len(t.Zones) == 0 && t.Throttled == nil && len(t.Cooled) == 0 {
		return lacking(s, "/sys/class/thermal", "thermometer", f.Why)
	}
	var parts []string
	f.List = InOrder
	for _, z := range t.Zones {
		text := fmt.Sprintf("%s %.0f °C", cmp.Or(z.Name, z.Path), z.Celsius)
		if z.Limit != nil {
			text += fmt.Sprintf(" of %.0f °C", *z.Limit)
			if z.Celsius > *z.Limit-nearLimit {
				f.List = Warning
				text += " (hot)"
			}
		}
		parts = append(parts, text)
	}
	if n := t.Throttled; n != nil {
		parts = append(parts, fmt.Sprintf("throttled %d times since boot", *n))
		if *n > 0 && f.List == InOrder {
			f.List = Advice
		}
	}
	if len(t.Cooled) > 0 {
		f.List = Warning
		parts = append(parts, "held back now by "+strings.Join(t.Cooled, ", "))
	}
	f.Value = strings.Join(parts, "; ")
	if f.List == InOrder {
		f.Why = "nothing is near the temperature at which the clock goes down"
	} else {
		f.Why += ": let it cool (a longer idle in [plan])"
	}
	return []Finding{f}
}

// hertz writes a frequency.
func hertz(hz int64) string { return strconv.FormatFloat(float64(hz)/1e9, 'g', 4, 64) + " GHz" }

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
