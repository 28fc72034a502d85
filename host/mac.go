package host

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Mac is what is known of a Mac that can spoil a measurement. There are no
// files to read: macOS tells it through commands of its own, and of most things
// nothing. Absent is not zero.
type Mac struct {
	Model  string // machdep.cpu.brand_string
	CPUs   *int64 // hw.logicalcpu
	Levels []CoreLevel
	// PowerSource is "AC Power" or "Battery Power".
	PowerSource string
	// PowerMode is 0 automatic, 1 low, 2 high; LowPowerMode the same knob of
	// Macs that have but the low one.
	PowerMode, LowPowerMode *int64
	// SpeedLimit is in hundredths of the full speed; nil on Macs with chips of
	// Apple's own, which do not say.
	SpeedLimit *int64
	// ThermalQuiet is true when macOS has recorded no thermal warning.
	ThermalQuiet *bool
	// Indexed are the volumes that Spotlight indexes; nil: not known.
	Indexed []string
	Load    []float64
	// SwapUsed is in bytes.
	SwapUsed *int64
	// Hypervisor is true in a virtual machine.
	Hypervisor *bool
	Busiest    []BusyProcess
	Unread     []Unread
}

// CoreLevel is one kind of cores, the fastest first.
type CoreLevel struct {
	Name string // "Performance", "Efficiency"
	CPUs int64
}

// Command runs a program and gives its stdout.
type Command func(name string, args ...string) (string, error)

// ReadMac asks macOS. It never fails as a whole: what a command does not say is
// named in Unread.
func ReadMac(run Command) Mac {
	r := macReader{run: run}
	r.system()
	r.power()
	r.thermal()
	r.spotlight()
	r.busiest()
	return r.mac
}

type macReader struct {
	run Command
	mac Mac
}

// Cause says why a command did not tell; false when it did.
func (m *Mac) Cause(command string) (string, bool) {
	for _, u := range m.Unread {
		if u.What == command {
			return u.Cause, true
		}
	}
	return "", false
}

// ask runs a command; "" with a note when it fails.
func (r *macReader) ask(name string, args ...string) string {
	text, err := r.run(name, args...)
	if err != nil {
		r.note(strings.Join(append([]string{name}, args...), " "), err.Error())
		return ""
	}
	return text
}

func (r *macReader) note(what, cause string) {
	r.mac.Unread = append(r.mac.Unread, Unread{What: what, Cause: cause})
}

// sysctl asks for one name. A name that this Mac does not have is absent.
func (r *macReader) sysctl(name string) string {
	text, err := r.run("sysctl", "-n", name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}

func (r *macReader) sysctlNumber(name string) *int64 {
	text := r.sysctl(name)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.note("sysctl -n "+name, strconv.Quote(text)+" is not a number")
		return nil
	}
	return &n
}

func (r *macReader) system() {
	m := &r.mac
	m.Model = r.sysctl("machdep.cpu.brand_string")
	m.CPUs = r.sysctlNumber("hw.logicalcpu")
	if n := r.sysctlNumber("hw.nperflevels"); n != nil {
		for i := range min(*n, 8) {
			level := fmt.Sprintf("hw.perflevel%d.", i)
			if cpus := r.sysctlNumber(level + "logicalcpu"); cpus != nil {
				m.Levels = append(m.Levels, CoreLevel{Name: r.sysctl(level + "name"), CPUs: *cpus})
			}
		}
	}
	if vmm := r.sysctlNumber("kern.hv_vmm_present"); vmm != nil {
		m.Hypervisor = new(*vmm != 0)
	}
	if load, ok := parseMacLoad(r.sysctl("vm.loadavg")); ok {
		m.Load = load
	} else {
		r.note("sysctl -n vm.loadavg", "it names no three averages")
	}
	if used, ok := parseSwapUsage(r.sysctl("vm.swapusage")); ok {
		m.SwapUsed = &used
	} else {
		r.note("sysctl -n vm.swapusage", "it names nothing used")
	}
}

// parseMacLoad reads "{ 1.52 1.60 1.71 }"; some languages write 1,52.
func parseMacLoad(text string) ([]float64, bool) {
	fields := strings.Fields(strings.Trim(text, "{} \n"))
	if len(fields) != 3 {
		return nil, false
	}
	var load []float64
	for _, field := range fields {
		v, err := strconv.ParseFloat(strings.Replace(field, ",", ".", 1), 64)
		if err != nil || !(v >= 0 && v < 1e6) {
			return nil, false
		}
		load = append(load, v)
	}
	return load, true
}

// parseSwapUsage reads "total = 2048.00M  used = 512.25M  free = …", in bytes.
func parseSwapUsage(text string) (int64, bool) {
	_, rest, ok := strings.Cut(text, "used = ")
	if !ok {
		return 0, false
	}
	word, _, _ := strings.Cut(rest, " ")
	number, unit := strings.TrimRight(word, "KMGT"), strings.TrimLeft(word, "0123456789.,")
	v, err := strconv.ParseFloat(strings.Replace(number, ",", ".", 1), 64)
	scale, known := map[string]float64{"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}[unit]
	if err != nil || !known || !(v >= 0 && v*scale < 1<<60) {
		return 0, false
	}
	return int64(v * scale), true
}

// power reads the settings that are in use, and where the power comes from
// (pmset(1)).
func (r *macReader) power() {
	if text := r.ask("pmset", "-g"); text != "" {
		r.mac.PowerMode = setting(text, "powermode")
		r.mac.LowPowerMode = setting(text, "lowpowermode")
	}
	_, rest, _ := strings.Cut(r.ask("pmset", "-g", "ps"), "'")
	r.mac.PowerSource, _, _ = strings.Cut(rest, "'")
}

// setting finds " powermode            0".
func setting(text, name string) *int64 {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != name {
			continue
		}
		if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			return &n
		}
	}
	return nil
}

// thermal reads "CPU_Speed_Limit = 100", or notes that nothing was recorded.
func (r *macReader) thermal() {
	text := r.ask("pmset", "-g", "therm")
	if text == "" {
		return
	}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, "=")
		if ok && strings.TrimSpace(name) == "CPU_Speed_Limit" {
			if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil {
				r.mac.SpeedLimit = &n
			}
		}
	}
	if strings.Contains(strings.ToLower(text), "thermal warning level") {
		r.mac.ThermalQuiet = new(strings.Contains(text, "No thermal warning level has been recorded"))
	}
}

// spotlight reads mdutil(1): a line for every volume and, indented below, whether
// it is indexed.
func (r *macReader) spotlight() {
	text := r.ask("mdutil", "-a", "-s")
	volume := ""
	for line := range strings.Lines(text) {
		indented := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " ")
		line = strings.TrimSpace(line)
		switch {
		case !indented && strings.HasSuffix(line, ":"):
			volume = strings.TrimSuffix(line, ":")
		case strings.HasPrefix(line, "Indexing enabled") && volume != "":
			r.mac.Indexed = append(r.mac.Indexed, volume)
		}
	}
	if text != "" && r.mac.Indexed == nil {
		r.mac.Indexed = []string{}
	}
}

// busiest reads ps(1). Its shares are averages over the last minute.
func (r *macReader) busiest() {
	for line := range strings.Lines(r.ask("ps", "-A", "-c", "-o", "pid=,pcpu=,comm=")) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		pid, err1 := strconv.Atoi(fields[0])
		share, err2 := strconv.ParseFloat(strings.Replace(fields[1], ",", ".", 1), 64)
		if err1 != nil || err2 != nil || !(share > 0 && share < 1e6) || fields[2] == "ps" {
			continue
		}
		r.mac.Busiest = append(r.mac.Busiest, BusyProcess{PID: pid, Name: strings.Join(fields[2:], " "), CPUs: share / 100, Kernel: pid == 0})
	}
	slices.SortFunc(r.mac.Busiest, func(x, y BusyProcess) int {
		return cmp.Or(cmp.Compare(y.CPUs, x.CPUs), cmp.Compare(x.PID, y.PID))
	})
	r.mac.Busiest = r.mac.Busiest[:min(len(r.mac.Busiest), mostBusy)]
}
