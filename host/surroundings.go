package host

import (
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Mover is a process that moves tasks or interrupts, or sets frequencies, by
// itself.
type Mover struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
	Does string `json:"does"`
	// Unit is the systemd service that it belongs to; "": none.
	Unit string `json:"unit,omitempty"`
}

// movers are the names of such processes; the kernel keeps 15 bytes of a name.
func movers() map[string]string {
	const interrupts, tasks, frequency = "moves interrupts", "moves tasks", "sets frequencies"
	return map[string]string{
		"irqbalance": interrupts, "irqd": interrupts, "birq": interrupts,
		"tuned": "moves tasks and interrupts", "numad": tasks, "ulatencyd": tasks, "schedtool": tasks, "uresourced": tasks,
		"ksmtuned": "merges memory pages", "ananicy": "sets priorities", "ananicy-cpp": "sets priorities",
		"thermald": frequency, "tlp": frequency, "auto-cpufreq": frequency, "power-profiles-": frequency, "cpufreqd": frequency,
		"cpuspeed": frequency, "laptop_mode": frequency,
	}
}

// Movers lists the processes that move tasks or interrupts by themselves; nil
// where no processes are to be seen, as in another machine's files.
func (f FS) Movers() ([]Mover, error) { return f.running(movers()) }

// Perflocks lists the processes of perflock, another program that gives the
// machine to one benchmark at a time: its daemon, and commands that have its lock
// or wait for it.
func (f FS) Perflocks() ([]Mover, error) {
	return f.running(map[string]string{"perflock": "locks the machine for benchmarks"})
}

// running lists the processes of some names; nil where no processes are to be
// seen.
func (f FS) running(known map[string]string) ([]Mover, error) {
	pids, err := f.pids()
	if err != nil {
		return nil, err
	}
	if len(pids) == 0 {
		return nil, nil
	}
	found := []Mover{}
	for _, pid := range pids {
		name, err := f.text("proc", strconv.Itoa(pid), "comm")
		if err != nil {
			continue // it has ended
		}
		if does, ok := known[name]; ok {
			found = append(found, Mover{PID: pid, Name: name, Does: does, Unit: f.unit(pid)})
		}
	}
	return found, nil
}

// unit is the systemd service of a process: the last part of its cgroup, in
// version 2 or in systemd's own hierarchy. "" when it is in none, or has ended.
func (f FS) unit(pid int) string {
	text, err := f.read("proc", strconv.Itoa(pid), "cgroup")
	if err != nil {
		return ""
	}
	for _, controller := range []string{"", "name=systemd"} {
		if at, ok := CgroupOf(string(text), controller); ok && strings.HasSuffix(at, ".service") {
			return path.Base(at)
		}
	}
	return ""
}

// CgroupOf finds where a process is in the hierarchy of a controller ("": that
// of version 2), in the text of its cgroup file (cgroups(7)).
func CgroupOf(text, controller string) (at string, ok bool) {
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), ":")
		names, at, ok := strings.Cut(rest, ":")
		if ok && slices.Contains(strings.Split(names, ","), controller) {
			return at, true
		}
	}
	return "", false
}

// Cgroups is what is known of control groups.
type Cgroups struct {
	// Version is "2", "1", "1 and 2" (hybrid), or "" when none is mounted.
	Version string `json:"version"`
	// Mount is where version 2 is mounted.
	Mount string `json:"mount,omitempty"`
	// CPUSet is "2" or "1": where the cpuset controller is; "" nowhere.
	CPUSet string `json:"cpuset"`
	// Partitions are the cpuset partitions that exist.
	Partitions []Partition `json:"partitions"`
}

// Partition is a cgroup whose CPUs are its own.
type Partition struct {
	Path  string `json:"path"`
	State string `json:"state"` // "isolated", "root invalid (reason)"
	CPUs  string `json:"cpus"`  // effective
}

// The bounds of the walk for partitions.
const maxCgroups, maxCgroupDepth = 20_000, 16

// Cgroups finds out which versions of control groups are mounted, and walks
// version 2 for partitions (Documentation/admin-guide/cgroup-v2.rst).
func (f FS) Cgroups() (*Cgroups, error) {
	text, err := f.read("proc/self/mountinfo")
	if absent(err) && !f.IsLocal() {
		text, err = f.read("proc/1/mountinfo")
	}
	if err != nil {
		return nil, err
	}
	c := &Cgroups{Partitions: []Partition{}}
	v1 := c.parseMounts(string(text))
	if c.Mount != "" {
		controllers, err := f.text(c.Mount, "cgroup.controllers")
		if err != nil && !absent(err) {
			return nil, err
		}
		if slices.Contains(strings.Fields(controllers), "cpuset") {
			c.CPUSet = "2"
		}
		left := maxCgroups
		f.partitions(c, c.Mount, 0, &left)
	}
	switch {
	case v1 && c.Mount != "":
		c.Version = "1 and 2"
	case v1:
		c.Version = "1"
	case c.Mount != "":
		c.Version = "2"
	}
	return c, nil
}

// parseMounts reads proc_pid_mountinfo(5): the file system's type and options
// stand after a lone dash.
func (c *Cgroups) parseMounts(text string) (v1 bool) {
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		at, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(at) < 5 || len(kind) < 3 {
			continue
		}
		switch kind[0] {
		case "cgroup2":
			if c.Mount == "" {
				c.Mount = at[4]
			}
		case "cgroup":
			v1 = true
			if slices.Contains(strings.Split(kind[2], ","), "cpuset") {
				c.CPUSet = "1"
			}
		}
	}
	return v1
}

func (f FS) partitions(c *Cgroups, dir string, depth int, left *int) {
	file, err := f.open(dir)
	if err != nil {
		return // it was removed meanwhile
	}
	entries, err := file.ReadDir(-1)
	file.Close()
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || *left == 0 || depth == maxCgroupDepth {
			continue
		}
		*left--
		sub := path.Join(dir, e.Name())
		if state, err := f.text(sub, "cpuset.cpus.partition"); err == nil && state != "member" && state != "" {
			cpus, err := f.text(sub, "cpuset.cpus.effective")
			if err != nil {
				cpus = ""
			}
			c.Partitions = append(c.Partitions, Partition{Path: strings.TrimPrefix(sub, c.Mount), State: state, CPUs: cpus})
		}
		f.partitions(c, sub, depth+1, left)
	}
}

// InterruptsIn reads the text of a /proc/interrupts from a file that a person
// named.
func InterruptsIn(name string) (*Interrupts, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBigFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBigFile {
		return nil, fmt.Errorf("cannot read %s: it is longer than %d bytes", name, maxBigFile)
	}
	x, err := ParseInterrupts(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %v", name, err)
	}
	return x, nil
}
