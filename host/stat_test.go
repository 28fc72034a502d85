package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"goset/internal/publicdata"
)

func TestParseStat(t *testing.T) {
	s, err := parseStat([]byte("cpu  9 9 9 9\ncpu0 1 2 3 400 5 6 7 8 9 10\ncpu2 1 0 0 9\nintr 5 " + strings.Repeat("0 ", 5000) + "\nctxt 77\nbtime 1000\nprocesses 5\nprocs_running 2\nprocs_blocked 0\nsoftirq 1 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	tick := func(n int) *time.Duration { d := time.Duration(n) * Tick; return &d }
	want := &Stat{
		CPUs: map[int]CPUTime{
			0: {User: Tick, Nice: 2 * Tick, System: 3 * Tick, Idle: 400 * Tick, IOWait: 5 * Tick, IRQ: 6 * Tick, SoftIRQ: 7 * Tick,
				Steal: tick(8), Guest: tick(9), GuestNice: tick(10)},
			2: {User: Tick, Idle: 9 * Tick}, // an old kernel: no steal, not a steal of 0
		},
		Switches: new(uint64(77)), Forks: new(uint64(5)), Boot: new(time.Unix(1000, 0)), Running: new(uint64(2)), Blocked: new(uint64(0)),
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v, want %+v", s, want)
	}
	if busy := s.CPUs[0].Busy(); busy != 19*Tick {
		t.Errorf("Busy = %v", busy)
	}
	for _, bad := range []string{"cpu0 1 2 3\n", "cpux 1 2 3 4\n", "cpu0 1 2 3 -4\n", "cpu0 1 2 3 18446744073709551615\n", "cpu+1 1 2 3 4\n", "ctxt many\n", "btime x\n"} {
		if s, err := parseStat([]byte(bad)); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(bad)) {
			t.Errorf("%q: %v, %v", bad, s, err)
		}
	}
}

func TestCPUTimeSince(t *testing.T) {
	before := CPUTime{User: 10, Idle: 100, IOWait: 50, Steal: new(time.Duration(5))}
	after := CPUTime{User: 30, Idle: 90, IOWait: 60, Steal: new(time.Duration(9))}
	d := after.Since(before)
	if d.User != 20 || d.Idle != 0 || d.IOWait != 10 || *d.Steal != 4 || d.Guest != nil {
		t.Errorf("got %+v", d)
	}
	if d := after.Since(CPUTime{}); d.Steal != nil {
		t.Errorf("a steal since nothing: %v", *d.Steal)
	}
}

func TestParseSchedstat(t *testing.T) {
	s, err := parseSchedstat([]byte("version 17\ntimestamp 4294893466\ncpu0 0 0 0 0 0 0 1336148229 276829728 738\ndomain0 SMT 03 0 0\ncpu3 1 2 3 4 5 6 7 8 9\n"))
	want := &Schedstat{Version: 17, CPUs: map[int]RunQueue{0: {1336148229, 276829728, 738}, 3: {7, 8, 9}}}
	if err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v, %v", s, err)
	}
	for _, bad := range []string{"version 18\n", "version x\n", "cpu0 1 2 3 4 5 6 7 8 9\n", "version 15\ncpu0 1 2 3\n", "version 15\ncpu0 1 2 3 4 5 6 7 8 x\n"} {
		if s, err := parseSchedstat([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, s)
		}
	}
}

// TestGuests reads what kernels 5.10 to 7.3 printed with CPU 3 online and
// offline.
func TestGuests(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(publicdata.Path(t, "guests"), "x86_64-*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("%d guests, %v", len(dirs), err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) { checkGuest(t, dir) })
	}
}

func checkGuest(t *testing.T, dir string) {
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	all, err := ParseInterrupts(read("interrupts"))
	if err != nil {
		t.Fatal(err)
	}
	off, err := ParseInterrupts(read("interrupts_cpu3off"))
	if err != nil {
		t.Fatal(err)
	}
	if !all.Set().Contains(3) || off.Set().Contains(3) || off.Set().Len() != all.Set().Len()-1 {
		t.Errorf("CPUs %v, with 3 offline %v", all.Set(), off.Set())
	}
	delta := off.Since(all)
	if loc := delta.Row("LOC", 0); loc == nil || len(loc.Counts) != len(off.CPUs) {
		t.Errorf("no difference of LOC: %+v", loc)
	}
	stat, err := parseStat(read("stat_cpu3off"))
	if err != nil || len(stat.CPUs) != len(off.CPUs) || stat.CPUs[0].Steal == nil {
		t.Errorf("stat: %d CPUs, %v", len(stat.CPUs), err)
	}
	soft, err := ParseInterrupts(read("softirqs_cpu3off"))
	if err != nil || !soft.Set().Contains(3) || soft.Row("TIMER", 0) == nil {
		t.Errorf("softirqs: %v, %v", soft, err)
	}
	if text := read("schedstat"); len(text) > 0 {
		queues, err := parseSchedstat(text)
		if err != nil || len(queues.CPUs) != len(all.CPUs) {
			t.Errorf("schedstat: %v", err)
		}
	}
	p := Process{}
	if err := p.parseStatus(string(read("self_status"))); err != nil || p.Allowed == nil || p.Voluntary == nil || p.Involuntary == nil {
		t.Errorf("status: %+v, %v", p, err)
	}
}

func FuzzTexts(f *testing.F) {
	f.Add("cpu0 1 2 3 4\nctxt 7\n")
	f.Add("version 15\ncpu0 1 2 3 4 5 6 7 8 9\n")
	f.Add("1 (a b) S 1 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 17 3 0 0")
	f.Add("Cpus_allowed_list:\t0-3\nvoluntary_ctxt_switches:\t1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parseStat([]byte(text)); err == nil {
			for cpu, times := range s.CPUs {
				if times.Busy() < 0 && times.User >= 0 && times.User < 1<<58 && times.System < 1<<58 && times.IRQ < 1<<58 && times.SoftIRQ < 1<<58 && times.Nice < 1<<58 {
					t.Fatalf("CPU %d was busy for %v", cpu, times.Busy())
				}
			}
		} else if s != nil {
			t.Fatal("a value beside an error")
		}
		if s, err := parseSchedstat([]byte(text)); err == nil {
			for cpu, q := range s.CPUs {
				if q.Running < 0 || q.Waiting < 0 {
					t.Fatalf("CPU %d: %+v", cpu, q)
				}
			}
		}
		if p, err := parseProcessStat(text); err == nil && (p.User < 0 || p.Start < 0 || !strings.Contains(text, "("+p.Name+")")) {
			t.Fatalf("%+v", p)
		}
		var p Process
		if err := p.parseStatus(text); err == nil && p.Allowed != nil && !strings.Contains(text, "Cpus_allowed_list") {
			t.Fatal("an affinity from nowhere")
		}
		row := InterruptRow{Label: "1", Text: text}
		if device := row.Device(); !strings.HasSuffix(text, device) {
			t.Fatalf("device %q is not the end of %q", device, text)
		}
	})
}
