package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"goset/cpulist"
)

// The folder of the CPUs, and cpufreq's below it.
const (
	cpuFolder    = "/sys/devices/system/cpu"
	policyFolder = cpuFolder + "/cpufreq"
)

// clockTolerance is how far a policy's limits may be from the frequency that
// was asked for: drivers round to their own steps.
const clockTolerance = 0.05

// policy is one cpufreq policy: CPUs whose clock changes together
// (Documentation/admin-guide/pm/cpufreq.rst). Frequencies are in kHz, as the
// kernel's files have them; 0 is one that the driver does not tell.
type policy struct {
	dir              string // /sys/devices/system/cpu/cpufreq/policy0
	cpus             cpulist.Set
	governor         string
	governors        []string
	lowest, highest  int64 // of the hardware
	least, most      int64 // scaling_min_freq and scaling_max_freq, in force
	base             int64
	steps            []int64 // ascending; none: any frequency
	hasBoost, hasEPP bool    // it has files of its own for these
}

func (p *policy) name() string            { return filepath.Base(p.dir) }
func (p *policy) file(name string) string { return p.dir + "/" + name }

// readPolicies reads the policies of the CPUs, or all when cpus is empty. A
// policy all of whose CPUs are offline answers EBUSY and is passed over.
func readPolicies(k kernel, cpus cpulist.Set) ([]policy, error) {
	names, err := k.entries(policyFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int { return policyNumber(a) - policyNumber(b) })
	var policies []policy
	for _, name := range names {
		if policyNumber(name) < 0 {
			continue
		}
		p, err := readPolicy(k, policyFolder+"/"+name)
		if errors.Is(err, syscall.EBUSY) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if cpus.Empty() || p.cpus.Intersects(cpus) {
			policies = append(policies, *p)
		}
	}
	return policies, nil
}

// policyNumber is the number of a policy's folder; -1 for other entries.
func policyNumber(name string) int {
	digits, ok := strings.CutPrefix(name, "policy")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 {
		return -1
	}
	return n
}

// readPolicy reads one policy.
func readPolicy(k kernel, dir string) (*policy, error) {
	p := &policy{dir: dir}
	text, err := k.readFile(p.file("affected_cpus"))
	if err != nil {
		return nil, err
	}
	if p.cpus, err = parseSpaced(text); err != nil {
		return nil, fmt.Errorf("cannot read %s: %v", p.file("affected_cpus"), err)
	}
	if p.cpus.Empty() {
		return nil, syscall.EBUSY
	}
	if p.governor, err = k.readFile(p.file("scaling_governor")); err != nil {
		return nil, err
	}
	governors, err := optionalFile(k, p.file("scaling_available_governors"))
	if err != nil {
		return nil, err
	}
	p.governors = strings.Fields(governors)
	for _, f := range []struct {
		name string
		to   *int64
	}{
		{"cpuinfo_min_freq", &p.lowest}, {"cpuinfo_max_freq", &p.highest},
		{"scaling_min_freq", &p.least}, {"scaling_max_freq", &p.most},
	} {
		if *f.to, err = readKHz(k, p.file(f.name)); err != nil {
			return nil, err
		}
	}
	if p.steps, err = readSteps(k, p.file("scaling_available_frequencies")); err != nil {
		return nil, err
	}
	p.hasBoost = exists(k, p.file("boost"))
	p.hasEPP = exists(k, p.file("energy_performance_preference"))
	p.base, err = readBase(k, p)
	return p, err
}

// readBase finds the frequency that the maker rates the CPU for: as the driver
// tells it, as ACPI tells it (in MHz), or the highest step of a driver that
// lists those above it as boost steps.
func readBase(k kernel, p *policy) (int64, error) {
	if text, err := optionalFile(k, p.file("base_frequency")); err != nil || text != "" {
		if err != nil {
			return 0, err
		}
		return parseKHz(text)
	}
	nominal := fmt.Sprintf("%s/cpu%d/acpi_cppc/nominal_freq", cpuFolder, p.cpus.First())
	if text, err := optionalFile(k, nominal); err != nil || text != "" {
		if err != nil {
			return 0, err
		}
		// ACPI's table has it in MHz, and 0 where it leaves it out.
		mhz, err := parseKHz(text)
		if err != nil || mhz > 0 {
			return 1000 * mhz, err
		}
	}
	if exists(k, p.file("scaling_boost_frequencies")) && len(p.steps) > 0 {
		return p.steps[len(p.steps)-1], nil
	}
	return 0, nil
}

// optionalFile reads a file that the kernel may not have: then it is "".
func optionalFile(k kernel, path string) (string, error) {
	text, err := k.readFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.EOPNOTSUPP) {
		return "", nil
	}
	return text, err
}

// parseSpaced reads CPUs as cpufreq lists them: "2 3", not "2-3".
func parseSpaced(text string) (cpulist.Set, error) {
	return cpulist.Parse(strings.Join(strings.Fields(text), ","))
}

// parseKHz reads one frequency of a file.
func parseKHz(text string) (int64, error) {
	v, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || v < 0 || v > 1e12 {
		return 0, fmt.Errorf("%.40q is no frequency in kHz", text)
	}
	return v, nil
}

func readKHz(k kernel, path string) (int64, error) {
	text, err := k.readFile(path)
	if err != nil {
		return 0, err
	}
	v, err := parseKHz(text)
	if err != nil {
		return 0, fmt.Errorf("cannot read %s: %v", path, err)
	}
	return v, nil
}

// readSteps reads the frequencies that a driver has, ascending.
func readSteps(k kernel, path string) ([]int64, error) {
	text, err := optionalFile(k, path)
	if err != nil {
		return nil, err
	}
	steps, err := parseSteps(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %v", path, err)
	}
	return steps, nil
}

func parseSteps(text string) ([]int64, error) {
	var steps []int64
	for _, word := range strings.Fields(text) {
		v, err := parseKHz(word)
		if err != nil {
			return nil, err
		}
		steps = append(steps, v)
	}
	slices.Sort(steps)
	return slices.Compact(steps), nil
}

// noCpufreq is what is said of CPUs whose clock this machine does not let
// anybody set.
func noCpufreq(what string) *Unsupported {
	return &Unsupported{
		Reason: "this machine has no cpufreq, as virtual machines have none (" + policyFolder + " has no policies)",
		Hint:   fmt.Sprintf("leave %q out, or name it in optional to run without it", what),
	}
}

// taskPolicies reads the policies of the run's CPUs. Before they are chosen, it
// is all policies; nil findings: there is one for every CPU.
func taskPolicies(r *applied, layer string) ([]policy, *Unsupported) {
	policies, err := readPolicies(r.kernel, r.cpus)
	if err != nil {
		return nil, &Unsupported{Reason: err.Error(), Hint: fmt.Sprintf("leave %q out", layer)}
	}
	if len(policies) == 0 {
		return nil, noCpufreq(layer)
	}
	var covered cpulist.Set
	for _, p := range policies {
		covered = covered.Union(p.cpus)
	}
	if lacking := r.cpus.Minus(covered); !lacking.Empty() {
		return nil, &Unsupported{Reason: "no cpufreq policy covers " + named(lacking), Hint: fmt.Sprintf("choose among %s", covered)}
	}
	return policies, nil
}

// frequencyAsk is what a mode asks of the clock: one of the three.
type frequencyAsk struct {
	base    bool
	khz     int64
	percent float64 // of the highest
}

// parseFrequency reads "base", "2.4GHz" or "70%".
func parseFrequency(text string) (frequencyAsk, error) {
	bad := func() (frequencyAsk, error) {
		return frequencyAsk{}, fmt.Errorf(`frequency must be "base", a frequency as "2.4GHz" or a part of the highest as "70%%", got %q`, text)
	}
	if text == "base" {
		return frequencyAsk{base: true}, nil
	}
	unit, number := 0.0, ""
	for suffix, khz := range map[string]float64{"GHz": 1e6, "MHz": 1e3, "kHz": 1, "%": -1} {
		if n, ok := strings.CutSuffix(text, suffix); ok {
			unit, number = khz, strings.TrimSuffix(n, " ")
		}
	}
	if unit == 0 || number == "" || strings.Trim(number, "0123456789.") != "" {
		return bad()
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v <= 0 || unit < 0 && v > 100 || unit > 0 && v*unit > 1e9 {
		return bad()
	}
	if unit < 0 {
		return frequencyAsk{percent: v}, nil
	}
	khz := int64(v*unit + 0.5)
	if khz == 0 {
		return bad()
	}
	return frequencyAsk{khz: khz}, nil
}

// target is the frequency to hold a policy at, in kHz: what is asked, or the
// driver's step that is nearest to it.
func (a frequencyAsk) target(p *policy) (int64, *Unsupported) {
	want := a.khz
	switch {
	case a.base && p.base == 0:
		return 0, &Unsupported{Reason: fmt.Sprintf("the driver of %s does not tell the base frequency", p.name()), Hint: `give it as "2.4GHz"`}
	case a.base:
		want = p.base
	case a.percent > 0:
		want = int64(float64(p.highest)*a.percent/100 + 0.5)
	}
	got := want
	if len(p.steps) > 0 {
		got = nearest(p.steps, want)
	} else if p.highest > 0 {
		got = min(max(want, p.lowest), p.highest)
	}
	if !near(got, want) {
		return 0, &Unsupported{
			Reason: fmt.Sprintf("%s cannot be held at %s: it has %s", named(p.cpus), hertz(want), p.has()),
			Hint:   "ask for one of those",
		}
	}
	return got, nil
}

// has says which frequencies a policy has.
func (p *policy) has() string {
	if len(p.steps) == 0 {
		return hertz(p.lowest) + " to " + hertz(p.highest)
	}
	words := make([]string, len(p.steps))
	for i, s := range p.steps {
		words[i] = hertz(s)
	}
	return "the steps " + strings.Join(words, ", ")
}

func nearest(steps []int64, want int64) int64 {
	best := steps[0]
	for _, s := range steps {
		if abs(s-want) < abs(best-want) {
			best = s
		}
	}
	return best
}

func abs(v int64) int64 { return max(v, -v) }

// near says that two frequencies are the same within clockTolerance.
func near(got, want int64) bool { return float64(abs(got-want)) <= clockTolerance*float64(want) }

// hertz writes a frequency in kHz as people do.
func hertz(khz int64) string {
	for _, u := range []struct {
		khz  int64
		name string
	}{{1e6, "GHz"}, {1e3, "MHz"}} {
		if khz >= u.khz {
			return strconv.FormatFloat(float64(khz)/float64(u.khz), 'f', -1, 64) + u.name
		}
	}
	return strconv.FormatInt(khz, 10) + "kHz"
}

// limitWrites are the two writes that hold a policy at one frequency. While the
// limits move, the lower one must not pass the upper one: before kernel 5.3
// that is refused, later it is clamped, and the read-back of the first write
// would not be what was written.
func (p *policy) limitWrites(khz int64) [2]string {
	least, most := p.file("scaling_min_freq"), p.file("scaling_max_freq")
	if khz > p.most {
		return [2]string{most, least}
	}
	return [2]string{least, most}
}
