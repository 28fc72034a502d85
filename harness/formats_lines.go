package harness

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"goset/internal/lazy"
	"goset/metric"
)

var (
	perfEvent = lazy.Regexp(`^[A-Za-z_][^\s"'<>;|()]*$`)
	perfShare = lazy.Regexp(`^\d+(?:\.\d+)?%$`)
	perfWhere = lazy.Regexp(`^(?:CPU\d+|S\d+(?:-D\d+)?(?:-C\d+)?(?:-L\S+)?|N\d+|D\d+)$`)
	perfStamp = lazy.Regexp(`^ *\d+\.\d{9}$`)
)

// readPerf reads a line of perf stat -x, (perf-stat(1), CSV FORMAT):
//
//	value,unit,event[,variance],run time,share of time counted[,metric,its unit]
//
// Events may have commas within slashes. Lines that are not perf's are passed
// over: the measured program writes to the same stream.
func readPerf(line string, out *formatted) error {
	if !strings.Contains(line, ",") || strings.HasPrefix(line, "#") {
		return nil
	}
	f := perfFields(line)
	switch {
	case len(f) > 5 && perfStamp().MatchString(f[0]) && perfValue(f[1]):
		return errors.New("intervals of perf stat -I are no totals: leave -I out")
	case len(f) > 4 && perfWhere().MatchString(f[0]):
		return errors.New("per-CPU counts of perf stat (-A, --per-socket, …) are no totals: leave that out")
	case len(f) < 5:
		return nil
	}
	rest, summary := f[3:], ""
	if perfShare().MatchString(rest[0]) {
		rest = rest[1:] // variance of perf stat -r
		summary = "perf stat -r prints the means of its runs and not the runs: leave -r out and start it once for each run, with --append"
	}
	if len(rest) < 2 {
		return nil
	}
	_, errTime := strconv.ParseUint(rest[0], 10, 64)
	share, errShare := strconv.ParseFloat(rest[1], 64)
	if event := f[2]; perfEvent().MatchString(event) && perfValue(f[0]) && errTime == nil && errShare == nil {
		perfCount(f[0], quantity{name: event, unit: f[1], summary: summary}, share, out)
		perfMetric(quantity{name: event, summary: summary}, rest[2:], out)
	}
	return nil
}

// perfFields splits at the commas outside of slashes.
func perfFields(line string) []string {
	var out []string
	open := false
	start := 0
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '/':
			open = !open
		case line[i] == ',' && !open:
			out = append(out, line[start:i])
			start = i + 1
		}
	}
	return append(out, line[start:])
}

func perfValue(text string) bool {
	if strings.HasPrefix(text, "<not ") && strings.HasSuffix(text, ">") {
		return true
	}
	_, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return err == nil
}

func perfCount(text string, q quantity, share float64, out *formatted) {
	if strings.HasPrefix(text, "<") {
		out.absent(q.name, "perf says "+text)
		return
	}
	if share < 100 {
		out.warn("%s was counted %v%% of the time and scaled up by perf", quote(q.name), share)
	}
	out.add(q, strings.TrimSpace(text))
}

// perfMetric takes what perf computed from an event: "1.23,insn per cycle".
func perfMetric(event quantity, f []string, out *formatted) {
	if len(f) < 2 {
		return
	}
	text, what := strings.TrimSpace(f[0]), strings.TrimSpace(f[1])
	if text == "" || what == "" || !perfValue(text) {
		return
	}
	if strings.ContainsAny(strings.ToLower(text), "<ni") { // <not …>, nan, inf
		out.absent(event.name+" "+what, "perf says "+text)
		return
	}
	event.name, event.hidden = event.name+" "+what, true
	out.add(event, text)
}

// readTime reads a line of GNU time -v: a tab, a label, a colon, a value.
func readTime(line string, out *formatted) error {
	label, ok := strings.CutPrefix(line, "\t")
	if !ok {
		return nil
	}
	if text, ok := strings.CutPrefix(label, "Elapsed (wall clock) time (h:mm:ss or m:ss): "); ok {
		seconds, err := clockSeconds(text)
		if err != nil {
			return err
		}
		out.add(quantity{name: "Elapsed time", unit: "s", better: metric.Lower}, seconds)
		return nil
	}
	label, text, ok := strings.Cut(label, ": ")
	if !ok {
		return nil
	}
	for _, l := range timeLabels() {
		if l.label != label {
			continue
		}
		text = strings.TrimSuffix(strings.TrimSpace(text), "%")
		if text == "?" {
			out.absent(l.q.name, "time says ?")
			return nil
		}
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%s is no number of %s", quote(text), quote(label))
		}
		out.add(l.q, text)
	}
	return nil
}

// timeLabel is a line of GNU time. Its kbytes are of 1024 bytes.
type timeLabel struct {
	label string
	q     quantity
}

func timeLabels() []timeLabel {
	lower := func(name, unit string, hidden bool) quantity {
		return quantity{name: name, unit: unit, better: metric.Lower, hidden: hidden}
	}
	return []timeLabel{
		{"User time (seconds)", lower("User time", "s", false)},
		{"System time (seconds)", lower("System time", "s", false)},
		{"Percent of CPU this job got", quantity{name: "Percent of CPU", unit: "%", hidden: true}},
		{"Maximum resident set size (kbytes)", lower("Maximum resident set size", "KiB", false)},
		{"Average resident set size (kbytes)", lower("Average resident set size", "KiB", true)},
		{"Major (requiring I/O) page faults", lower("Major page faults", "", true)},
		{"Minor (reclaiming a frame) page faults", lower("Minor page faults", "", true)},
		{"Voluntary context switches", lower("Voluntary context switches", "", true)},
		{"Involuntary context switches", lower("Involuntary context switches", "", true)},
		{"Swaps", lower("Swaps", "", true)},
		{"File system inputs", lower("File system inputs", "", true)},
		{"File system outputs", lower("File system outputs", "", true)},
		{"Socket messages sent", lower("Socket messages sent", "", true)},
		{"Socket messages received", lower("Socket messages received", "", true)},
		{"Signals delivered", lower("Signals delivered", "", true)},
	}
}

var clockText = lazy.Regexp(`^(?:(\d{1,6}):)?(\d{1,6}):(\d{2}(?:\.\d{1,9})?)$`)

// clockSeconds turns "1:02:03" or "2:03.45" into seconds.
func clockSeconds(text string) (string, error) {
	m := clockText().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return "", fmt.Errorf("%s is no time as h:mm:ss or m:ss", quote(text))
	}
	var total float64
	for _, part := range m[1:] {
		v, err := strconv.ParseFloat(part, 64)
		if part != "" && err != nil {
			return "", fmt.Errorf("%s is no time as h:mm:ss or m:ss", quote(text))
		}
		total = 60*total + v
	}
	return strconv.FormatFloat(total, 'f', -1, 64), nil
}
