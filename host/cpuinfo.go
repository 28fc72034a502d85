package host

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"

	"goset/cpulist"
)

// CPUInfo reads /proc/cpuinfo: the fields of every CPU by name, as each
// architecture has its own. Fields that stand outside of the CPUs' paragraphs
// (arm's "Hardware", s390's "vendor_id") are those of CPU -1.
//
// On x86 kernels before 5.19, opening the file interrupts every CPU: it is
// read once, before anything is measured.
func (f FS) CPUInfo() (map[int]map[string]string, error) {
	text, err := f.readBounded(maxBigFile, "proc", "cpuinfo")
	if err != nil {
		return nil, err
	}
	return parseCPUInfo(text)
}

// cpuInfo gives what CPUInfo does, be it now or read before.
type cpuInfo func() (map[int]map[string]string, error)

func parseCPUInfo(text []byte) (map[int]map[string]string, error) {
	info := map[int]map[string]string{}
	cpu := -1
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxSmallFile)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			// A paragraph ends: what follows belongs to no CPU until one is named.
			if strings.TrimSpace(name) == "" {
				cpu = -1
			}
			continue
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		// "processor : 3" on most, "cpu number : 3" on s390. Old arm kernels have
		// the model there: that is a field like others.
		if name == "processor" || name == "cpu number" {
			if n, err := strconv.Atoi(value); err == nil && n >= 0 && n <= cpulist.MaxCPU {
				cpu = n
			}
		}
		if info[cpu] == nil {
			info[cpu] = map[string]string{}
		}
		info[cpu][name] = value
	}
	return info, lines.Err()
}
