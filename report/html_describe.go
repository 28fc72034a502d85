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
	for i := range exp.Workloads {
		w := &exp.Workloads[i]
		workloads = append(workloads, described{w.Name, workloadWords(w)})
	}
	control := slices.ContainsFunc(m.Treatments, func(t harness.Treatment) bool { return isControl(t.Mode, m.Baseline) })
	for i := range exp.Modes {
		mode := &exp.Modes[i]
		what := modeWords(mode)
		if mode.Name == m.Baseline {
			what += " (the baseline)"
		}
		modes = append(modes, described{mode.Name, what})
		if mode.Name == m.Baseline && control {
			modes = append(modes, described{mode.Name + harness.ControlSuffix, "the baseline once more in every round, to see what differs by chance"})
		}
	}
	return workloads, modes
}

// maxDescribed bounds a description in runes: a command can be a page long.
const maxDescribed = 80

func workloadWords(w *harness.Workload) string {
	kernels := map[string]string{
		"jitter": "one dependent chain of arithmetic: how even a core's pace is",
		"chase":  "dependent loads in random order: the latency of memory",
		"matmul": "32×32 matrix products in the first-level cache: arithmetic at full speed",
		"stream": "sums over arrays too large for a cache: the bandwidth of memory",
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

func modeWords(m *harness.ModeSpec) string {
	if len(m.Keys) == 0 {
		return "as the scheduler places it"
	}
	var parts []string
	for _, k := range m.Keys {
		if p := layerWords(k.Name, strings.Join(k.Levels, " or ")); p != "" {
			parts = append(parts, p)
		}
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
