package harness

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"goset/host"
)

// Caches are the data caches of a machine, as far as they are known. Its zero
// value knows of none.
type Caches struct {
	levels []cacheLevel // the nearest to the cores first
}

// cacheLevel is all data caches of one level.
type cacheLevel struct {
	level int
	bytes []int64 // of each, the largest first
	whole bool    // every size is known
}

// CachesOf reads the caches out of host.Facts in JSON, as manifests have them.
// Text that has none gives caches that are not known.
func CachesOf(facts json.RawMessage) Caches {
	var f struct {
		Topology struct {
			Caches []host.CacheFacts `json:"caches"`
		} `json:"topology"`
	}
	if len(facts) == 0 || json.Unmarshal(facts, &f) != nil {
		return Caches{}
	}
	byLevel := map[int]*cacheLevel{}
	for _, c := range f.Topology.Caches {
		if c.Type == "Instruction" {
			continue
		}
		l := byLevel[c.Level]
		if l == nil {
			l = &cacheLevel{level: c.Level, whole: true}
			byLevel[c.Level] = l
		}
		if c.Bytes == nil {
			l.whole = false
			continue
		}
		l.bytes = append(l.bytes, slices.Repeat([]int64{*c.Bytes}, max(c.Count, 0))...)
	}
	var out Caches
	for _, l := range byLevel {
		slices.SortFunc(l.bytes, func(a, b int64) int { return int(min(max(b-a, -1), 1)) })
		out.levels = append(out.levels, *l)
	}
	slices.SortFunc(out.levels, func(a, b cacheLevel) int { return a.level - b.level })
	return out
}

// last is the name of the last level and the bytes that so many processes can
// use of it, each on the largest cache that is left; false: not known.
func (c Caches) last(processes int64) (name string, bytes int64, ok bool) {
	if len(c.levels) == 0 {
		return "", 0, false
	}
	l := c.levels[len(c.levels)-1]
	if !l.whole || len(l.bytes) == 0 {
		return "", 0, false
	}
	for _, b := range l.bytes[:min(int64(len(l.bytes)), processes)] {
		bytes += b
	}
	return l.name(), bytes, true
}

func (l cacheLevel) name() string { return "L" + strconv.Itoa(l.level) }

// holding is the nearest level whose every cache has room for the data of so
// many processes, bytes for each of them, with its size; false: none has, or it
// is not known.
func (c Caches) holding(bytes, processes int64) (level string, size int64, ok bool) {
	for _, l := range c.levels {
		if !l.whole || len(l.bytes) == 0 {
			return "", 0, false
		}
		size := l.bytes[len(l.bytes)-1]
		caches := int64(len(l.bytes))
		if sharing := (processes + caches - 1) / caches; bytes <= size/sharing {
			return l.name(), size, true
		}
	}
	return "", 0, false
}

// Known is true where the size of every data cache is.
func (c Caches) Known() bool {
	return len(c.levels) > 0 && !slices.ContainsFunc(c.levels, func(l cacheLevel) bool { return !l.whole || len(l.bytes) == 0 })
}

// integer is the value of a kernel's parameter; 0 for one that it does not have.
func (t *Treatment) integer(name string) int64 {
	for _, p := range t.Spec.Params {
		if p.Name == name {
			n, _ := strconv.ParseInt(p.Levels[0], 10, 64) // Load has checked it
			return n
		}
	}
	return 0
}

// DataPlace says in which level of these caches a kernel's data lies, which
// decides what it measures: "a ring of 192 KiB is in L2 (1 MiB)". "": the kernel
// has no size, or it is no kernel.
func (t *Treatment) DataPlace(c Caches) string {
	switch t.Spec.Kernel {
	case "chase":
		return t.chasePlace(c)
	case "stream":
		return t.streamPlace(c)
	}
	return ""
}

func (t *Treatment) chasePlace(c Caches) string {
	bytes, threads := t.integer("kib")<<10, max(t.integer("threads"), 1)
	data := "a ring of " + binarySize(bytes) + " is"
	if threads > 1 {
		data = fmt.Sprintf("%d rings of %s are", threads, binarySize(bytes))
	}
	if level, size, ok := c.holding(bytes, threads); ok {
		return fmt.Sprintf("%s in %s (%s)", data, level, binarySize(size))
	}
	if !c.Known() {
		return data + " in a level that cannot be told: the caches are not known here"
	}
	name, size, _ := c.last(threads)
	partly := ""
	if bytes*threads < farBeyond*size {
		partly = "partly "
	}
	return fmt.Sprintf("%s beyond %s (%s): %sin memory", data, name, binarySize(size), partly)
}

// farBeyond is how many times a cache data has to be for next to nothing of it to
// be found there; STREAM's number.
const farBeyond = 4

// streamFit is how the arrays of a stream compare with the last-level caches.
type streamFit struct {
	array  int64  // bytes of one array of one process
	inside string // the level that all arrays fit into: "L2 (1 MiB)"; "": none
	last   string // the last level, with the bytes that the processes can use: "L3 (32 MiB)"
	least  int64  // elements that the rule asks for
	known  bool
}

// streamFit applies the rule of STREAM, that an array is to be at least 4 times
// the caches that the run can use; as there, 4 million elements are enough for
// 8 MiB: the difference between 10^6 and 2^20 does not count (stream.c,
// instruction 1a). The array of a run with several processes is what all of
// them have together.
func (t *Treatment) streamFit(c Caches) streamFit {
	threads := max(t.integer("threads"), 1)
	f := streamFit{array: 8 * t.integer("elements")}
	if level, size, ok := c.holding(3*f.array, threads); ok {
		f.inside = fmt.Sprintf("%s (%s)", level, binarySize(size))
	}
	level, bytes, known := c.last(threads)
	f.known, f.last = known, fmt.Sprintf("%s (%s)", level, binarySize(bytes))
	mebibytes := (bytes + 1<<20 - 1) >> 20
	f.least = (mebibytes*1e6*farBeyond/8 + threads - 1) / threads
	return f
}

func (f streamFit) large() bool { return f.array/8 >= f.least }

func (t *Treatment) streamPlace(c Caches) string {
	f := t.streamFit(c)
	data := "arrays of " + decimalSize(f.array) + " are "
	switch {
	case !f.known:
		return data + "in a level that cannot be told: the caches are not known here"
	case f.large():
		return data + "beyond " + f.last + ": in memory"
	case f.inside != "":
		return data + "in " + f.inside
	}
	return data + "partly in " + f.last
}

// Doubts says what is to be known about a kernel's numbers on a machine with
// these caches and so many CPUs (0: not known), before anything has run. A run
// carries them as warnings.
func (t *Treatment) Doubts(c Caches, cpus int) []string {
	var doubts []string
	for _, text := range []string{t.crowded(cpus), t.smallArrays(c)} {
		if text != "" {
			doubts = append(doubts, text)
		}
	}
	return doubts
}

// crowded says that a kernel's processes are more than its CPUs; "": they are
// not.
func (t *Treatment) crowded(cpus int) string {
	if t.Layers.CPUs != "" {
		cpus = max(t.Layers.N, 1)
	}
	threads := t.integer("threads")
	if cpus == 0 || threads <= int64(cpus) {
		return ""
	}
	on := "1 CPU"
	if cpus > 1 {
		on = fmt.Sprintf("%d CPUs", cpus)
	}
	return fmt.Sprintf("%d processes take turns on %s, and every iteration waits for the last of them", threads, on)
}

// smallArrays says that a stream measures caches; "": it does not, or that is
// not known.
func (t *Treatment) smallArrays(c Caches) string {
	if t.Spec.Kernel != "stream" {
		return ""
	}
	f := t.streamFit(c)
	if !f.known || f.large() {
		return ""
	}
	what := "partly the bandwidth of " + f.last + ", not of memory alone"
	if f.inside != "" {
		what = "the bandwidth of " + f.inside + ", not of memory"
	}
	return fmt.Sprintf("MB/s is %s: STREAM asks for arrays of %d times the last-level cache, %s, and these have %s (elements = %d or more)",
		what, farBeyond, f.last, decimalSize(f.array), f.least)
}

// binarySize writes the size of a cache, decimalSize that of data.
func binarySize(bytes int64) string {
	return scaledSize(float64(bytes), 1024, "B", "KiB", "MiB", "GiB", "TiB")
}

func decimalSize(bytes int64) string {
	return scaledSize(float64(bytes), 1000, "B", "kB", "MB", "GB", "TB")
}

func scaledSize(x, step float64, units ...string) string {
	i := 0
	for x >= step && i < len(units)-1 {
		x, i = x/step, i+1
	}
	return strconv.FormatFloat(x, 'g', 4, 64) + " " + units[i]
}
