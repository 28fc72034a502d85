package host

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strconv"
	"strings"
)

// Source is one kind of file that can be read while a task runs. Reading some
// files makes the kernel interrupt the very CPU that they are about, so that
// each has a rule for the kernels on which reading it was shown to interrupt
// nobody: by [FS.Audit], with a control that must be seen. A source that is not
// proven on a kernel is not read while a task runs.
type Source struct {
	Name  string // as it stands in reports: "frequency"
	About string // what is read from it
	// path is the file that a CPU or a task on it has; "" for none.
	path   func(FS, Target) string
	folder bool // path is a folder, whose names are what is read
	proven func(Kernel) (ok bool, why string)
}

// Target is the CPU, and the task on it, that a source is read about.
type Target struct{ CPU, PID int }

// Kernel is what decides whether a source is silent.
type Kernel struct {
	Arch         string // as Go names it: "amd64"
	Major, Minor int
}

func (k Kernel) String() string { return fmt.Sprintf("%d.%d on %s", k.Major, k.Minor, k.Arch) }

// before compares releases.
func (k Kernel) before(major, minor int) bool {
	return k.Major < major || k.Major == major && k.Minor < minor
}

// Kernel reads which kernel runs.
func (f FS) Kernel() (Kernel, error) {
	release, err := f.text("proc/sys/kernel/osrelease")
	if err != nil {
		return Kernel{}, err
	}
	return parseRelease(release)
}

// parseRelease reads the series of a release as "6.12.95+deb12-cloud-amd64".
func parseRelease(release string) (Kernel, error) {
	k := Kernel{Arch: runtime.GOARCH}
	major, rest, ok := strings.Cut(release, ".")
	minor := rest
	if i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		minor = rest[:i]
	}
	var err1, err2 error
	k.Major, err1 = strconv.Atoi(major)
	k.Minor, err2 = strconv.Atoi(minor)
	if !ok || err1 != nil || err2 != nil || k.Major < 0 || k.Minor < 0 {
		return Kernel{}, fmt.Errorf("kernel release %q does not start with two numbers", release)
	}
	return k, nil
}

// Sources are all that is read while a task runs, and what is left alone
// though it would be of interest.
func Sources() []Source {
	fixed := func(path string) func(FS, Target) string { return func(FS, Target) string { return path } }
	task := func(name string) func(FS, Target) string {
		return func(_ FS, t Target) string { return fmt.Sprintf("proc/%d/task/%d/%s", t.PID, t.PID, name) }
	}
	cpu := func(name string) func(FS, Target) string {
		return func(_ FS, t Target) string { return cpuDir(t.CPU) + "/" + name }
	}
	return []Source{
		{Name: SourceInterrupts, About: "interrupts by row", path: fixed("proc/interrupts"), proven: audited},
		{Name: SourceStat, About: "busy, idle and stolen time", path: fixed("proc/stat"), proven: audited},
		{Name: SourceQueues, About: "run-queue delay of a CPU", path: fixed("proc/schedstat"), proven: audited},
		{Name: SourcePressure, About: "pressure", path: fixed("proc/pressure/cpu"), proven: audited},
		{Name: SourceThreads, About: "threads seen", folder: true, proven: audited,
			path: func(_ FS, t Target) string { return fmt.Sprintf("proc/%d/task", t.PID) }},
		{Name: SourceChildren, About: "processes of the task", path: task("children"), proven: audited},
		{Name: SourceDelay, About: "run-queue delay of the task", path: task("schedstat"), proven: audited},
		{Name: SourceSched, About: "migrations and context switches", path: task("sched"), proven: audited},
		{Name: SourceThrottle, About: "throttle events", path: cpu("thermal_throttle/core_throttle_count"), proven: audited},
		{Name: SourceFrequency, About: "frequency", path: cpu("cpufreq/scaling_cur_freq"), proven: quietFrequency},
		{Name: SourceTemperature, About: "temperature", path: func(f FS, _ Target) string { return f.quietThermometer() }, proven: audited},
	}
}

// The names of the sources.
const (
	SourceInterrupts  = "interrupts"
	SourceStat        = "stat"
	SourceQueues      = "schedstat"
	SourcePressure    = "pressure"
	SourceThreads     = "threads"
	SourceChildren    = "children"
	SourceDelay       = "task schedstat"
	SourceSched       = "task sched"
	SourceThrottle    = "throttle"
	SourceFrequency   = "frequency"
	SourceTemperature = "temperature"
)

// audited is the range of kernels on which the plain counters of procfs and
// sysfs were audited. They are memory that the kernel adds up, and no release
// in between had it otherwise.
func audited(k Kernel) (bool, string) {
	switch {
	case k.Arch != "amd64":
		return false, "not audited on " + k.Arch
	case k.before(6, 1) || !k.before(7, 4):
		return false, fmt.Sprintf("not audited on kernel %d.%d", k.Major, k.Minor)
	}
	return true, ""
}

// quietFrequency: before 5.19, x86 kernels interrupt the CPU to read APERF and
// MPERF, and since then what the tick sampled is printed
// (arch/x86/kernel/cpu/aperfmperf.c). On arm64, cppc_cpufreq interrupts it still.
func quietFrequency(k Kernel) (bool, string) {
	if k.Arch == "amd64" && k.before(5, 19) {
		return false, "before kernel 5.19 reading it interrupts the CPU"
	}
	return audited(k)
}

// quietThermometer is the reading of a thermometer that is no CPU's own
// register: k10temp reads over PCI. coretemp and x86_pkg_temp read a register
// of the CPU, and interrupt it for that. "" when there is none.
func (f FS) quietThermometer() string {
	ids, err := f.numbered("hwmon", "sys/class/hwmon")
	if err != nil {
		return ""
	}
	for id := range ids.All() {
		dir := "sys/class/hwmon/hwmon" + strconv.Itoa(id)
		if name, err := f.text(dir, "name"); err == nil && name == "k10temp" {
			return dir + "/temp1_input"
		}
	}
	return ""
}

// loudThermometer names a thermometer that is there and is left alone.
func (f FS) loudThermometer() string {
	ids, err := f.numbered("hwmon", "sys/class/hwmon")
	if err != nil {
		return ""
	}
	for id := range ids.All() {
		if name, err := f.text("sys/class/hwmon/hwmon"+strconv.Itoa(id), "name"); err == nil && name == "coretemp" {
			return name
		}
	}
	return ""
}

// Off is a source that is not read while a task runs.
type Off struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}

// Silent says which sources are read while a task runs on this kernel, and
// which are not. Proven names sources that an audit of this very kernel found
// silent.
func (f FS) Silent(proven []string) (on map[string]bool, off []Off) {
	on = map[string]bool{}
	kernel, err := f.Kernel()
	for _, s := range Sources() {
		ok, why := false, ""
		if err == nil {
			ok, why = s.proven(kernel)
		} else {
			why = "the kernel's release is not known: " + cause(err)
		}
		for _, name := range proven {
			ok = ok || name == s.Name
		}
		if ok {
			on[s.Name] = true
			continue
		}
		off = append(off, Off{Source: s.Name, Reason: why})
	}
	if f.quietThermometer() == "" {
		if name := f.loudThermometer(); name != "" {
			off = append(off, Off{Source: SourceTemperature, Reason: name + " interrupts the CPU that it is read about"})
		}
	}
	return on, off
}

// Read reads a source once about a target, as a poll does.
func (s Source) Read(f FS, t Target) error {
	path := s.path(f, t)
	if path == "" {
		return fs.ErrNotExist
	}
	if s.folder {
		dir, err := f.open(path)
		if err != nil {
			return err
		}
		defer dir.Close()
		_, err = dir.Readdirnames(-1)
		return err
	}
	_, err := f.readBounded(maxBigFile, path)
	return err
}

// Absent reports whether an error of [Source.Read] says that this machine does
// not have the source.
func Absent(err error) bool { return absent(err) || errors.Is(err, fs.ErrPermission) }
