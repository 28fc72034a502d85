package main

import (
	"strings"
	"testing"

	"goset/cpulist"
	"goset/host"
	"goset/internal/texttab"
)

// TestPageWidth holds every page to the width of a terminal, with all of its
// text.
func TestPageWidth(t *testing.T) {
	number := uint64(1_234_567)
	cost := 123456.0
	var places []placeRow
	for cpu := range 3 {
		places = append(places, placeRow{CPU: cpu, Fixed: &number, Steerable: &number, Busy: &cost, Beside: &cost, Waited: &cost, SoftIRQs: &number,
			Steal: &cost, Cost: &cost, Siblings: cpulist.Of(1, 2), Kind: "performance", Isolated: true, Why: "busy, and isolated at boot: named by nobody here"})
	}
	places[0].Mark = "*"
	for _, tt := range []struct {
		name string
		make func(p *page) string
	}{
		{"selection", func(p *page) string {
			p.selection(selectionReport{Rank: "interrupts", Sample: 0.5, CPUs: places}, 2)
			return p.String()
		}},
		{"audit", func(p *page) string {
			return auditText(&host.Audit{Kernel: "6.18.44-cloud-amd64-with-a-long-name", Reads: 1000, Control: host.AuditRow{Source: "control", Verdict: "control: seen"},
				Sources: []host.AuditRow{{Source: "energy_preference", Verdict: "interrupts the CPU that it is about, once for every read"}}}, p)
		}},
		{"layers", func(p *page) string {
			p.layers([]layerReport{{Layer: "cpus", Available: true}, {Layer: "cgroup", Reason: "this machine has no cpuset controller mounted, and none can be mounted here", Hint: "run it on the host"}})
			return p.String()
		}},
		{"fields", func(p *page) string {
			p.fields("kernel", strings.Repeat("word ", 40), "cpu", absent)
			return p.String()
		}},
	} {
		whole := tt.make(&page{})
		for _, width := range []int{40, 60, 80, 140} {
			got := tt.make(&page{width: width, color: true})
			for line := range strings.Lines(got) {
				plain := uncoloured(strings.TrimSuffix(line, "\n"))
				if w := texttab.Width(plain); w > width {
					t.Errorf("%s in %d columns has a line of %d: %q", tt.name, width, w, plain)
				}
			}
			words := strings.Fields(uncoloured(got))
			for _, word := range strings.Fields(whole) {
				if !strings.Contains(strings.Join(words, ""), word) {
					t.Errorf("%s in %d columns lost %q:\n%s", tt.name, width, word, got)
				}
			}
		}
	}
}

// uncoloured takes out what paint puts around a text.
func uncoloured(s string) string {
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		if !found {
			return s
		}
		_, after, _ = strings.Cut(after, "m")
		s = before + after
	}
}

// TestPageBlocks shows what becomes of a table that does not fit: its first
// columns stand in front of every part.
func TestPageBlocks(t *testing.T) {
	row := func(cells ...string) line {
		var l line
		for _, c := range cells {
			l.left(c)
		}
		return l
	}
	p := &page{width: 18}
	p.table(1, []line{row("cpu", "busy", "cost", "why"), row("0", "10%", "5", "more than a line"), row("12", "-", "17")})
	want := `  cpu  busy  cost
  0    10%   5
  12   -     17
  cpu  why
  0    more than a
       line
  12
`
	if got := p.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
