package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a page in headless Chromium, with what it complained of and what
// it asked the network for.
type browser struct {
	t        *testing.T
	ctx      context.Context
	mu       sync.Mutex
	faults   []string
	requests []string
}

// chromium finds the browser. Only a person's machine may lack it.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("no chromium: scripts/test installs it")
	}
	t.Skip("no chromium here: apt-get install chromium")
	return ""
}

// openPage shows a page, of that many pixels, and waits until it is drawn.
func openPage(t *testing.T, html []byte, width, height int64) *browser {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, html, 0o666); err != nil {
		t.Fatal(err)
	}
	// The profile is a fresh folder that chromedp removes; Chromium's folder of sockets beside it is left by the browser.
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Env("TMPDIR="+t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.WSURLReadTimeout(time.Minute))
	alloc, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil && !errors.Is(err, context.Canceled) { // waits for the browser's end
			t.Logf("cannot end the browser: %v", err) // says nothing about the page
		}
		cancel()
	})
	limited, cancelLimited := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancelLimited)
	b := &browser{t: t, ctx: limited}
	chromedp.ListenTarget(ctx, b.listen)
	b.do(network.Enable(), log.Enable(), runtime.Enable(), chromedp.EmulateViewport(width, height), chromedp.Navigate("file://"+file))
	b.do(chromedp.WaitReady(`html[data-ready="true"]`, chromedp.ByQuery))
	return b
}

func (b *browser) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		b.faults = append(b.faults, fmt.Sprintf("console.%s", e.Type))
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		b.faults = append(b.faults, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// eval evaluates an expression of the page.
func eval[T any](b *browser, js string) T {
	b.t.Helper()
	var v T
	if err := chromedp.Run(b.ctx, chromedp.Evaluate(js, &v)); err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// clean fails the test where the page complained or asked for anything but
// itself.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		b.t.Errorf("console: %s", f)
	}
	for i, r := range b.requests {
		if i > 0 && !strings.HasPrefix(r, "data:") {
			b.t.Errorf("the page asked for %s", r)
		}
	}
	if len(b.requests) == 0 {
		b.t.Error("no request was seen, not even that of the page: nothing was watched")
	}
}

// shot writes a screenshot of the whole page where a person wants to look:
// GOSET_SHOTS names the folder.
func (b *browser) shot(name string) {
	dir := os.Getenv("GOSET_SHOTS")
	if dir == "" {
		return
	}
	var png []byte
	b.do(chromedp.FullScreenshot(&png, 100))
	if err := os.WriteFile(filepath.Join(dir, name), png, 0o666); err != nil {
		b.t.Fatal(err)
	}
}

const stripOf = `document.querySelector('.plot[data-figure="0"][data-kind="strip"]')`

// kept gives the place on the screen of the strip's first kept run of a colour.
func (b *browser) kept(colour int) (x, y float64) {
	b.t.Helper()
	at := eval[[]float64](b, fmt.Sprintf(`(() => {
		%s.scrollIntoView({block: "center"});
		const p = %s.querySelector(".dots path.kept.c%d"), m = /M([\d.]+),([\d.]+)/.exec(p.getAttribute("d"));
		const q = new DOMPoint(+m[1], +m[2]).matrixTransform(p.getScreenCTM());
		return [q.x, q.y];
	})()`, stripOf, stripOf, colour))
	return at[0], at[1]
}

func (b *browser) visible(id string) bool {
	return !eval[bool](b, `document.getElementById("`+id+`").hidden`)
}
func (b *browser) text(id string) string {
	return eval[string](b, `document.getElementById("`+id+`").textContent`)
}

func (b *browser) mouse(kind input.MouseType, x, y float64) {
	b.t.Helper()
	e := input.DispatchMouseEvent(kind, x, y)
	if kind != input.MouseMoved {
		e = e.WithButton(input.Left).WithClickCount(1)
	} else {
		e = e.WithButtons(0)
	}
	b.do(e)
	if kind == input.MouseReleased {
		b.settle()
	}
}

// settle waits for what the page has put off until after an event: d3 lets no click
// through after a brush that moved, and takes that back by a timer of no time.
func (b *browser) settle() {
	b.t.Helper()
	b.do(chromedp.Evaluate(`new Promise(done => setTimeout(done, 0))`, nil, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
		return p.WithAwaitPromise(true)
	}))
}

// click presses a button that stands in the page.
func (b *browser) click(selector string) {
	b.t.Helper()
	if !eval[bool](b, fmt.Sprintf(`(e => e ? (e.click(), true) : false)(document.querySelector(%q))`, selector)) {
		b.t.Fatalf("nothing on the page is %s", selector)
	}
}

func (b *browser) drag(x0, y0, x1, y1 float64) {
	b.t.Helper()
	b.mouse(input.MousePressed, x0, y0)
	for i := range 5 {
		f := float64(i+1) / 5
		b.do(input.DispatchMouseEvent(input.MouseMoved, x0+f*(x1-x0), y0+f*(y1-y0)).WithButton(input.Left).WithButtons(1))
	}
	b.mouse(input.MouseReleased, x1, y1)
}

// TestPageNumbers: the page opens without a complaint or a request, and its
// summary tables hold the numbers of summary.csv, to the last digit in the
// cell's data and to the printed digits in its text.
func TestPageNumbers(t *testing.T) {
	set := pageFixture(20)
	p, _ := buildPage(t, set, fixtureOptions(set))
	b := openPage(t, htmlOf(t, p), 1280, 900)
	var text bytes.Buffer
	if err := SummaryCSV(&text, p.Document.Tables); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	head := map[string]int{}
	for i, h := range lines[0] {
		head[h] = i
	}
	lines = lines[1:]
	cells := 0
	for i := range p.Figures {
		f := &p.Figures[i]
		rows := eval[[][][3]string](b, fmt.Sprintf(`[...document.querySelectorAll("#t%d-summary tbody tr")].map(tr => [["mode", tr.dataset.mode, ""], ...[...tr.querySelectorAll("td[data-column]")].map(td => [td.dataset.column, td.dataset.value, td.textContent])])`, i+1))
		for _, row := range rows {
			line := lines[0]
			lines = lines[1:]
			for _, c := range row {
				cells++
				want := line[head[c[0]]]
				if c[1] != want {
					t.Errorf("%s %s: the page has %q, summary.csv %q", f.short(), c[0], c[1], want)
				}
				checkPrinted(t, f, c[0], c[2], want)
			}
		}
	}
	if len(lines) != 0 || cells < 60 {
		t.Errorf("%d cells were compared, %d lines of summary.csv were not", cells, len(lines))
	}
	if n := eval[int](b, `document.querySelectorAll(".plot svg").length`); n != len(p.Figures)*7 {
		t.Errorf("%d plots are drawn, want %d", n, len(p.Figures)*7)
	}
	b.clean()
}

// checkPrinted compares a printed number with the exact one.
func checkPrinted(t *testing.T, f *Figure, column, printed, want string) {
	t.Helper()
	if want == "" || column == "mode" {
		return
	}
	v, err := strconv.ParseFloat(want, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range columns() {
		if c.name == column && c.kind == quantity {
			v *= f.format.factor
		} else if c.name == column && c.kind == share {
			v *= 100
		}
	}
	got, err := strconv.ParseFloat(strings.TrimSuffix(printed, "%"), 64)
	_, decimals, _ := strings.Cut(strings.TrimSuffix(printed, "%"), ".")
	if err != nil || math.Abs(got-v) > 0.5001*math.Pow10(-len(decimals)) {
		t.Errorf("%s %s: printed %q (%v), want %v", f.short(), column, printed, err, v)
	}
}

// TestPageRuns: hover, selection by mouse, legend, list of bad runs and
// keyboard, and what each marks.
func TestPageRuns(t *testing.T) {
	set := pageFixture(20)
	p, _ := buildPage(t, set, fixtureOptions(set))
	b := openPage(t, htmlOf(t, p), 1280, 900)

	x, y := b.kept(0)
	b.mouse(input.MouseMoved, x, y)
	if !b.visible("tip") {
		t.Fatal("hovering over a run shows nothing")
	}
	for _, want := range []string{"unpinned", "run 1 of its mode", "round 1", "CPU any", "involuntary_switches", "interrupts", "time "} {
		if tip := b.text("tip"); !strings.Contains(tip, want) {
			t.Errorf("the tip lacks %q: %s", want, tip)
		}
	}
	if n := eval[int](b, `document.querySelectorAll('.ring[visibility="visible"]').length`); n < 5 {
		t.Errorf("the run under the pointer is ringed in %d plots", n)
	}
	if tip := b.text("tip"); !strings.Contains(tip, "from its mode's median") || !strings.Contains(tip, "most unusual for its mode") {
		t.Errorf("the tip does not compare the run with its mode: %s", tip)
	}
	b.screen("hover.png")
	b.mouse(input.MouseMoved, 5, 5)
	if b.visible("tip") {
		t.Error("the tip stays when the pointer has left")
	}

	// A void run without a value has its place and its reason.
	lost := eval[[]float64](b, `(() => {
		const p = document.querySelector('.plot[data-figure="1"][data-kind="strip"]');
		p.scrollIntoView({block: "center"});
		const path = p.querySelector(".dots path.lost"), m = /M([\d.]+),([\d.]+)/.exec(path.getAttribute("d"));
		const q = new DOMPoint(+m[1] + 3.5, +m[2] + 3.5).matrixTransform(path.getScreenCTM());
		return [q.x, q.y];
	})()`)
	b.mouse(input.MouseMoved, lost[0], lost[1])
	if tip := b.text("tip"); !strings.Contains(tip, `void: pattern of metric "rate" matched nothing`) {
		t.Errorf("the tip of a void run is %q", tip)
	}

	// Dragging over the whole strip marks every run of the set in every plot of it.
	b.kept(0)
	r := eval[[]float64](b, `(() => { const r = `+stripOf+`.querySelector(".overlay").getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; })()`)
	b.drag(r[0]+2, r[1]+2, r[2]-2, r[3]-2)
	total := len(p.Sets[0].Runs)
	if b.visible("tip") {
		t.Error("a tip stays after dragging")
	}
	if got := b.marked(0, "strip"); got != total {
		t.Errorf("%d runs are marked after dragging over all %d", got, total)
	}
	kept := p.Document.Tables[0].Counts.Kept
	for _, kind := range []string{"box", "counter", "ratio_median"} {
		want := kept
		if kind == "ratio_median" {
			want = b.inRatio(p)
		}
		if got := b.marked(0, kind); got != want {
			t.Errorf("%s marks %d runs, want %d", kind, got, want)
		}
	}
	for _, kind := range []string{"cdf", "tail", "ratio_sd"} {
		if got := b.marked(0, kind); got == 0 {
			t.Errorf("%s marks nothing", kind)
		}
	}
	if got := b.marked(1, "strip"); got != 0 {
		t.Errorf("%d runs of another workload are marked", got)
	}

	// A click takes one, the legend a mode, the list of bad runs those.
	x, y = b.kept(2)
	b.mouse(input.MousePressed, x, y)
	b.mouse(input.MouseReleased, x, y)
	if got := b.marked(0, "strip"); got != 1 {
		t.Errorf("a click marks %d runs", got)
	}
	b.click(`#t1 button.legend[data-row="2"]`)
	if got, want := b.marked(0, "strip"), 21; got != want { // 20 blocks and the warm-up
		t.Errorf("the legend marks %d runs of goset, want %d", got, want)
	}
	b.click(`#t1 button.bad`)
	if got, want := b.marked(0, "box"), slowOf(&p.Document.Tables[0]); got != want || want == 0 {
		t.Errorf("the list of bad runs marks %d, want %d", got, want)
	}
	if said := b.text("disturbed"); !strings.Contains(said, "involuntary") {
		t.Errorf("of what disturbed the runs the page says %q", said)
	}
	// From above all sections, what is marked is brought into sight.
	eval[any](b, `(scrollTo(0, 0), document.querySelector("#disturbed button.bad").click())`)
	if !eval[bool](b, `(() => { const r = `+stripOf+`.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight; })()`) {
		t.Error("marking from the list leaves the marked runs out of sight")
	}
	if said := b.text("selection-text"); !strings.Contains(said, "marked in every plot of jitter") {
		t.Errorf("of the selection the page says %q", said)
	}
	b.click(`#selection-show`)
	if got, want := eval[int](b, `document.querySelectorAll("#raw-body tr.chosen").length`), b.marked(0, "box"); got != want {
		t.Errorf("the raw table shows %d chosen runs, want %d", got, want)
	}
	b.click(`#raw-body tr input`)
	b.clean()
}

// slowOf counts the runs of the first attribution that is shown unfolded.
func slowOf(t *Table) int {
	for i := range t.Attributions {
		if t.Attributions[i].Notable {
			return len(t.Attributions[i].Slow)
		}
	}
	return 0
}

// inRatio counts the kept runs whose block has a kept run of the baseline.
func (b *browser) inRatio(p *Page) int {
	base := map[int]bool{}
	for _, r := range p.Sets[0].Runs {
		if r.Row == 0 && r.counts() {
			base[r.Block] = true
		}
	}
	n := 0
	for _, r := range p.Sets[0].Runs {
		if r.Row != 0 && r.counts() && base[r.Block] {
			n++
		}
	}
	return n
}

func (b *browser) marked(figure int, kind string) int {
	return eval[int](b, fmt.Sprintf(`+document.querySelector('.plot[data-figure="%d"][data-kind="%s"]').dataset.marked`, figure, kind))
}

// TestPageKeyboard: the same facts without a mouse, and said aloud.
func TestPageKeyboard(t *testing.T) {
	set := pageFixture(8)
	p, _ := buildPage(t, set, fixtureOptions(set))
	b := openPage(t, htmlOf(t, p), 1280, 900)
	press := func(keys ...string) {
		for _, k := range keys {
			b.do(chromedp.KeyEvent(k))
		}
	}
	// From the top with Tab alone.
	reached := false
	for range 60 {
		press("\t")
		if eval[bool](b, `document.activeElement === `+stripOf) {
			reached = true
			break
		}
	}
	if !reached {
		t.Fatal("Tab does not reach the strip")
	}
	if said := b.text("live"); !strings.Contains(said, "warm-up") {
		t.Errorf("reaching the strip says %q, want its first run, a warm-up", said)
	}
	first := b.text("live")
	b.keys("ArrowRight")
	if said := b.text("live"); said == first || !strings.Contains(said, "run") {
		t.Errorf("the arrow says %q after %q", said, first)
	}
	b.keys("End")
	said := b.text("live")
	for _, want := range []string{"round 8", "CPU", "involuntary_switches"} {
		if !strings.Contains(said, want) {
			t.Errorf("the last run is said as %q, without %q", said, want)
		}
	}
	if !b.visible("tip") {
		t.Error("the keyboard shows no tip")
	}
	b.keys("Enter")
	if got := b.marked(0, "strip"); got != 1 || !b.visible("selection") {
		t.Errorf("Enter marks %d runs", got)
	}
	b.shiftKeys("ArrowLeft")
	if got := b.marked(0, "strip"); got != 2 {
		t.Errorf("Shift and an arrow mark %d runs", got)
	}
	b.keys("Escape")
	if got := b.marked(0, "strip"); got != 0 || b.visible("selection") {
		t.Errorf("after Escape %d runs are marked", got)
	}
	// Every plot says what it is and where its numbers stand; every control has a name.
	if n := eval[int](b, `[...document.querySelectorAll(".plot")].filter(p => p.tabIndex !== 0 || !p.getAttribute("aria-label")).length`); n != 0 {
		t.Errorf("%d plots are out of reach or without a name", n)
	}
	if n := eval[int](b, `[...document.querySelectorAll("button, input, select")].filter(e => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)).length`); n != 0 {
		t.Errorf("%d controls have no name", n)
	}
	b.clean()
}

// keys sends one named key.
func (b *browser) keys(key string) { b.key(key, 0) }

func (b *browser) shiftKeys(key string) { b.key(key, input.ModifierShift) }

func (b *browser) key(key string, m input.Modifier) {
	b.t.Helper()
	text := ""
	if key == "Enter" {
		text = "\r"
	}
	b.do(input.DispatchKeyEvent(input.KeyDown).WithKey(key).WithText(text).WithModifiers(m), input.DispatchKeyEvent(input.KeyUp).WithKey(key).WithModifiers(m))
}

// TestPageTable: the raw table has every attempt, sorts and filters.
func TestPageTable(t *testing.T) {
	set := pageFixture(20)
	p, _ := buildPage(t, set, fixtureOptions(set))
	b := openPage(t, htmlOf(t, p), 1280, 900)
	if got, want := b.text("raw-count"), fmt.Sprintf("1 to 50 of %d runs", len(set.rs)); got != want {
		t.Errorf("the table says %q, want %q", got, want)
	}
	column := func(name string) []string {
		return eval[[]string](b, `[...document.querySelectorAll('#raw-body td[data-column="`+name+`"]')].map(td => td.title || td.textContent)`)
	}
	click := func(name string) {
		eval[any](b, `[...document.querySelectorAll("#raw-head button")].find(b => b.textContent === "`+name+`").click()`)
	}
	filter := func(text string) {
		eval[any](b, `(() => { const f = document.getElementById("raw-filter"); f.value = "`+text+`"; f.dispatchEvent(new Event("input")); })()`)
	}
	for _, down := range []bool{false, true} {
		click("time, s/iteration")
		vs := column("time")
		if len(vs) != 50 {
			t.Fatalf("%d values of time on the page", len(vs))
		}
		for i := 1; i < len(vs); i++ {
			x, err1 := strconv.ParseFloat(vs[i-1], 64)
			y, err2 := strconv.ParseFloat(vs[i], 64)
			if err1 != nil || err2 != nil || !down && x > y || down && x < y {
				t.Errorf("sorted by time (down %v), %s stands before %s", down, vs[i-1], vs[i])
			}
		}
		want := map[bool]string{false: "ascending", true: "descending"}[down]
		if got := eval[string](b, `[...document.querySelectorAll("#raw-head th")].find(th => th.textContent === "time, s/iteration").getAttribute("aria-sort")`); got != want {
			t.Errorf("aria-sort is %q, want %q", got, want)
		}
	}
	busy := 0
	for _, r := range set.rs {
		if r.Counters["involuntary_switches"] > 30 {
			busy++
		}
	}
	filter("involuntary_switches>30")
	if got, want := b.text("raw-count"), fmt.Sprintf("1 to %d of %d runs", busy, busy); got != want {
		t.Errorf("filtered by a counter, the table says %q, want %q", got, want)
	}
	for _, m := range column("outcome") {
		if m != "kept" && m != "void" {
			t.Errorf("outcome %q", m)
		}
	}
	filter("SIGSEGV goset")
	if got := b.text("raw-count"); got != "1 to 1 of 1 runs" {
		t.Errorf("filtered by reason and mode, the table says %q", got)
	}
	for text, want := range map[string]string{
		"wall>":         "wall>: a value is missing",
		"in>1":          "in>1: in could be interrupts, involuntary_switches",
		"frob>1":        "frob>1: no column is called frob",
		"mode>goset":    "mode>goset: mode holds words; only = can be asked of it",
		"wall>fast":     "wall>fast: fast is no number",
		"rate>12000":    "rate>12000: met by all runs that have a value; rate goes from ",
		"involuntary>1": "",
		"mode=goset":    "",
	} {
		filter(text)
		if got := b.text("raw-error"); !strings.HasPrefix(got, want) || (want == "") != !b.visible("raw-error") {
			t.Errorf("of %q the table says %q, want %q", text, got, want)
		}
	}
	heads := eval[int](b, `(document.getElementById("raw-filter").value = "", document.getElementById("raw-filter").dispatchEvent(new Event("input")), document.querySelectorAll("#raw-head th").length)`)
	filter("nosuchword")
	if got := eval[int](b, `document.querySelectorAll("#raw-head th").length`); got != heads {
		t.Errorf("without a run the head has %d columns, before %d", got, heads)
	}
	if got := b.text("raw-count"); got != "no run matches" {
		t.Errorf("filtered by nonsense, the table says %q", got)
	}
	filter("")
	// Scrolled to its end, the table still names its runs.
	pinned := eval[[]string](b, `(() => {
		const s = document.getElementById("raw-table").parentElement;
		s.scrollLeft = s.scrollWidth;
		const edge = s.getBoundingClientRect().left, tr = document.querySelector("#raw-body tr");
		return [...tr.children].filter(td => { const r = td.getBoundingClientRect(); return r.left >= edge - 1 && r.left < edge + 400 && td.classList.contains("pinned"); }).map(td => td.textContent);
	})()`)
	if scrolls := eval[bool](b, `document.getElementById("raw-table").parentElement.scrollLeft > 0`); scrolls && len(pinned) != 4 {
		t.Errorf("scrolled, the table shows %q of a run's names", pinned)
	}
	b.do(chromedp.SetValue("#raw-mode", "taskset", chromedp.ByQuery))
	eval[any](b, `document.getElementById("raw-mode").dispatchEvent(new Event("input"))`)
	if got := b.text("raw-count"); !strings.HasSuffix(got, " of 42 runs") { // 20 blocks and the warm-up, twice
		t.Errorf("the table of taskset says %q", got)
	}
	b.clean()
}

// TestPageFirstScreen: what was found stands above every table and in its
// colour, the picture of all comparisons is on the first screen, and the
// self-check follows.
func TestPageFirstScreen(t *testing.T) {
	set := pageFixture(20)
	p, _ := buildPage(t, set, fixtureOptions(set))
	b := openPage(t, htmlOf(t, p), 1280, 900)
	heads := eval[[]string](b, `[...document.querySelectorAll("#headlines li")].map(l => l.className + " " + l.textContent)`)
	if len(heads) < 3 || !strings.HasPrefix(heads[0], "gain goset is steadier than unpinned on ") {
		t.Errorf("the headlines are %q", heads)
	}
	if green := eval[string](b, `getComputedStyle(document.querySelector("#headlines li.gain")).color`); green != "rgb(11, 107, 46)" {
		t.Errorf("what is clear is %s, want green", green)
	}
	if !eval[bool](b, `!!(document.getElementById("headlines").compareDocumentPosition(document.querySelector("table")) & Node.DOCUMENT_POSITION_FOLLOWING)`) {
		t.Error("a table stands before the headlines")
	}
	box := eval[[]float64](b, `(() => { const r = document.getElementById("forest").getBoundingClientRect(); return [r.top, r.bottom, r.right, document.getElementById("forest").parentElement.scrollWidth - document.getElementById("forest").parentElement.clientWidth]; })()`)
	if box[0] < 0 || box[1] > 900 || box[3] > 0 {
		t.Errorf("the picture reaches from %.0f to %.0f of 900, and %.0f pixels of it are cut off", box[0], box[1], box[3])
	}
	// Each comparison has its point and bar, where the numbers beside it are.
	n := 0
	for i := range p.Document.Tables {
		n += len(p.Document.Tables[i].Contrasts)
	}
	if rows := eval[int](b, `[...document.querySelectorAll("#forest tbody tr")].filter(r => r.querySelectorAll(".point").length === 2 && r.querySelectorAll(".bar").length === 2).length`); rows != n || n == 0 {
		t.Errorf("%d rows have both pictures, want %d", rows, n)
	}
	if c := eval[string](b, `(() => { const r = [...document.querySelectorAll("#forest tbody tr")].find(r => r.textContent.includes("goset")); return [...r.querySelectorAll(".chip")].map(c => c.textContent).join(); })()`); !strings.Contains(c, "steadier") {
		t.Errorf("goset's verdicts are %q", c)
	}
	b.screen("first-1280x900.png")
	b.clean()
}

// screen writes what the window shows.
func (b *browser) screen(name string) {
	dir := os.Getenv("GOSET_SHOTS")
	if dir == "" {
		return
	}
	var png []byte
	b.do(chromedp.CaptureScreenshot(&png))
	if err := os.WriteFile(filepath.Join(dir, name), png, 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// TestPageLooks: light, dark, narrow and printed.
func TestPageLooks(t *testing.T) {
	set := pageFixture(20)
	p, _ := buildPage(t, set, fixtureOptions(set))
	b := openPage(t, htmlOf(t, p), 1280, 900)
	paper := func() string { return eval[string](b, `getComputedStyle(document.body).backgroundColor`) }
	dot := func() string { return eval[string](b, `getComputedStyle(document.querySelector(".runs.c0")).stroke`) }
	media := func(kind, scheme string) {
		b.do(emulation.SetEmulatedMedia().WithMedia(kind).WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
	}
	const white, dark = "rgb(255, 255, 255)", "rgb(13, 17, 23)"
	media("", "light")
	if got := paper(); got != white {
		t.Errorf("light paper is %s", got)
	}
	b.shot("light-1280.png")
	light := dot()
	media("", "dark")
	if got := paper(); got != dark {
		t.Errorf("dark paper is %s", got)
	}
	if dot() == light {
		t.Error("the plots do not follow the dark")
	}
	b.shot("dark-1280.png")
	b.click("#theme") // light, whatever the system says
	if got := paper(); got != white {
		t.Errorf("the button leaves the paper %s", got)
	}
	media("", "light")
	b.click("#theme")
	if got := paper(); got != dark {
		t.Errorf("the button's dark is %s", got)
	}
	media("print", "dark")
	for _, gone := range []string{"button.bad", "#raw-filter", "select.counter", "#theme"} {
		if n := eval[int](b, `[...document.querySelectorAll("`+gone+`")].filter(e => e.checkVisibility()).length`); n > 0 {
			t.Errorf("printed, %d of %s are to be seen", n, gone)
		}
	}
	if n := eval[int](b, `[...document.querySelectorAll("details:not(.bulk) > :not(summary)")].filter(e => e.getBoundingClientRect().height === 0 && e.textContent.trim()).length`); n > 0 {
		t.Errorf("printed, %d folded parts stay closed", n)
	}
	if got := paper(); got != white || eval[string](b, `getComputedStyle(document.querySelector("nav")).display`) != "none" {
		t.Errorf("printed, the paper is %s or the links stand", got)
	}
	var pdf []byte
	b.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		pdf, _, err = page.PrintToPDF().Do(ctx)
		return err
	}))
	if dir := os.Getenv("GOSET_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "print.pdf"), pdf, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.HasPrefix(pdf, []byte("%PDF")) {
		t.Error("the page does not print")
	}
	media("", "light")
	b.clean()
}

// TestPageNarrow: a phone shows the page without scrolling sideways.
func TestPageNarrow(t *testing.T) {
	set := pageFixture(20)
	p, _ := buildPage(t, set, fixtureOptions(set))
	b := openPage(t, htmlOf(t, p), 400, 800)
	if w := eval[int](b, `document.documentElement.scrollWidth`); w > 400 {
		t.Errorf("the page is %d pixels wide on a screen of 400", w)
	}
	b.shot("light-400.png")
	b.clean()
}

// TestPageLarge: 10,000 runs open and can be chosen.
func TestPageLarge(t *testing.T) {
	set := largeFixture(10_000)
	p, _ := buildPage(t, set, Options{Treatments: set.treatments, ModeFactors: []string{}})
	b := openPage(t, htmlOf(t, p), 1280, 900)
	if got := b.text("raw-count"); got != "1 to 50 of 10000 runs" {
		t.Errorf("the table says %q", got)
	}
	b.click(`#t1 button.legend[data-row="1"]`)
	if got := b.marked(0, "strip"); got != 500 {
		t.Errorf("%d runs are marked, want 500", got)
	}
	b.shot("large-1280.png")
	b.clean()
}
