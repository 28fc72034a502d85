package harness

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"goset/metric"
)

func findAll(t testing.TB, text string) Extracted {
	t.Helper()
	return extract(t, Workload{Extract: true}, output(text))
}

func TestFound(t *testing.T) {
	for _, c := range []struct {
		text   string
		values map[string]float64
	}{
		{"", nil},
		{"hello\n", nil},
		{"12.5", map[string]float64{"#": 12.5}},
		{"time: 12.5 ms\n", map[string]float64{"time #s": 0.0125}},
		{"time: 900us\n", map[string]float64{"time #s": 0.0009}}, // the same metric at another scale
		{"time=12.5ms,", map[string]float64{"time #s": 0.0125}},
		{"real\t0m1.234s\n", map[string]float64{"real #s": 1.234}},
		{"throughput (mean): 3.1GB/s.\n", map[string]float64{"throughput mean #B/s": 3.1e9}},
		{"cpu 45% of 8 cores", map[string]float64{"cpu #% of # cores [1]": 45, "cpu #% of # cores [2]": 8}},
		{"cpu 45 %", map[string]float64{"cpu #%": 45}},
		{"-3e-7 \u22125 +2", map[string]float64{"# # # [1]": -3e-7, "# # # [2]": -5, "# # # [3]": 2}},
		{"rtt min/avg/max = 0.5/1.5/2.5 ms", map[string]float64{
			"rtt min/avg/max #s #s #s [1]": 0.0005, "rtt min/avg/max #s #s #s [2]": 0.0015, "rtt min/avg/max #s #s #s [3]": 0.0025}},
		{"5.2 ms \u00b1 0.3 ms", map[string]float64{"#s #s [1]": 0.0052, "#s #s [2]": 0.0003}},
		{"5.2\u00b10.3", map[string]float64{"# # [1]": 5.2, "# # [2]": 0.3}},
		{`{"p99": 12.5, "n":3}`, map[string]float64{"p99 # n # [1]": 12.5, "p99 # n # [2]": 3}},
		{"a,1.5,2,b", map[string]float64{"a # # b [1]": 1.5, "a # # b [2]": 2}},
		{"1,2,3", map[string]float64{"# # # [1]": 1, "# # # [2]": 2, "# # # [3]": 3}},
		{"| x | 5 |\u2502 6", map[string]float64{"x # # [1]": 5, "x # # [2]": 6}},
		{"0.5 min 3.5 max", map[string]float64{"# min # max [1]": 0.5, "# min # max [2]": 3.5}},
		{"12k requests, 3M rows", map[string]float64{"# requests #M rows [1]": 12000, "# requests #M rows [2]": 3}},
		{"speedup 1.5x", map[string]float64{"speedup #x": 1.5}},
		{"result[3] = 7", map[string]float64{"result[3] #": 7}},
		{"10%\r20%\r30%\n", map[string]float64{"#%": 30}},
		{"\x1b[1;32mok\x1b[0m 5\n", map[string]float64{"ok #": 5}},
		{"a 1\r\na 3\r\n", map[string]float64{"a #": 2}},
		{"\ufeffa 1", map[string]float64{"a #": 1}},
		{"a\u00a05", map[string]float64{"a #": 5}},
		{"k=\xff 5", map[string]float64{"k ? #": 5}},
		// No numbers.
		{"2024-01-02 2024/01/02 02.01.2024 01/02/24 2024-01-02T10:00:00Z", nil},
		{"12:34 12:34:56 12:34:56.789 0:01.23elapsed", nil},
		{"1.2.3 v1.2 go1.26.8 1.2.3-rc1 2.0.0,", nil},
		{"127.0.0.1 10.0.0.1:8080 fe80::1:2 aa:bb:cc:dd:ee:ff 10.0.0.0/8", nil},
		{"0xdeadbeef deadbeef01 9f86d081884c7d65 123e4567-e89b-12d3-a456-426614174000 123e4567 12ab34", nil},
		{"/usr/lib/5 ./a/5 ../5 ~/5 http://x/5 /5/6", nil},
		{"1st 2nd 3rd 4th 64-bit 10-20 1920x1080 32\u00d732 p99 x86_64 <5 >5", nil},
		{"information nano infinite", nil},
	} {
		e := findAll(t, c.text)
		got := own(e)
		if len(got) != len(c.values) || len(got) > 0 && !reflect.DeepEqual(got, c.values) {
			t.Errorf("%q:\n got %v\nwant %v", c.text, got, c.values)
		}
		if e.Void != "" || len(e.Warnings) > 0 {
			t.Errorf("%q: void %q, warnings %q", c.text, e.Void, e.Warnings)
		}
	}
}

func TestFoundIterations(t *testing.T) {
	e := findAll(t, "i 3 ms\nn 9\ni 1 ms\ni 2 ms\n")
	if want := []float64{0.003, 0.001, 0.002}; !reflect.DeepEqual(e.Iterations["i #s"], want) || e.Values["i #s"] != 0.002 {
		t.Errorf("iterations %v, value %v", e.Iterations["i #s"], e.Values["i #s"])
	}
	if m := find(t, e, "i #s"); m != (metric.Metric{Name: "i #s", Unit: "s", Found: true}) {
		t.Errorf("metric %+v", m)
	}
	if _, ok := e.Iterations["n #"]; ok {
		t.Error("iterations of a number that came once")
	}
}

func TestFoundRefuses(t *testing.T) {
	for _, c := range []struct{ text, warning, void string }{
		{"n 1,234,567 x 5", `"1,234,567"`, ""},
		{"n 3,14 ms x 5", `"3,14"`, ""},
		{"n 1'234 x 5", `"1'234"`, ""},
		{"n 1\u202f234 x 5", "thousands separator", ""},
		{"n 1_234 x 5", "thousands separator", ""},
		{"n 1.234,56 x 5", "decimal comma", ""},
		{"n NaN x 5", "", `"n # x # [1]" printed NaN`},
		{"n=-nan x 5", "", "printed NaN"},
		{"n: inf x 5", "", "printed NaN or an infinity"},
	} {
		e := findAll(t, c.text)
		if (c.warning == "") != (len(e.Warnings) == 0) || c.warning != "" && !strings.Contains(e.Warnings[0], c.warning) {
			t.Errorf("%q: warnings %q, want %q", c.text, e.Warnings, c.warning)
		}
		if (c.void == "") != (e.Void == "") || !strings.Contains(e.Void, c.void) {
			t.Errorf("%q: void %q, want %q", c.text, e.Void, c.void)
		}
		if got := own(e); len(got) != 1 {
			t.Errorf("%q: values %v, want the 5 alone", c.text, got)
		} else {
			for _, v := range got {
				if v != 5 {
					t.Errorf("%q: values %v, want the 5 alone", c.text, got)
				}
			}
		}
	}
}

// The column of a number does not depend on how large its neighbours are.
func TestFoundKeepsColumns(t *testing.T) {
	a, b := findAll(t, "x 999 y 5"), findAll(t, "x 1,000 y 5")
	if a.Shape != b.Shape || b.Values["x # y # [2]"] != 5 {
		t.Errorf("shapes %s and %s, values %v", a.Shape, b.Shape, own(b))
	}
}

func TestFoundStderr(t *testing.T) {
	w := Workload{Extract: true}
	if e := extract(t, w, Result{Stdout: whole("hello"), Stderr: whole("took 5 s")}); e.Values["took #s"] != 5 {
		t.Errorf("values %v", own(e))
	}
	e := extract(t, w, Result{Stdout: whole("n 1"), Stderr: whole("took 5 s")})
	if want := map[string]float64{"n #": 1}; !reflect.DeepEqual(own(e), want) {
		t.Errorf("values %v, want %v", own(e), want)
	}
}

func TestFoundBinary(t *testing.T) {
	e := findAll(t, "a 1\x00\nb 2\n")
	if len(own(e)) != 0 || len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "binary") {
		t.Errorf("values %v, warnings %q", own(e), e.Warnings)
	}
}

func TestShape(t *testing.T) {
	base := findAll(t, "a 1\nb 2 ms\n").Shape
	if base == "" {
		t.Fatal("no shape")
	}
	for _, c := range []struct {
		text string
		same bool
	}{
		{"a 7\nb 900 us\n", true},
		{"a 7\na 8\na 9\nb 2 ms\n", true}, // repeats are a matter of time
		{"a 7\nno number here\nb 2 ms\n", true},
		{"b 2 ms\na 1\n", false},
		{"a 1\n", false},
		{"a 1\nb 2 MB\n", false},
		{"a 1\nb 2 ms\nc 3\n", false},
		{"", false},
	} {
		if got := findAll(t, c.text).Shape; (got == base) != c.same {
			t.Errorf("%q: same shape: %v, want %v", c.text, got == base, c.same)
		}
	}
}

func TestFoundIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range maxFound + 5 {
		fmt.Fprintf(&b, "line%cx%d 5\n", 'a'+i%26, i)
	}
	e := findAll(t, b.String())
	if n := len(own(e)); n != maxFound || len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "5 numbers") {
		t.Errorf("%d metrics, warnings %q", n, e.Warnings)
	}

	e = findAll(t, strings.Repeat("5\n", maxObserved+7))
	if n := len(e.Iterations["#"]); n != maxObserved || len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "last 7") {
		t.Errorf("%d iterations, warnings %q", n, e.Warnings)
	}

	e = findAll(t, strings.Repeat("5 ", maxFound+3))
	if n := len(own(e)); n != maxFound || len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "3 numbers") {
		t.Errorf("%d metrics, warnings %q", n, e.Warnings)
	}
}

// Two long lines that differ only behind the cut stay two metrics.
func TestFoundLongLines(t *testing.T) {
	long := strings.Repeat("word ", 100)
	e := findAll(t, long+"a 1\n"+long+"b 2\n")
	if len(own(e)) != 2 {
		t.Errorf("values %v", own(e))
	}
}

// hostileTexts are outputs that would betray a quadratic step.
func hostileTexts(size int) map[string]string {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, size)
	for i := range noise {
		noise[i] = byte(r.UintN(256))
	}
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	var table bytes.Buffer
	for i := 0; table.Len() < size; i++ {
		fmt.Fprintf(&table, "iteration %d: time %d.%03d ms, rate %d MB/s (ok)\n", i, r.UintN(100), r.UintN(1000), r.UintN(9999))
	}
	return map[string]string{
		"table": table.String(), "noise": "x" + string(bytes.ReplaceAll(noise, []byte{0}, []byte{'1'})),
		"numbers": repeat("5\n"), "columns": repeat("5 "), "list": repeat("5,"), "grouped": repeat("123,"), "assign": repeat("a=5,"),
		"colons": repeat("a:"), "slashes": repeat("5/"), "digits": repeat("5"), "word": repeat("a"), "dots": repeat("1."),
		"brackets": repeat("("), "ends": repeat("a=") + repeat("!"), "returns": repeat("\r"), "escapes": repeat("\x1b["), "blank": repeat(" "),
		"minus": repeat("5-"), "units": repeat("5ms "), "lines": repeat("\n"), "plusminus": repeat("5±"),
	}
}

// BenchmarkFound shows that no text of 16 MiB takes more than its share.
func BenchmarkFound(b *testing.B) {
	for name, text := range hostileTexts(16 << 20) {
		x, err := NewExtractor(Workload{Extract: true})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Extract(output(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Every hostile text gets through, small: a panic or a lost bound shows here,
// a quadratic step in the benchmark.
func TestFoundHostile(t *testing.T) {
	for name, text := range hostileTexts(1 << 16) {
		t.Run(name, func(t *testing.T) {
			if e := findAll(t, text); len(own(e)) > maxFound {
				t.Errorf("%d metrics", len(own(e)))
			}
		})
	}
}

func FuzzFound(f *testing.F) {
	for _, s := range []string{"time: 12.5 ms\n", "a=1,b=2ms", "rtt 1/2/3 ms", "1,234 3,14", "n NaN", "\x1b[1m5\r6", "0m1.2s", "127.0.0.1:5 1.2.3", "5±3", "\u00a05\u00a06", "|5|"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := findAll(t, text)
		if again := findAll(t, text); again.Shape != e.Shape || !reflect.DeepEqual(again.Values, e.Values) {
			t.Fatalf("%q is read in two ways", text)
		}
		if e.Shape == "" {
			t.Fatal("no shape")
		}
	})
}
