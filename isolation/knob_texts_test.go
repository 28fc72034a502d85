//go:build linux

package isolation

import (
	"strings"
	"testing"

	"goset/cpulist"
)

// FuzzKernelTexts feeds any text to the small readers of kernel files: what they
// accept is within the bounds of what they say they read.
func FuzzKernelTexts(f *testing.F) {
	for _, s := range []string{
		"/autogroup-91726 nice -5", "2 3", "3000000", "always [madvise] never", "Uid:\t0\t0\t0\t0\nTHP_enabled:\t1",
		"10 (a) b) S 7 1 1 0", "nr_throttled 3\nx", "LoadState=loaded\nActiveState=active", "0::/a", "2;4", "9223372036854775807",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if nice, err := parseAutogroup(text); err == nil && (nice < -20 || nice > 19) {
			t.Errorf("autogroup %q: nice %d", text, nice)
		}
		if set, err := parseSpaced(text); err == nil && set.Last() > cpulist.MaxCPU {
			t.Errorf("CPUs %q: %s", text, set)
		}
		if khz, err := parseKHz(text); err == nil && khz < 0 {
			t.Errorf("frequency %q: %d", text, khz)
		}
		if word := bracketed(text); !strings.Contains(text, "["+word+"]") && word != "" {
			t.Errorf("%q chose %q", text, word)
		}
		if value, ok := statusField(text, "Uid"); ok && !strings.Contains(text, value) {
			t.Errorf("%q has %q", text, value)
		}
		for name, value := range parseProperties(text) {
			if !strings.Contains(text, name+"="+value) {
				t.Errorf("%q has %q=%q", text, name, value)
			}
		}
		if lowered(text, text) {
			t.Errorf("%q is below itself", text)
		}
		if nearClock(text, text) != sameClock(text) {
			t.Errorf("%q is not near itself", text)
		}
		k := newKnobKernel(map[string]string{"/f": text})
		if counter(k, "/f", "nr_throttled") != 0 && !strings.Contains(text, "nr_throttled") {
			t.Errorf("%q has a count", text)
		}
		strandedCPUs(text, text)
		shownCgroup(text)
		runsCommand(text, []string{text})
	})
}

// sameClock says whether a text is a frequency at all.
func sameClock(text string) bool { _, err := parseKHz(text); return err == nil }
