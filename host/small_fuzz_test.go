package host

import (
	"fmt"
	"strings"
	"testing"

	"goset/cpulist"
)

// FuzzSmallTexts feeds any text to the readers of small files: what they accept
// stands in it, and is within the bounds of what they say they read.
func FuzzSmallTexts(f *testing.F) {
	for _, s := range []string{
		"12 34 5", "0 0 0", "9223372036854775807 1 1", "7.3.4+deb13-cloud-amd64", "6.", "18446744073709551616",
		"processor\t: 3\nmodel name : a: b\n\nHardware : x\n", "processor : 1\nprocessor : -1\n", "cpu number : 99999999\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		info, err := parseCPUInfo([]byte(text))
		for cpu, fields := range info {
			if err != nil {
				break // what came before a line that is too long
			}
			if cpu < -1 || cpu > cpulist.MaxCPU || len(fields) == 0 {
				t.Errorf("CPU %d has %q", cpu, fields)
			}
			for name, value := range fields {
				if !strings.Contains(text, name) || !strings.Contains(text, value) {
					t.Errorf("%q = %q is not in the text", name, value)
				}
			}
		}
		if n, ok := parseCount([]byte(text)); ok && !strings.HasSuffix(text, fmt.Sprint(n)) {
			t.Errorf("%q is %d", text, n)
		}
		if n, ok := parseCounts3([]byte(text)); ok {
			// A count ends where its digits do.
			fields := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
			if len(fields) < len(n) {
				t.Fatalf("%q has the counts %d", text, n)
			}
			for i, field := range fields[:len(n)] {
				if !strings.HasPrefix(strings.TrimLeft(field, "0")+"0", fmt.Sprint(n[i])) {
					t.Errorf("count %d of %q is %d", i, text, n[i])
				}
			}
		}
		if q, err := parseTaskSchedstat(text); err == nil && q != nil && (q.Running < 0 || q.Waiting < 0) {
			t.Errorf("%q: %+v", text, q)
		}
		if k, err := parseRelease(text); err == nil && (k.Major < 0 || k.Minor < 0 || !strings.Contains(text, fmt.Sprint(k.Major))) {
			t.Errorf("%q is %d.%d", text, k.Major, k.Minor)
		}
	})
}
