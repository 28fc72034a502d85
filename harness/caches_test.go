package harness

import (
	"encoding/json"
	"fmt"
	"testing"

	"goset/isolation"
)

// cachesText is host facts with caches of "level type bytes count"; bytes of -1
// are not known.
func cachesText(caches ...[3]int64) json.RawMessage {
	list := ""
	for _, c := range caches {
		if list != "" {
			list += ","
		}
		size := fmt.Sprintf(`"bytes":%d,`, c[1])
		if c[1] < 0 {
			size = ""
		}
		list += fmt.Sprintf(`{"level":%d,"type":"Data",%s"count":%d}`, c[0], size, c[2])
	}
	return json.RawMessage(`{"topology":{"caches":[{"level":1,"type":"Instruction","bytes":99,"count":9},` + list + `]}}`)
}

const (
	kib = 1 << 10
	mib = 1 << 20
)

// laptop has two cores under one third level, server two packages of four cores.
func laptop() json.RawMessage {
	return cachesText([3]int64{1, 48 * kib, 2}, [3]int64{2, mib, 2}, [3]int64{3, 32 * mib, 1})
}

func server() json.RawMessage {
	return cachesText([3]int64{1, 32 * kib, 8}, [3]int64{2, mib, 8}, [3]int64{3, 20 * mib, 2})
}

func kernelTreatment(kernel string, params ...string) *Treatment {
	t := &Treatment{Spec: Workload{Kernel: kernel}}
	for i := 0; i < len(params); i += 2 {
		t.Spec.Params = append(t.Spec.Params, Param{Name: params[i], Levels: []string{params[i+1]}})
	}
	return t
}

func TestDataPlace(t *testing.T) {
	hybrid := cachesText([3]int64{1, 48 * kib, 2}, [3]int64{1, 32 * kib, 4}, [3]int64{2, 2 * mib, 2}, [3]int64{2, 4 * mib, 1})
	for _, tt := range []struct {
		kernel  string
		size    string
		threads string
		facts   json.RawMessage
		want    string
	}{
		{"jitter", "1", "1", laptop(), ""},
		{"matmul", "1", "1", laptop(), ""},
		{"", "1", "1", laptop(), ""},

		{"chase", "1", "1", laptop(), "a ring of 1 KiB is in L1 (48 KiB)"},
		{"chase", "48", "1", laptop(), "a ring of 48 KiB is in L1 (48 KiB)"},
		{"chase", "49", "1", laptop(), "a ring of 49 KiB is in L2 (1 MiB)"},
		{"chase", "32768", "1", laptop(), "a ring of 32 MiB is in L3 (32 MiB)"},
		{"chase", "32768", "2", laptop(), "2 rings of 32 MiB are beyond L3 (32 MiB): partly in memory"},
		{"chase", "16384", "2", laptop(), "2 rings of 16 MiB are in L3 (32 MiB)"},
		{"chase", "192", "2", laptop(), "2 rings of 192 KiB are in L2 (1 MiB)"},
		{"chase", "600", "3", laptop(), "3 rings of 600 KiB are in L3 (32 MiB)"},
		{"chase", "32769", "1", laptop(), "a ring of 32 MiB is beyond L3 (32 MiB): partly in memory"},
		{"chase", "131072", "1", laptop(), "a ring of 128 MiB is beyond L3 (32 MiB): in memory"},
		// What is on every CPU, and not only on those of one kind.
		{"chase", "40", "1", hybrid, "a ring of 40 KiB is in L2 (2 MiB)"},
		{"chase", "3072", "1", hybrid, "a ring of 3 MiB is beyond L2 (4 MiB): partly in memory"},

		{"stream", "20000", "1", laptop(), "arrays of 160 kB are in L2 (1 MiB)"},
		{"stream", "1000000", "1", laptop(), "arrays of 8 MB are in L3 (32 MiB)"},
		{"stream", "2000000", "1", laptop(), "arrays of 16 MB are partly in L3 (32 MiB)"},
		{"stream", "15999999", "1", laptop(), "arrays of 128 MB are partly in L3 (32 MiB)"},
		{"stream", "16000000", "1", laptop(), "arrays of 128 MB are beyond L3 (32 MiB): in memory"},
		{"stream", "16000000", "2", laptop(), "arrays of 128 MB are beyond L3 (32 MiB): in memory"},
		// One process is on one package, two can be on both: McCalpin's second example.
		{"stream", "10000000", "1", server(), "arrays of 80 MB are beyond L3 (20 MiB): in memory"},
		{"stream", "9999999", "2", server(), "arrays of 80 MB are partly in L3 (40 MiB)"},
		{"stream", "10000000", "2", server(), "arrays of 80 MB are beyond L3 (40 MiB): in memory"},
		{"stream", "2500000", "8", server(), "arrays of 20 MB are beyond L3 (40 MiB): in memory"},
	} {
		params := []string{"threads", tt.threads, "kib", tt.size, "elements", tt.size}
		if got := kernelTreatment(tt.kernel, params...).DataPlace(CachesOf(tt.facts)); got != tt.want {
			t.Errorf("%s of %s, %s threads: %q, want %q", tt.kernel, tt.size, tt.threads, got, tt.want)
		}
	}
}

// TestCachesNotKnown: what is not known is neither small nor large.
func TestCachesNotKnown(t *testing.T) {
	for _, facts := range []string{
		"", "null", "{}", "no JSON", `{"topology":null}`, `{"topology":{}}`, `{"topology":{"caches":[]}}`,
		`{"topology":{"caches":[{"level":1,"type":"Instruction","bytes":1,"count":1}]}}`,
		string(cachesText([3]int64{1, -1, 2})), string(cachesText([3]int64{3, -1, 1}, [3]int64{3, mib, 1})),
		string(cachesText([3]int64{2, mib, 0})),
	} {
		c := CachesOf(json.RawMessage(facts))
		stream := kernelTreatment("stream", "elements", "8")
		if got, want := stream.DataPlace(c), "arrays of 64 B are in a level that cannot be told: the caches are not known here"; got != want {
			t.Errorf("%s: %q, want %q", facts, got, want)
		}
		if got := stream.Doubts(c, 2); got != nil {
			t.Errorf("%s: %q", facts, got)
		}
		chase := kernelTreatment("chase", "kib", "64")
		if got, want := chase.DataPlace(c), "a ring of 64 KiB is in a level that cannot be told: the caches are not known here"; got != want {
			t.Errorf("%s: %q, want %q", facts, got, want)
		}
	}
}

func TestDoubts(t *testing.T) {
	pinned := kernelTreatment("jitter", "threads", "2")
	pinned.Layers = isolation.Mode{CPUs: "rotate"}
	listed := kernelTreatment("jitter", "threads", "3")
	listed.Layers = isolation.Mode{CPUs: "4-6", N: 3}
	for _, tt := range []struct {
		t    *Treatment
		want string
	}{
		{kernelTreatment("jitter", "threads", "1"), "[]"},
		{kernelTreatment("jitter", "threads", "2"), "[]"},
		{kernelTreatment("jitter", "threads", "3"), "[3 processes take turns on 2 CPUs, and every iteration waits for the last of them]"},
		{pinned, "[2 processes take turns on 1 CPU, and every iteration waits for the last of them]"},
		{listed, "[]"},
		{kernelTreatment("jitter", "elements", "1"), "[]"},
		{kernelTreatment("chase", "kib", "1"), "[]"},
		{kernelTreatment("stream", "elements", "16000000"), "[]"},
		{kernelTreatment("stream", "elements", "15999999"), "[MB/s is partly the bandwidth of L3 (32 MiB), not of memory alone: STREAM asks for arrays of 4 times the last-level cache, L3 (32 MiB), and these have 128 MB (elements = 16000000 or more)]"},
		{kernelTreatment("stream", "elements", "20000"), "[MB/s is the bandwidth of L2 (1 MiB), not of memory: STREAM asks for arrays of 4 times the last-level cache, L3 (32 MiB), and these have 160 kB (elements = 16000000 or more)]"},
	} {
		if got := fmt.Sprint(tt.t.Doubts(CachesOf(laptop()), 2)); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
}

// TestCPUsNotKnown: of a machine that does not say how many there are, nothing
// is said.
func TestCPUsNotKnown(t *testing.T) {
	if got := kernelTreatment("jitter", "threads", "4096").Doubts(Caches{}, 0); got != nil {
		t.Errorf("%q", got)
	}
}

// TestDoubtsAreRecorded: what is doubtful before a run stands in its record.
func TestDoubtsAreRecorded(t *testing.T) {
	for _, tt := range []struct {
		elements string
		facts    json.RawMessage
		want     int
	}{{"20000", laptop(), 1}, {"16000000", laptop(), 0}, {"20000", nil, 0}} {
		s, _ := testSession(t, 1, []string{"memory"}, isolation.Mode{Name: "m"})
		s.Self, s.Provenance.Host = []string{"true"}, tt.facts
		s.Plan.Treatments[0].Spec = kernelTreatment("stream", "elements", tt.elements, "threads", "1").Spec
		if _, err := Execute(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		rs := records(t, s.Dir)
		if len(rs) != 1 || len(rs[0].Warnings) != tt.want {
			t.Errorf("%s elements: %+v, want %d warnings", tt.elements, rs, tt.want)
		}
	}
}
