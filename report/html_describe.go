package report

import (
	"fmt"
	"slices"
	"strings"

	"goset/harness"
)

// described is one name with what it stands for.
type described struct{ Name, What string }

// describeExperiment says in a few words what each workload and mode of an experiment is.
// A text that this version cannot read has none: the page shows the text itself
// further down.
func describeExperiment(m *harness.Manifest) (workloads, modes []described) {
	if m == nil || m.Text == "" {
		return nil, nil
	}
	exp, err := harness.Load(m.Name+".toml", []byte(m.Text), harness.LoadOptions{})
	if err != nil {
		return nil, nil
	}
	places := dataPlaces(exp, harness.CachesOf(m.Host))
	for i := range exp.Workloads {
		w := &exp.Workloads[i]
		workloads = append(workloads, described{w.Name, workloadWords(w) + places[w.Name]})
	}
	control := slices.ContainsFunc(m.Treatments, func(t harness.Treatment) bool { return isControl(t.Mode, m.Baseline) })
	for i := range exp.Modes {
		mode := &exp.Modes[i]
		if !hasMode(m.Treatments, mode.Name) {
			continue // all of its treatments are skipped
		}
		what := ModeWords(mode)
		if mode.Name == m.Baseline {
			what += asBaseline
		}
		modes = append(modes, described{mode.Name, what})
		if mode.Name == m.Baseline && control {
			modes = append(modes, described{mode.Name + harness.ControlSuffix, "the baseline once more in every round, to see what differs by chance"})
		}
	}
	return workloads, modes
}

// dataPlaces says of every workload that is a kernel with data in which cache
// that lies, once for each size.
func dataPlaces(exp *harness.Experiment, caches harness.Caches) map[string]string {
	treatments, err := exp.Treatments()
	if err != nil {
		return nil
	}
	said := map[string][]string{}
	for i := range treatments {
		t := &treatments[i]
		if place := t.DataPlace(caches); place != "" && !slices.Contains(said[t.Workload], place) {
			said[t.Workload] = append(said[t.Workload], place)
		}
	}
	places := map[string]string{}
	for name, list := range said {
		if len(list) > maxDataPlaces {
			list = append(list[:maxDataPlaces:maxDataPlaces], fmt.Sprintf("and %d further sizes", len(list)-maxDataPlaces))
		}
		places[name] = " (" + strings.Join(list, "; ") + ")"
	}
	return places
}

// maxDataPlaces is how many sizes of one workload are told.
const maxDataPlaces = 6

// hasMode is true where there are treatments of a mode, and where it is not known
// which there are.
func hasMode(treatments []harness.Treatment, name string) bool {
	return len(treatments) == 0 || slices.ContainsFunc(treatments, func(t harness.Treatment) bool { return t.Mode == name })
}

// maxDescribed bounds a description in runes: a command can be a page long.
const maxDescribed = 80

func workloadWords(w *harness.Workload) string {
	kernels := map[string]string{
		"jitter": "one dependent chain of arithmetic: how even a core's pace is",
		"chase":  "dependent loads in random order: the latency of where they are served from",
		"matmul": "32×32 matrix products in the first-level cache: arithmetic at full speed",
		"stream": "copies and sums of arrays: the bandwidth of where those are",
	}
	switch {
	case w.Kernel != "":
		if k, ok := kernels[w.Kernel]; ok {
			return k
		}
		return "kernel " + w.Kernel
	case len(w.Command) > 0:
		return shortened("runs " + oneLine(strings.Join(w.Command, " ")))
	case w.Go != nil:
		return "Go benchmarks"
	}
	return ""
}

func shortened(s string) string {
	if r := []rune(s); len(r) > maxDescribed {
		return string(r[:maxDescribed-1]) + "…"
	}
	return s
}

// modesOf puts what the modes do into a sentence; "": none does anything, or the
// text of the experiment cannot be read.
func modesOf(m *harness.Manifest) string {
	_, modes := describeExperiment(m)
	var parts []string
	does := false
	for _, mode := range modes {
		if strings.HasSuffix(mode.Name, harness.ControlSuffix) {
			continue
		}
		does = does || strings.TrimSuffix(mode.What, asBaseline) != asPlaced
		parts = append(parts, mode.Name+": "+mode.What)
	}
	if !does {
		return ""
	}
	return "Modes: " + strings.Join(parts, "; ") + "."
}

// The words for a mode that asks for no CPUs, and for the one that others are
// compared with.
const (
	asPlaced   = "as the scheduler places it"
	asBaseline = " (the baseline)"
)

// ModeWords says what a mode does: its layers, in the order of the file.
func ModeWords(m *harness.ModeSpec) string {
	pinned := slices.ContainsFunc(m.Keys, func(k harness.Param) bool { return k.Name == "cpus" })
	var parts []string
	if !pinned {
		parts = []string{asPlaced}
	}
	for _, k := range m.Keys {
		value := strings.Join(k.Levels, " or ")
		if k.Name == "n" && !pinned {
			if value != "1" { // no CPUs are taken: n is what {n} stands for
				parts = append(parts, "n = "+value)
			}
			continue
		}
		if p := layerWords(k.Name, value); p != "" {
			parts = append(parts, p)
		}
	}
	if len(m.Layers.Wrap) > 0 {
		parts = append(parts, shortened("inside "+oneLine(strings.Join(m.Layers.Wrap, " "))))
	}
	return strings.Join(parts, ", ")
}

// layerWords says what one key of a mode does.
func layerWords(key, value string) string {
	yes := map[string]string{"cgroup": "a cpuset of its own", "steer": "device interrupts off them", "fence": "their SMT siblings kept empty",
		"shield": "the other tasks off them", "stable_env": "an environment of fixed size"}
	switch {
	case value == "false":
		return ""
	case value == "true" && yes[key] != "":
		return yes[key]
	case key == "cpus" && value == "rotate":
		return "pinned to CPUs that rotate from run to run"
	case key == "cpus" && value == "quietest":
		return "pinned to the CPUs that a sample shows as quietest"
	case key == "cpus":
		return "pinned to CPU " + value
	case key == "n" && value == "1":
		return "one CPU"
	case key == "n":
		return value + " CPUs"
	}
	return shortened(fmt.Sprintf("%s = %s", key, oneLine(value)))
}
