package host

import (
	"slices"
	"strconv"
	"strings"

	"goset/cpulist"
)

// Survey is what is known of all that can spoil a measurement here: the facts,
// and what they have no need of. What the kernel does not have is absent; what
// is there and cannot be read is in Facts.Unread.
type Survey struct {
	Facts Facts
	// Local is true of the machine that this runs on: what is said of a process
	// is said of this one.
	Local bool

	Policies []Policy
	// Turbo are the knobs that allow more than the base frequency: one for the
	// machine, or one for every policy.
	Turbo []Knob
	// MinPercent and MaxPercent bound intel_pstate in hundredths of the highest
	// frequency.
	MinPercent, MaxPercent *Knob

	// Offline are CPUs that are present and not online.
	Offline *cpulist.Set
	Thermal Thermal
	Swaps   []Swap
	// Clocksources can be chosen from.
	Clocksources []string

	// Movers and Perflocks are nil where no processes are to be seen.
	Movers, Perflocks []Mover
	// Hidden is true where the processes of others cannot be seen (hidepid).
	Hidden bool

	// Allowed are the CPUs that this process may use, Limits those of the
	// control groups that it is in.
	Allowed *cpulist.Set
	Limits  Limits

	// Activity is nil where nobody watched for a while, as in another machine's
	// files.
	Activity *Activity
}

// ReadSurvey reads the machine under a root. Like [ReadFacts] it never fails
// as a whole, and is not for the time of a run. [FS.Watch] has the rest.
func ReadSurvey(f FS) Survey {
	r := surveyor{factReader: factReader{fs: f}}
	r.facts = ReadFacts(f)
	r.survey.Local = f.IsLocal()
	r.clock()
	r.offline()
	r.thermal()
	r.swaps()
	r.survey.Clocksources = r.words("sys/devices/system/clocksource/clocksource0/available_clocksource")
	r.processes()
	r.self()
	r.survey.Facts = r.facts
	return r.survey
}

type surveyor struct {
	factReader
	survey Survey
}

// Cause says why a file could not be read; false when it was read or is simply
// not there.
func (s *Survey) Cause(file string) (string, bool) {
	for _, u := range s.Facts.Unread {
		if u.What == file {
			return u.Cause, true
		}
	}
	return "", false
}

// Below finds a folder that could not be read, or a file in it.
func (s *Survey) Below(folder string) (Unread, bool) {
	for _, u := range s.Facts.Unread {
		if u.What == folder || strings.HasPrefix(u.What, folder+"/") {
			return u, true
		}
	}
	return Unread{}, false
}

// Note adds something that could not be read.
func (s *Survey) Note(what string, err error) {
	if err != nil {
		s.Facts.Unread = append(s.Facts.Unread, Unread{What: what, Cause: cause(err)})
	}
}

// words reads an optional list of words.
func (r *surveyor) words(name string) []string {
	return slices.Collect(strings.FieldsSeq(r.text(name)))
}

// clock reads how frequencies are chosen and bounded.
func (r *surveyor) clock() {
	s := &r.survey
	const base = "sys/devices/system/cpu/"
	for _, dir := range r.policies() {
		p, ok := r.policy(dir)
		if !ok {
			continue
		}
		p.Governors = r.words(dir + "/scaling_available_governors")
		p.LowestKHz = r.number(dir + "/cpuinfo_min_freq")
		p.HighestKHz = r.number(dir + "/cpuinfo_max_freq")
		p.BaseKHz = r.number(dir + "/base_frequency")
		s.Policies = append(s.Policies, p)
	}
	s.MinPercent = r.knob(base + "intel_pstate/min_perf_pct")
	s.MaxPercent = r.knob(base + "intel_pstate/max_perf_pct")
	if k := r.turboKnob(); k != nil {
		s.Turbo = []Knob{*k}
		return
	}
	// Since kernel 6.11 policies have knobs of their own.
	for _, p := range s.Policies {
		if k := r.knob(p.Path[1:] + "/boost"); k != nil {
			s.Turbo = append(s.Turbo, *k)
		}
	}
}

func (r *surveyor) offline() {
	present, err := r.fs.cpus("sys/devices/system/cpu/present")
	r.note("/sys/devices/system/cpu/present", err)
	if err == nil && r.facts.Topology != nil {
		r.survey.Offline = new(present.Minus(r.facts.Topology.Online))
	}
}

// Swap is a line of /proc/swaps. Sizes are in bytes.
type Swap struct {
	Path       string
	Size, Used int64
	// Priority is negative where the kernel chose it.
	Priority int
}

func (r *surveyor) swaps() {
	text, err := r.fs.read("proc/swaps")
	r.note("/proc/swaps", err)
	if err != nil {
		return
	}
	swaps, bad := parseSwaps(string(text))
	if bad != "" {
		r.facts.Unread = append(r.facts.Unread, Unread{What: "/proc/swaps", Cause: strconv.Quote(bad) + " is no line of it"})
	}
	r.survey.Swaps = swaps
}

// parseSwaps reads "name type size used priority" below a heading, in KiB. Blanks
// in names are \040.
func parseSwaps(text string) (swaps []Swap, bad string) {
	for i, line := range slices.Collect(strings.Lines(text)) {
		fields := strings.Fields(line)
		if i == 0 || len(fields) == 0 {
			continue
		}
		if len(fields) < 5 {
			return nil, strings.TrimSpace(line)
		}
		size, err1 := strconv.ParseInt(fields[2], 10, 52)
		used, err2 := strconv.ParseInt(fields[3], 10, 52)
		priority, err3 := strconv.Atoi(fields[4])
		if err1 != nil || err2 != nil || err3 != nil || size < 0 || used < 0 {
			return nil, strings.TrimSpace(line)
		}
		swaps = append(swaps, Swap{Path: unescape(fields[0]), Size: size * 1024, Used: used * 1024, Priority: priority})
	}
	return swaps, ""
}

// unescape undoes what the kernel does to blanks in paths (seq_path).
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// processes looks for those that move things by themselves.
func (r *surveyor) processes() {
	s := &r.survey
	var err error
	s.Movers, err = r.fs.Movers()
	r.note("/proc", err)
	s.Perflocks, err = r.fs.Perflocks()
	r.note("/proc", err)
	// With hidepid the process of init is there for root alone.
	if s.Local && s.Movers != nil {
		_, err = r.fs.read("proc/1/stat")
		s.Hidden = err != nil
	}
}

// self reads what holds for this process.
func (r *surveyor) self() {
	p, err := r.fs.task("proc/self")
	r.note("/proc/self/status", err)
	if err == nil {
		r.survey.Allowed = p.Allowed
	}
	r.limits()
}
