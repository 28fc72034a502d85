package report

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"goset/metric"
)

// checkLaTeX is a strict reader of the LaTeX that this package writes: every
// brace, dollar and environment closes, every row of a tabular has as many
// cells as the tabular has columns, and no character stands there that
// pdflatex takes for something else or does not know.
func checkLaTeX(text string) error {
	var groups, envs []string
	var cells, columns int
	math := false
	fault := func(i int, format string, args ...any) error {
		return fmt.Errorf("at %q: %s", text[max(0, i-30):min(len(text), i+30)], fmt.Sprintf(format, args...))
	}
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\\':
			m := regexp.MustCompile(`^\\(?:([a-zA-Z]+)(\*?)(?:\{([a-z]+)\})?|[^a-zA-Z])`).FindStringSubmatch(text[i:])
			if m == nil {
				return fault(i, "a lone backslash")
			}
			switch {
			case m[1] == "begin":
				envs = append(envs, m[3])
				if m[3] == "tabular" {
					spec := regexp.MustCompile(`^\\begin\{tabular\}\{(@\{\}.*@\{\})\}\n`).FindStringSubmatch(text[i:])
					if spec == nil {
						return fault(i, "a tabular without columns")
					}
					columns = 1 + strings.Count(spec[1], "S[")
					cells = 1
					i += len(spec[0])
					continue
				}
			case m[1] == "end":
				if len(envs) == 0 || envs[len(envs)-1] != m[3] {
					return fault(i, "end of %q within %q", m[3], envs)
				}
				envs = envs[:len(envs)-1]
			case m[0] == `\\`:
				if cells != columns {
					return fault(i, "a row of %d cells in a tabular of %d columns", cells, columns)
				}
				cells = 1
			case m[1] == "multicolumn":
				cells++ // it spans two
			}
			if m[1] != "begin" && m[1] != "end" && m[3] != "" {
				i += len(m[0]) - len(m[3]) - 2 // its argument is a group as any other
				continue
			}
			i += len(m[0])
			continue
		case c == '{':
			groups = append(groups, "{")
		case c == '}':
			if len(groups) == 0 {
				return fault(i, "a brace that nothing opened")
			}
			groups = groups[:len(groups)-1]
		case c == '$':
			math = !math
		case c == '&':
			if len(envs) == 0 || envs[len(envs)-1] != "tabular" {
				return fault(i, "a cell outside a tabular")
			}
			cells++
		case strings.IndexByte("#%^_~\"", c) >= 0:
			return fault(i, "a bare %q", c)
		case c >= 0x80:
			r := []rune(text[i:min(len(text), i+4)])[0]
			if r < 0xc0 || r > 0x17f {
				return fault(i, "%q, which pdflatex does not know", r)
			}
			i += len(string(r))
			continue
		case c < ' ' && c != '\n':
			return fault(i, "a control character")
		}
		i++
	}
	if len(groups) > 0 || len(envs) > 0 || math {
		return fmt.Errorf("at the end are open: %q, %q, math %v", groups, envs, math)
	}
	return nil
}

func latexOf(t testing.TB, doc *Document) string {
	t.Helper()
	var out bytes.Buffer
	if err := LaTeX(&out, doc); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// latexDocuments are what the two LaTeX tests read: everything that a document
// may hold, and sets that are nearly empty.
func latexDocuments(t *testing.T) map[string]*Document {
	docs := map[string]*Document{}
	b := pageFixture(20)
	p, _ := buildPage(t, b, fixtureOptions(b))
	docs["fixture"] = p.Document
	docs["fixture"].SelfCheck = SelfCheck{Ran: true, Text: "SELF-CHECK FAILED: 50% of #1", Failed: []string{`a\b {c} $d`}}
	docs["fixture"].Suite = append(docs["fixture"].Suite, SuiteClaim{X: "a_b", Y: "c&d", AverageText: "on average ≥ 2×", AverageClaim: true})
	docs["fixture"].Facts = append(docs["fixture"].Facts, Fact{"日本", "[é] µs ½"})
	small := smallSet()
	q, _ := buildPage(t, small, smallOptions(small))
	docs["small"] = q.Document
	many := &builder{}
	for i := range 70 { // more rows than a page holds
		tr := many.treat("w", "m", "", lv("n", fmt.Sprint(i)))
		many.run(tr, 1, map[string]float64{"x": 1e-9 * float64(i)}, describe(metric.Metric{Name: "x", Unit: "1/m²", Shown: true}))
	}
	r, _ := buildPage(t, many, Options{Treatments: many.treatments, ModeFactors: []string{"n"}})
	docs["many"] = r.Document
	docs["empty"] = &Document{}
	return docs
}

// TestLaTeXStructure reads every document strictly; without a LaTeX at hand
// this is what stands between a name and a broken compilation.
func TestLaTeXStructure(t *testing.T) {
	for name, doc := range latexDocuments(t) {
		text := latexOf(t, doc)
		if err := checkLaTeX(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name != "empty" && !strings.Contains(text, `\toprule`) {
			t.Errorf("%s has no table", name)
		}
	}
	text := latexOf(t, latexDocuments(t)["fixture"])
	for _, want := range []string{`\textbf{goset against unpinned, spread: lower spread`, `S[table-format=1.4]`, `unpinned\textsuperscript{`, `\textless{}b\textgreater{}copy`} {
		if !strings.Contains(text, want) {
			t.Errorf("the document lacks %q", want)
		}
	}
}

// TestCheckLaTeX: the strict reader refuses what it is there to refuse.
func TestCheckLaTeX(t *testing.T) {
	for _, bad := range []string{"a_b", "50%", "{", "}", `\begin{a}`, `\begin{a}\end{b}`, "$x", "a & b", "½", "日", "a\x01",
		"\\begin{tabular}{@{}l S[a] S[b]@{}}\na & b \\\\\n\\end{tabular}"} {
		if checkLaTeX(bad) == nil {
			t.Errorf("%q passes", bad)
		}
	}
	for _, good := range []string{`\_ \% \& \textbf{a} \{`, "$\\leq$", "\\begin{tabular}{@{}l S[a] S[b]@{}}\na & b & {c\\&} \\\\\n\\end{tabular}"} {
		if err := checkLaTeX(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// TestLaTeXCompiles gives every document to pdflatex, once, as it is.
func TestLaTeXCompiles(t *testing.T) {
	pdflatex, err := exec.LookPath("pdflatex")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no pdflatex: scripts/test installs it")
		}
		t.Skip("no pdflatex here: apt-get install texlive-latex-recommended texlive-science lmodern")
	}
	for name, doc := range latexDocuments(t) {
		dir := t.TempDir()
		text := latexOf(t, doc)
		if name == "empty" {
			text = strings.Replace(text, `\end{document}`, "no tables\n"+`\end{document}`, 1) // a page of nothing is no page
		}
		if err := os.WriteFile(filepath.Join(dir, "report.tex"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(pdflatex, "-interaction=nonstopmode", "-halt-on-error", "report.tex")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
			continue
		}
		for _, m := range regexp.MustCompile(`Overfull \\hbox \((\d+)`).FindAllStringSubmatch(string(out), -1) {
			if len(m[1]) > 1 { // ten points and more stick out of the page
				t.Errorf("%s: %s points wider than the page", name, m[1])
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "report.pdf")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSiunitxColumn(t *testing.T) {
	for _, c := range []struct {
		cells []string
		want  string
	}{
		{nil, "S[table-format=1]"}, {[]string{"-"}, "S[table-format=1]"}, {[]string{"12.5", "3.25"}, "S[table-format=2.2]"},
		{[]string{"-1.5", "1.2e-10"}, "S[table-format=-1.1e-2]"}, {[]string{"1.0000e+15"}, "S[table-format=1.4e2]"},
	} {
		if got := siunitxColumn(c.cells); got != c.want {
			t.Errorf("%q: %s, want %s", c.cells, got, c.want)
		}
	}
	for in, want := range map[string]string{"1.5": "1.5", "-": "{-{}}", "n ≥ 6": `{n $\geq$ 6}`, "1.": "{1.}", "": "{}", "1e": "{1e}"} {
		if got := siunitxCell(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// FuzzEscapeLaTeX: any text becomes text.
func FuzzEscapeLaTeX(f *testing.F) {
	for _, s := range []string{"", `a\b{c}$d&e#f%g_h^i~j<k>l|m"n'o` + "`p-q", "×≤é日\x00\xff\n[x]", "½ŉ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := escapeLaTeX(s)
		if err := checkLaTeX(out); err != nil {
			t.Errorf("%q becomes %q: %v", s, out, err)
		}
		if strings.Contains(out, "\n") {
			t.Errorf("%q becomes %q, with a line end", s, out)
		}
	})
}
