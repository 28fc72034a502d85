package texttab

import (
	"reflect"
	"strings"
	"testing"
)

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "a": 1, "é": 1, "e\u0301": 1, "±5%": 3, "測定": 4, "…": 1, "¹²": 2} {
		if got := Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestLayout(t *testing.T) {
	for _, tc := range []struct {
		name string
		rows [][]Cell
		want [][]string
	}{
		{"none", nil, [][]string{}},
		{"one", [][]Cell{{{"a", Left}}}, [][]string{{"a"}}},
		{"two", [][]Cell{{{"測", Left}, {"1", Right}}, {{"abc", Left}, {"12.5", Right}}}, [][]string{{"測 ", "   1"}, {"abc", "12.5"}}},
		{"ragged", [][]Cell{{{"a", Left}}, {{"bb", Right}, {"c", Left}}}, [][]string{{"a "}, {"bb", "c"}}},
	} {
		if got := Layout(tc.rows); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: Layout = %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestBlocks(t *testing.T) {
	for _, tc := range []struct {
		widths           []int
		lead, gap, width int
		want             []Block
	}{
		{nil, 1, 2, 10, nil},
		{[]int{5}, 1, 2, 10, []Block{{[]int{0}, 0}}},
		{[]int{5}, 1, 2, 1, []Block{{[]int{0}, 0}}},
		{[]int{1, 1}, 1, 2, 6, []Block{{[]int{0, 1}, 0}}},
		{[]int{1, 1, 1}, 1, 2, 6, []Block{{[]int{0, 1}, 0}, {[]int{0, 2}, 0}}},
		{[]int{1, 1, 1}, 1, 2, 9, []Block{{[]int{0, 1, 2}, 0}}},
		{[]int{1, 1, 1}, 1, 2, 0, []Block{{[]int{0, 1, 2}, 0}}},
		{[]int{1, 50, 1, 1}, 1, 2, 9, []Block{{[]int{0, 1}, 4}, {[]int{0, 2, 3}, 0}}},
		{[]int{9, 50}, 1, 2, 9, []Block{{[]int{0, 1}, 1}}},
		{[]int{1, 2, 3, 4}, 2, 1, 9, []Block{{[]int{0, 1, 2}, 0}, {[]int{0, 1, 3}, 3}}},
		{[]int{3, 3}, 0, 1, 4, []Block{{[]int{0}, 0}, {[]int{1}, 0}}},
	} {
		var row []Cell
		for _, w := range tc.widths {
			row = append(row, Cell{Text: strings.Repeat("x", w)})
		}
		if got := Blocks([][]Cell{row}, tc.lead, tc.gap, tc.width); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("Blocks(%v, %d, %d, %d) = %v, want %v", tc.widths, tc.lead, tc.gap, tc.width, got, tc.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		s    string
		w    int
		want []string
	}{
		{"", 5, []string{""}},
		{"one", 5, []string{"one"}},
		{"one two", 7, []string{"one two"}},
		{"one two", 6, []string{"one", "two"}},
		{"abcdefgh i", 3, []string{"abc", "def", "gh", "i"}},
		{"測定", 1, []string{"測", "定"}},
		{"ab", 0, []string{"a", "b"}},
	} {
		if got := Wrap(tc.s, tc.w); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", tc.s, tc.w, got, tc.want)
		}
	}
}

// FuzzWrap holds that no line but a lone wide rune is wider than asked and
// that no rune but spaces is lost.
func FuzzWrap(f *testing.F) {
	f.Add("goset n=2 fence=true", 8)
	f.Add("測定 abc", 1)
	f.Fuzz(func(t *testing.T, s string, w int) {
		if w > 200 || len(s) > 2000 {
			t.Skip()
		}
		lines := Wrap(s, w)
		for _, l := range lines {
			if Width(l) > max(w, 1) && Width(l) > 2 {
				t.Errorf("Wrap(%q, %d): line %q is %d wide", s, w, l, Width(l))
			}
		}
		if got, want := strings.Join(lines, ""), strings.Join(strings.Fields(s), ""); strings.ReplaceAll(got, " ", "") != want && strings.Join(strings.Fields(got), "") != want {
			t.Errorf("Wrap(%q, %d) = %q loses text", s, w, lines)
		}
	})
}
