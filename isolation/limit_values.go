package isolation

import (
	"fmt"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"goset/internal/lazy"
)

// limitFile is a file of a cgroup and what it is to hold.
type limitFile struct{ name, value string }

// memoryFiles is the limit of memory. The kernel counts in pages.
func memoryFiles(text string, unified bool) ([]limitFile, error) {
	size, err := ParseSize(text)
	if err != nil {
		return nil, err
	}
	page := int64(os.Getpagesize())
	if size = size / page * page; size == 0 {
		return nil, fmt.Errorf("memory must be at least a page, %d bytes, got %q", page, text)
	}
	name := "memory.limit_in_bytes"
	if unified {
		name = "memory.max"
	}
	return []limitFile{{name, strconv.FormatInt(size, 10)}}, nil
}

// memoryTold says whether the limit ended processes.
func memoryTold(k kernel, dir string, unified bool) string {
	name := "memory.oom_control"
	if unified {
		name = "memory.events"
	}
	if n := counter(k, path.Join(dir, name), "oom_kill"); n > 0 {
		return fmt.Sprintf("the kernel ended %s of the task that went over it", several(int(n), "process", "processes"))
	}
	return ""
}

// The periods, in µs, over which a quota is counted: the kernel's own, and the
// longest that it takes, for quotas that would be below its least of 1 ms.
const (
	quotaPeriod = 100_000
	longPeriod  = 1_000_000
	leastQuota  = 1_000
)

// quotaFiles is the limit of CPU time: "1.5" CPUs, or "50%" of one.
func quotaFiles(text string, unified bool) ([]limitFile, error) {
	cpus, err := parseQuota(text)
	if err != nil {
		return nil, err
	}
	period := float64(quotaPeriod)
	if cpus*period < leastQuota {
		period = longPeriod
	}
	quota := int64(math.Round(cpus * period))
	if quota < leastQuota {
		return nil, fmt.Errorf("cpu_quota must be at least 0.1%% of a CPU, got %q", text)
	}
	if unified {
		return []limitFile{{"cpu.max", fmt.Sprintf("%d %.0f", quota, period)}}, nil
	}
	return []limitFile{{"cpu.cfs_period_us", fmt.Sprintf("%.0f", period)}, {"cpu.cfs_quota_us", strconv.FormatInt(quota, 10)}}, nil
}

var quotaText = lazy.Regexp(`^(\d{1,6}(?:\.\d{1,3})?)(%?)$`)

// parseQuota reads a number of CPUs.
func parseQuota(text string) (float64, error) {
	m := quotaText().FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf(`cpu_quota must be a number of CPUs as "1.5", or a part of one as "50%%", got %q`, text)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil || v <= 0 {
		return 0, fmt.Errorf("cpu_quota must be above 0, got %q", text)
	}
	if m[2] != "" {
		v /= 100
	}
	return v, nil
}

// quotaTold says how often the task had to stop.
func quotaTold(k kernel, dir string, _ bool) string {
	file := path.Join(dir, "cpu.stat")
	if n := counter(k, file, "nr_throttled"); n > 0 {
		return fmt.Sprintf("the task was stopped in %s", counted(int(n), "period"))
	}
	return ""
}

// counter reads a line of NAME NUMBER; 0 where there is none.
func counter(k kernel, file, name string) int64 {
	text, err := k.readFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 2 && f[0] == name {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return n
			}
		}
	}
	return 0
}

// Fifteen digits are exact as a float64.
var sizeText = lazy.Regexp(`^(\d{1,15})(\.\d{1,6})? ?(|B|[kK]B|[MGT]B|[KMGT]iB)$`)

// ParseSize reads a number of bytes as "512MiB"; "KB" is 1000 bytes, as "kB".
func ParseSize(text string) (int64, error) {
	m := sizeText().FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf(`%q is no size as "512MiB"`, text)
	}
	v, err := strconv.ParseFloat(m[1]+m[2], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no size: %v", text, err)
	}
	v *= map[string]float64{"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[m[3]]
	if v != math.Trunc(v) || v >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is no whole number of bytes", text)
	}
	return int64(v), nil
}
