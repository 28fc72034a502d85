package cpulist

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"goset/internal/publicdata"
)

func TestOperations(t *testing.T) {
	type set = []int
	for _, c := range []struct{ a, b, union, minus, both set }{
		{nil, nil, nil, nil, nil},
		{set{0}, nil, set{0}, set{0}, nil},
		{nil, set{0}, set{0}, nil, nil},
		{set{1}, set{1}, set{1}, nil, set{1}},
		{set{0, 64}, set{64}, set{0, 64}, set{0}, set{64}},
		{set{63}, set{64, 1200}, set{63, 64, 1200}, set{63}, nil},
		{set{3, 1, 2, 2}, set{2}, set{1, 2, 3}, set{1, 3}, set{2}},
		{set{MaxCPU}, set{0}, set{0, MaxCPU}, set{MaxCPU}, nil},
	} {
		a, b := Of(c.a...), Of(c.b...)
		for what, got := range map[string][2]Set{
			"union": {a.Union(b), Of(c.union...)},
			"minus": {a.Minus(b), Of(c.minus...)},
			"both":  {a.Intersect(b), Of(c.both...)},
		} {
			if !got[0].Equal(got[1]) || !reflect.DeepEqual(got[0], got[1]) {
				t.Errorf("%s of %v and %v = %v, want %v", what, a, b, got[0], got[1])
			}
		}
		if got := a.Intersects(b); got != (len(c.both) > 0) {
			t.Errorf("%v intersects %v = %v", a, b, got)
		}
		if got := a.SubsetOf(b); got != (len(c.minus) == 0) {
			t.Errorf("%v subset of %v = %v", a, b, got)
		}
		if got, want := a.Union(b).Len(), len(c.union); got != want {
			t.Errorf("Len of %v = %d, want %d", a.Union(b), got, want)
		}
		if got := a.Union(b).CPUs(); !slices.Equal(got, c.union) {
			t.Errorf("CPUs of %v = %v, want %v", a.Union(b), got, c.union)
		}
	}
}

func TestEnds(t *testing.T) {
	for _, c := range []struct {
		s           Set
		first, last int
	}{{Set{}, -1, -1}, {Of(7), 7, 7}, {Of(64, 1300), 64, 1300}} {
		if c.s.First() != c.first || c.s.Last() != c.last {
			t.Errorf("%v: First, Last = %d, %d, want %d, %d", c.s, c.s.First(), c.s.Last(), c.first, c.last)
		}
	}
	if s := Of(1, 2); s.Contains(-1) || s.Contains(0) || !s.Contains(2) || s.Contains(3000) {
		t.Errorf("Contains of %v is wrong", s)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int // 0: Parse, otherwise ParseWithin
		want string
	}{
		{"", 0, ""}, {"\n", 0, ""}, {"(null)", 0, ""}, {"   (null)\n", 0, ""},
		{"0", 0, "0"}, {"0-3 \n", 0, "0-3"}, {"3,1,2", 0, "1-3"}, {"1\n\x00", 0, "1"},
		{" ,, 0-3 ,, 6 ,,", 0, "0-3,6"}, {"0-3 5", 0, "0-3,5"},
		{"0-6:1/2", 0, "0,2,4,6"}, {"0-20:2/5,23", 0, "0-1,5-6,10-11,15-16,20,23"},
		{"0-10:2", 0, "0,2,4,6,8,10"}, {"0-3:0/2", 0, ""},
		{"0-1999", 0, "0-1999"}, {"65535", 0, "65535"},
		{"all", 8, "0-7"}, {"ALL:1/2", 8, "0,2,4,6"}, {"N", 8, "7"}, {"6-N", 8, "6-7"},
		{"!0-3", 8, "4-7"}, {"!", 2, "0-1"},
	} {
		got, err := parse(c.text, c.n)
		if err != nil || got.String() != c.want {
			t.Errorf("parse %q in %d = %q, %v, want %q", c.text, c.n, got, err, c.want)
		}
	}
}

func parse(text string, n int) (Set, error) {
	if n == 0 {
		return Parse(text)
	}
	return ParseWithin(text, n)
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		text  string
		n     int
		cause string
	}{
		{"-1", 0, "neither"}, {"0-", 0, "neither"}, {"5-2", 0, "starts after its end"}, {"1 - 2", 0, "neither"},
		{"a", 0, "neither"}, {"0-a", 0, "neither"}, {"0x3", 0, "neither"}, {"1.5", 0, "neither"}, {"+1", 0, "neither"},
		{"0-2:", 0, "neither"}, {"0-3:0", 0, "step"}, {"0-3:1/0", 0, "pattern"}, {"0-3:3/2", 0, "pattern"}, {"3:1/2", 0, "only a range"},
		{"0-3:1/2/2", 0, "neither"}, {"1\n2", 0, "more than one line"}, {"(null", 0, "neither"},
		{"65536", 0, "above"}, {"0-99999999999999999999", 0, "above"},
		{"all", 0, "number of CPUs"}, {"0-N", 0, "number of CPUs"}, {"!0", 0, "neither"},
		{"8", 8, "out of range"}, {"6-8", 8, "out of range"}, {"0-n", 8, "neither"}, {"alle", 8, "neither"}, {"0", 0x20000, "CPUs"},
	} {
		got, err := parse(c.text, c.n)
		switch {
		case err == nil:
			t.Errorf("parse %q in %d = %q, want an error", c.text, c.n, got)
		case !strings.Contains(err.Error(), c.cause) || !strings.Contains(err.Error(), strconv.Quote(c.text)):
			t.Errorf("parse %q in %d: message %q lacks %q or the text", c.text, c.n, err, c.cause)
		case !got.Empty():
			t.Errorf("parse %q in %d: %q beside an error", c.text, c.n, got)
		}
	}
}

func TestParseMask(t *testing.T) {
	for text, want := range map[string]string{
		"0": "", "00000000": "", "f": "0-3", "0xFF\n": "0-7", "00000001,00000000\n": "32",
		"0000,20000000": "29", "ffffffffffffffffff": "0-71", "1,,": "error", "": "error", "0x": "error",
		"g": "error", "123456789,0": "error", "-1": "error", strings.Repeat("f", 20000): "error",
	} {
		got, err := ParseMask(text)
		if err != nil {
			got, want = Set{}, strings.Replace(want, "error", "", 1)
		}
		if got.String() != want {
			t.Errorf("ParseMask(%.40q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestMask(t *testing.T) {
	for list, want := range map[string]string{"": "0", "0-3,8": "10f", "32": "1,00000000", "64": "1,00000000,00000000"} {
		s, _ := Parse(list)
		if got := s.Mask(); got != want {
			t.Errorf("Mask of %q = %q, want %q", list, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	type doc struct{ A, B Set }
	text, err := json.Marshal(doc{A: Of(0, 1, 2, 9)})
	if want := `{"A":"0-2,9","B":""}`; err != nil || string(text) != want {
		t.Fatalf("Marshal = %s, %v, want %s", text, err, want)
	}
	var back doc
	if err := json.Unmarshal(text, &back); err != nil || !back.A.Equal(Of(0, 1, 2, 9)) || !back.B.Empty() {
		t.Errorf("Unmarshal = %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"A":"5-2"}`), &back); err == nil {
		t.Error("Unmarshal of a reversed range: no error")
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "0-3,8", "0-6:1/2", "0-10:2", "all", "0-N", "!1", "(null)\n", "1\n\x00"} {
		f.Add(text, 8)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		for _, read := range []func() (Set, error){
			func() (Set, error) { return Parse(text) },
			func() (Set, error) { return ParseWithin(text, n) },
			func() (Set, error) { return ParseMask(text) },
		} {
			s, err := read()
			if err != nil {
				if !s.Empty() {
					t.Fatalf("%q: set %v beside %v", text, s, err)
				}
				continue
			}
			if back, err := Parse(s.String()); err != nil || !back.Equal(s) {
				t.Fatalf("%q: list %q reads back as %q, %v", text, s, back, err)
			}
			if back, err := ParseMask(s.Mask()); err != nil || !back.Equal(s) {
				t.Fatalf("%q: mask %q reads back as %q, %v", text, s.Mask(), back, err)
			}
		}
	})
}

// TestPublicCases reads the collected lists of several dialects. Where another
// tool's dialect refuses what the kernel accepts, the kernel's word counts.
func TestPublicCases(t *testing.T) {
	text, err := os.ReadFile(publicdata.Path(t, "cpulists/cases.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		field := strings.Split(line, "\t")
		if len(field) < 4 || strings.HasPrefix(line, "#") {
			continue
		}
		input, err := strconv.Unquote(field[0])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		n, err := strconv.Atoi(field[1])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		checkCase(t, input, n, field[2], field[3], line)
	}
}

func checkCase(t *testing.T, input string, n int, dialect, want, line string) {
	read := func() (Set, error) { return ParseWithin(input, n) }
	if strings.Contains(dialect, "mask") || strings.Contains(want, "effective_affinity") {
		read = func() (Set, error) { return ParseMask(input) }
	}
	got, err := read()
	switch {
	case strings.Contains(line, "kernel does accept"):
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
	case strings.Contains(want, "ERROR"):
		if err == nil {
			t.Errorf("%s: got %q", line, got)
		}
	default:
		switch want {
		case "as listed":
			want = input
		case "(empty)", "effective_affinity of an IRQ with no target (Raspberry Pi 5 RP1)":
			want = ""
		}
		if err != nil || got.String() != want {
			t.Errorf("%s: got %q, %v", line, got, err)
		}
	}
}

// TestPublicPairs reads masks and lists that kernels printed of the same set.
func TestPublicPairs(t *testing.T) {
	text, err := os.ReadFile(publicdata.Path(t, "cpulists/mask_list_pairs.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	pairs := 0
	for _, line := range strings.Split(string(text), "\n") {
		field := strings.Split(line, "\t")
		if len(field) < 2 || strings.HasPrefix(line, "#") {
			continue
		}
		pairs++
		mask, errMask := ParseMask(strings.Trim(field[0], "'"))
		list, errList := Parse(strings.Trim(field[1], "'"))
		if errMask != nil || errList != nil || !mask.Equal(list) || list.String() != strings.Trim(field[1], "'") {
			t.Errorf("%s: mask %q (%v), list %q (%v)", line, mask, errMask, list, errList)
		}
	}
	if pairs == 0 {
		t.Error("no pairs were read")
	}
}
