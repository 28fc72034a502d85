package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

const sessionText = `title = "Does pinning help?"
[plan]
runs = 10
seed = 1
control = true
[workload.jitter]
command = ["./task"]
[mode.unpinned]
[mode.goset]
cpus = "0"
`

// sitting is a session to be made up.
type sitting struct {
	rounds  int
	shift   float64 // of the median's logarithm under goset
	scale   float64 // of the sd under goset; 0: 1
	control float64 // shift of the baseline's repetition
	boot    string
	edit    func(*harness.Manifest)
	value   func(float64) float64
}

// sit makes session number i: values of 10 ms with an sd of 2%.
func (s sitting) sit(t testing.TB, i int) Session {
	t.Helper()
	b := &builder{}
	m := metric.Metric{Name: "time", Unit: "s", Show: "ms", Better: metric.Lower, Shown: true}
	unpinned, again, goset := b.treat("jitter", "unpinned", ""), b.treat("jitter", "unpinned#2", ""), b.treat("jitter", "goset", "")
	r := rand.New(rand.NewPCG(uint64(i), 77))
	start := time.Date(2026, 3, 1+i, 9, 0, 0, 0, time.UTC)
	if s.scale == 0 {
		s.scale = 1
	}
	if s.value == nil {
		s.value = func(v float64) float64 { return v }
	}
	at := start.Add(30 * time.Second) // the warm-up
	run := func(treatment, block int, v float64) {
		b.run(treatment, block, map[string]float64{"time": s.value(v)}, describe(m), func(r *harness.Record) { r.Start = at })
		at = at.Add(2 * time.Second)
	}
	for block := range s.rounds {
		run(unpinned, block+1, 0.01*math.Exp(0.02*r.NormFloat64()))
		run(again, block+1, 0.01*math.Exp(s.control+0.02*r.NormFloat64()))
		run(goset, block+1, 0.01*math.Exp(s.shift+0.02*s.scale*r.NormFloat64()))
	}
	manifest := &harness.Manifest{Name: "pinning", Title: "Does pinning help?", Text: sessionText, SHA256: "1", Seed: uint64(i), Baseline: "unpinned", Order: harness.OrderShuffled, Repeats: 10,
		Treatments: b.treatments, Sessions: []harness.SessionStart{{Start: start}},
		Host: fmt.Appendf(nil, `{"kernel":{"release":"6.1.0","boot_id":%q},"cpu":{"model":"A Processor"},"topology":{"cpus":4}}`, s.boot)}
	for block := range 10 {
		for treatment := range 3 {
			manifest.Runs = append(manifest.Runs, harness.Run{Treatment: int32(treatment), Block: int32(block + 1)})
		}
	}
	if s.boot == "" {
		manifest.Host = []byte(`{"cpu":{"model":"A Processor"}}`)
	}
	if s.edit != nil {
		s.edit(manifest)
	}
	opt := OptionsOf(manifest)
	opt.ModeFactors = []string{}
	one, err := ReadSession(t.Context(), fmt.Sprintf("results/%d", i), b.rs, opt)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// several are n sessions whose shifts and scales vary about those given.
func several(t testing.TB, n int, shift, scale float64) []Session {
	var list []Session
	for i := range n {
		d := float64(i%3-1) * 0.01
		list = append(list, sitting{rounds: 10, shift: shift + d, scale: scale * (1 + 10*d), boot: fmt.Sprintf("boot-%d", i)}.sit(t, i))
	}
	return list
}

func compareSessions(t testing.TB, list []Session, extra time.Duration) *Sessions {
	t.Helper()
	s, err := CompareSessions(list, extra)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// goset finds the contrast of goset in the first table.
func gosetOf(t testing.TB, s *Sessions) *SessionContrast {
	t.Helper()
	for i := range s.Tables[0].Contrasts {
		if c := &s.Tables[0].Contrasts[i]; c.X == "goset" {
			return c
		}
	}
	t.Fatal("no contrast of goset")
	return nil
}

// TestSessionsByNumber: what there is for 0, 1, 2 and 5 sessions, and that mean
// and interval are those of the sessions' own values.
func TestSessionsByNumber(t *testing.T) {
	if _, err := CompareSessions(nil, 0); err == nil {
		t.Error("no session was taken")
	}
	for _, tc := range []struct {
		n        int
		factor   float64
		interval bool
		advice   bool
		kind     stats.VerdictKind
		grade    Grade
	}{
		{1, 0, false, true, stats.NoClaim, Open},
		{2, 12.7062, true, true, stats.LowerVerdict, Hint}, // the two agree by chance: 5% of all pairs do
		{5, 2.77645, true, false, stats.LowerVerdict, Clear},
	} {
		s := compareSessions(t, several(t, tc.n, -0.03, 0.4), 0)
		c := gosetOf(t, s)
		if c.Median.N != tc.n || len(s.Each) != tc.n || len(c.Values) != tc.n {
			t.Fatalf("%d sessions: %+v", tc.n, c.Median.Across)
		}
		mean, ss := 0.0, 0.0
		for _, v := range c.Values {
			mean += math.Log1p(v.Contrast.Location.Change.V) / float64(tc.n)
		}
		for _, v := range c.Values {
			d := math.Log1p(v.Contrast.Location.Change.V) - mean
			ss += d * d
		}
		half := tc.factor * math.Sqrt(ss/float64(tc.n-1)/float64(tc.n))
		if math.Abs(c.Median.Mean.V-mean) > 1e-12 || c.Median.CI.OK != tc.interval || tc.interval && math.Abs(c.Median.CI.Hi-mean-half) > 1e-6 {
			t.Errorf("%d sessions: mean %v, interval %+v; want %v ± %v", tc.n, c.Median.Mean, c.Median.CI, mean, half)
		}
		if c.Median.Verdict.Kind != tc.kind || c.Median.Grade != tc.grade {
			t.Errorf("%d sessions: %s, %s", tc.n, c.Median.Grade, c.Median.Verdict.Text)
		}
		if got := strings.Contains(strings.Join(s.Notes, "\n"), "at least 5 sessions are advised"); got != tc.advice {
			t.Errorf("%d sessions: advice %t in %q", tc.n, got, s.Notes)
		}
		if (c.Median.Levels.T2[1].OK) != tc.interval || c.Median.Next.Rounds.OK != tc.interval {
			t.Errorf("%d sessions: components %+v, next %+v", tc.n, c.Median.Levels, c.Median.Next)
		}
		sd := c.Values[0].Contrast.Spread.Ratio
		if math.Abs(c.Values[0].Spread.V-math.Log(sd.V)) > 1e-12 {
			t.Errorf("spread of a session is %v, of ratio %v", c.Values[0].Spread, sd)
		}
		everyInk(t, s)
	}
}

// TestSessionsClaimOfFew: fewer than five sessions give a hint and not a claim.
func TestSessionsClaimOfFew(t *testing.T) {
	s := compareSessions(t, several(t, 4, -0.2, 1), 0)
	c := gosetOf(t, s)
	if c.Median.Grade != Hint || len(c.Median.Doubts) == 0 {
		t.Fatalf("%s (%s): %q", c.Median.Verdict.Text, c.Median.Grade, c.Median.Doubts)
	}
	text := headlineTexts(s)
	if !strings.Contains(text, "Hint: goset is better than unpinned on jitter: time over 4 sessions, median change within rounds -18.") || !strings.Contains(text, "Caution: at least 5 sessions are advised, and these are 4") {
		t.Errorf("headlines:\n%s", text)
	}
}

func headlineTexts(s *Sessions) string {
	var out []string
	for _, h := range s.Headlines {
		out = append(out, h.Text)
	}
	return strings.Join(out, "\n")
}

// TestSessionsCosts: a round is three runs of two seconds, a session begins
// with thirty; the formula's count is √(30/6 · T₁²/T₂²).
func TestSessionsCosts(t *testing.T) {
	s := compareSessions(t, several(t, 5, -0.03, 1), 0)
	if s.Costs.Round.V != 6 || s.Costs.Fixed.V != 30 {
		t.Fatalf("costs %+v, want 6 and 30 s", s.Costs)
	}
	c := gosetOf(t, s)
	for _, extra := range []time.Duration{0, 2 * time.Minute} {
		s := compareSessions(t, several(t, 5, -0.03, 1), extra)
		c := gosetOf(t, s)
		l := &c.Median.Levels
		if l.T2[1].V <= 0 {
			t.Fatalf("T² of the sessions %v: the fixture is to have some", l.T2[1])
		}
		want := math.Ceil(math.Sqrt((30 + extra.Seconds()) / 6 * l.T2[0].V / l.T2[1].V))
		if c.Median.Next.Rounds.V != want {
			t.Errorf("%v: %v rounds, want %v", extra, c.Median.Next.Rounds, want)
		}
		if n := c.Median.Next.Sessions; !n.OK || n.V < stats.AdvisedSessions {
			t.Errorf("%v sessions", n)
		}
	}
	// Sessions that are alike in all but their runs: T² < 0 in about half of all.
	for i := range 20 {
		var list []Session
		for k := range 3 {
			list = append(list, sitting{rounds: 10, shift: -0.01}.sit(t, 3*i+k))
		}
		c = gosetOf(t, compareSessions(t, list, 0))
		if c.Median.Levels.T2[1].V < 0 {
			break
		}
	}
	if n := c.Median.Next; c.Median.Levels.T2[1].V >= 0 || !n.Together || !n.Rounds.OK || n.Sessions.V != stats.AdvisedSessions {
		t.Errorf("T² %v: %+v", c.Median.Levels.T2[1], n)
	}
}

// TestSessionsWithoutTime: records that do not tell the time leave the counts
// out, and nothing else.
func TestSessionsWithoutTime(t *testing.T) {
	list := several(t, 3, 0, 1)
	for i := range list {
		none := stats.Value{Why: "the records do not tell the time"}
		list[i].Clock.Round, list[i].Clock.Fixed = none, none
	}
	s := compareSessions(t, list, 0)
	c := gosetOf(t, s)
	if c.Median.Next.Rounds.OK || !c.Median.CI.OK || !strings.Contains(strings.Join(s.Notes, "\n"), "is not known") {
		t.Errorf("next %+v, notes %q", c.Median.Next, s.Notes)
	}
	everyInk(t, s)
}

// TestSessionsThatEndedEarly take part with what they have, and that is said.
func TestSessionsThatEndedEarly(t *testing.T) {
	list := []Session{
		sitting{rounds: 10, boot: "a"}.sit(t, 1),
		sitting{rounds: 4, boot: "b"}.sit(t, 2),
		sitting{rounds: 10, boot: "c", edit: func(m *harness.Manifest) {
			m.Stopped = &harness.Stopped{Block: 10, Blocks: 20, Reason: "every interval is narrow"}
			m.Sessions = append(m.Sessions, harness.SessionStart{Host: []byte(`{"kernel":{"boot_id":"d"}}`)})
		}}.sit(t, 3),
		sitting{rounds: 0, boot: "e"}.sit(t, 4),
	}
	s := compareSessions(t, list, 0)
	c := gosetOf(t, s)
	if c.Median.N != 3 || c.Values[3].Median.OK {
		t.Errorf("%d sessions, the empty one %+v", c.Median.N, c.Values[3].Median)
	}
	notes := strings.Join(s.Notes, "\n")
	for _, want := range []string{
		"session 2 (results/2) ended early: 18 of its 30 runs have no record; it takes part with what it has",
		"session 3 (results/3) ended early, after round 10 of 20, as the plan allows: every interval is narrow",
		"session 3 (results/3) was begun and resumed, over 2 boots: its 2 starts count as one session",
		"session 4 (results/4) ended early: 30 of its 30 runs have no record",
		"goset against unpinned: no value in session 4: the session has no such comparison (jitter: time)",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
	everyInk(t, s)
}

// TestSessionsOfDifferences: metrics with values that are not positive have
// differences, and a session of ratios beside them has no common scale.
func TestSessionsOfDifferences(t *testing.T) {
	below := func(v float64) float64 { return v - 0.01 }
	s := compareSessions(t, []Session{sitting{rounds: 10, value: below}.sit(t, 1), sitting{rounds: 10, value: below}.sit(t, 2), sitting{rounds: 10}.sit(t, 3)}, 0)
	c := gosetOf(t, s)
	if !c.Difference || c.Median.N != 2 || c.Spread.N != 3 || c.Values[2].Median.OK {
		t.Errorf("%d and %d sessions, difference %t, third %+v", c.Median.N, c.Spread.N, c.Difference, c.Values[2].Median)
	}
	if !strings.Contains(c.Median.Verdict.Text, " ms") {
		t.Errorf("a difference without its unit: %s", c.Median.Verdict.Text)
	}
	everyInk(t, s)
}

// TestSessionsOfCounts: what is the same in every run and session has nothing
// that a test could go by, and makes no ink stumble.
func TestSessionsOfCounts(t *testing.T) {
	count := func(v float64) float64 { return math.Round(100 * v) }
	s := compareSessions(t, []Session{sitting{rounds: 10, shift: math.Log(3), value: count}.sit(t, 1), sitting{rounds: 10, shift: math.Log(3), value: count}.sit(t, 2)}, 0)
	c := gosetOf(t, s)
	if want := "the same in each of 2 sessions (+200.00%)"; !strings.Contains(c.Median.Verdict.Text, want) || c.Median.Verdict.Claims() {
		t.Errorf("%q, want %q", c.Median.Verdict.Text, want)
	}
	everyInk(t, s)
}

// TestSessionsControl: a baseline that differs from itself in every session
// stands above all else.
func TestSessionsControl(t *testing.T) {
	var list []Session
	for i := range 5 {
		list = append(list, sitting{rounds: 10, shift: -0.1, control: 0.1}.sit(t, i))
	}
	s := compareSessions(t, list, 0)
	if len(s.SelfCheck) != 1 || !strings.Contains(s.SelfCheck[0], "SELF-CHECK FAILED: jitter: time: unpinned against itself: higher median") {
		t.Errorf("self-check %q", s.SelfCheck)
	}
	if c := gosetOf(t, s); c.Median.Grade != Hint {
		t.Errorf("a claim beside a failed self-check is %s", c.Median.Grade)
	}
	everyInk(t, s)
}

// TestSessionsThatAgreeByLuck: a claim whose sessions agree more closely than
// their rounds let them is in doubt where the rounds alone do not carry it.
func TestSessionsThatAgreeByLuck(t *testing.T) {
	for _, tc := range []struct {
		mean, s2, t2 float64
		doubts       int
	}{
		{0.02, 0.0001, -0.0011, 1}, // a session's value has a variance of 0.0012 by its rounds: ±0.0304 for 5
		{-0.02, 0.0001, -0.0011, 1},
		{0.04, 0.0001, -0.0011, 0},
		{0.02, 0.0001, 0.00005, 0},
	} {
		e := SessionEffect{Across: stats.Across{N: 5, Mean: stats.Value{V: tc.mean, OK: true}},
			Levels: stats.Levels{S2: []stats.Value{{V: 0.012, OK: true}, {V: tc.s2, OK: true}}, T2: []stats.Value{{V: 0.012, OK: true}, {V: tc.t2, OK: true}}}}
		if got := e.doubts(); len(got) != tc.doubts {
			t.Errorf("%+v: doubts %q, want %d", tc, got, tc.doubts)
		}
	}
	if got := (&SessionEffect{}).doubts(); got != nil {
		t.Errorf("doubts without components: %q", got)
	}
}

func TestSessionsSequential(t *testing.T) {
	list := several(t, 5, -0.2, 1)
	for i := range list {
		list[i].Opts.Manifest.Order, list[i].Opts.Unblocked = harness.OrderSequential, true
	}
	c := gosetOf(t, compareSessions(t, list, 0))
	if !c.Median.Levels.T2[1].OK || c.Median.Grade != Hint || !strings.Contains(strings.Join(c.Median.Doubts, "\n"), "sequential order") {
		t.Errorf("%+v, %s %q", c.Median.Levels, c.Median.Grade, c.Median.Doubts)
	}
}

// TestNoSessions holds every refusal to its reason and its way out.
func TestNoSessions(t *testing.T) {
	text := func(old, new string) func(*harness.Manifest) {
		return func(m *harness.Manifest) {
			m.Text, m.SHA256 = strings.Replace(sessionText, old, new, 1), old+new
		}
	}
	build := func(commit string, modified bool, sum string) []harness.GoBuild {
		return []harness.GoBuild{{GoTask: harness.GoTask{Package: "./...", Dir: "/" + sum, Ref: "HEAD"}, Import: "example.org/x", Commit: commit, Modified: modified, SHA256: sum}}
	}
	for _, tc := range []struct {
		name string
		a, b func(*harness.Manifest)
		want string
	}{
		{"alike", nil, nil, ""},
		{"comment", nil, text("[plan]", "# a comment\n[plan]"), ""},
		{"runs", nil, text("runs = 10", "runs = 20"), ""},
		{"seed and title", nil, text("title = \"Does pinning help?\"\n[plan]\nruns = 10\nseed = 1", "title = \"x\"\n[plan]\nruns = 10\nseed = 2"), ""},
		{"idle", nil, text("runs = 10", "runs = 10\nidle = \"1s\""), "+idle = \"1s\""},
		{"mode", nil, text(`cpus = "0"`, `cpus = "1"`), "goset-bench compare results/1 results/2"},
		{"unreadable", nil, func(m *harness.Manifest) { m.Text, m.SHA256 = "nonsense", "2" }, "their experiments differ"},
		{"treatments", nil, func(m *harness.Manifest) { m.Treatments = m.Treatments[:2] }, "their plans have different treatments, 3 and 2"},
		{"copy", nil, func(m *harness.Manifest) {
			m.Seed, m.Sessions[0].Start = 1, time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
		}, "one is a copy of the other"},
		{"commit", func(m *harness.Manifest) { m.Builds = build("aaaa", false, "1") }, func(m *harness.Manifest) { m.Builds = build("bbbb", false, "2") }, "example.org/x at HEAD was built from commit aaaa in one and bbbb in the other"},
		{"changes", func(m *harness.Manifest) { m.Builds = build("aaaa", true, "1") }, func(m *harness.Manifest) { m.Builds = build("aaaa", true, "2") }, "other uncommitted changes"},
		{"build", func(m *harness.Manifest) { m.Builds = build("aaaa", false, "1") }, func(m *harness.Manifest) { m.Builds = build("aaaa", false, "2") }, ""},
	} {
		a, b := sitting{rounds: 6, edit: tc.a}.sit(t, 1), sitting{rounds: 6, edit: tc.b}.sit(t, 2)
		_, err := CompareSessions([]Session{a, b}, 0)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	a := sitting{rounds: 6}.sit(t, 1)
	b := sitting{rounds: 6}.sit(t, 2)
	b.Opts.Manifest = nil
	if _, err := CompareSessions([]Session{a, b}, 0); err == nil {
		t.Error("a folder without manifest was taken")
	}
}

// TestSessionsScope: what is said of boots and machines is what the manifests
// hold, and no more.
func TestSessionsScope(t *testing.T) {
	host := func(text string) func(*harness.Manifest) {
		return func(m *harness.Manifest) { m.Host = []byte(text) }
	}
	for _, tc := range []struct {
		name  string
		boots []string
		edit  func(*harness.Manifest) // of the last
		want  []string
	}{
		{"boots of their own", []string{"a", "b", "c"}, nil, []string{"each is in a boot of its own", "on one machine or on several that the manifests cannot tell apart"}},
		{"one boot", []string{"a", "a"}, nil, []string{"all are in one boot, so that reboot-to-reboot variation is in none of them, on one machine."}},
		{"some", []string{"a", "a", "b"}, nil, []string{"they are in 2 boots (sessions 1 and 2 share one, and may be more alike"}},
		{"unknown", []string{"", "a"}, nil, []string{"whether there was a boot between them is not recorded"}},
		{"another machine", []string{"a", "b"}, host(`{"kernel":{"release":"6.2.0","boot_id":"b"},"cpu":{"model":"Another"}}`), []string{"on 2 machines or more", "also different: kernel.release"}},
		{"no facts", []string{"a", "b"}, host(``), []string{"of the machine nothing is recorded"}},
	} {
		var list []Session
		for i, boot := range tc.boots {
			s := sitting{rounds: 6, boot: boot}
			if i == len(tc.boots)-1 {
				s.edit = tc.edit
			}
			list = append(list, s.sit(t, i))
		}
		scope := compareSessions(t, list, 0).Scope
		for _, want := range tc.want {
			if !strings.Contains(scope, want) {
				t.Errorf("%s: %q lacks %q", tc.name, scope, want)
			}
		}
	}
}

func TestSessionUnits(t *testing.T) {
	a, b := sitting{rounds: 6}.sit(t, 1), sitting{rounds: 6}.sit(t, 2)
	for _, w := range b.Data.workloads {
		w.metrics[0].Unit = "B"
	}
	if _, err := CompareSessions([]Session{a, b}, 0); err == nil || !strings.Contains(err.Error(), `is "B" in it and "s" in another`) {
		t.Errorf("%v", err)
	}
}

// everyInk prints sessions in every ink, and holds each to its own form.
func everyInk(t *testing.T, s *Sessions) {
	t.Helper()
	var out bytes.Buffer
	print := func(err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		text := bytes.Clone(out.Bytes())
		out.Reset()
		for _, bad := range []string{"NaN", "%!", "Inf"} {
			if bytes.Contains(text, []byte(bad)) {
				t.Errorf("%q in:\n%s", bad, text)
			}
		}
		return text
	}
	for line := range strings.Lines(string(print(SessionsText(&out, s, TextOptions{})))) {
		if len([]rune(line)) > defaultWidth+1 {
			t.Errorf("a line of %d columns: %s", len([]rune(line)), line)
		}
	}
	print(SessionsMarkdown(&out, s))
	print(SessionsGitHub(&out, s))
	if err := checkLaTeX(string(print(SessionsLaTeX(&out, s)))); err != nil {
		t.Errorf("LaTeX: %v", err)
	}
	page := string(print(SessionsHTML(&out, s)))
	for _, tag := range []string{"table", "tr", "ul", "section", "main", "html"} {
		if opened, closed := len(regexp.MustCompile(`<`+tag+`[ >]`).FindAllString(page, -1)), strings.Count(page, "</"+tag+">"); opened == 0 || opened != closed {
			t.Errorf("HTML: %d <%s>, %d closed", opened, tag, closed)
		}
	}
	var object map[string]any
	if err := json.Unmarshal(print(SessionsJSON(&out, s)), &object); err != nil || object["schema"] != 1.0 {
		t.Errorf("JSON: %v", err)
	}
	contrasts, values := 0, 0
	for i := range s.Tables {
		contrasts += len(s.Tables[i].Contrasts)
		values += len(s.Tables[i].Contrasts) * len(s.Each)
	}
	for want, text := range map[int][]byte{contrasts: print(SessionsContrastsCSV(&out, s)), values: print(SessionsCSV(&out, s))} {
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil || len(s.Each) > 1 && len(rows) != want+1 {
			t.Errorf("CSV: %d rows, want %d: %v", len(rows)-1, want, err)
		}
	}
}

func TestSessionsGolden(t *testing.T) {
	list := several(t, 5, -0.03, 0.4)
	list[1] = sitting{rounds: 7, shift: -0.02, scale: 0.5, boot: "boot-0"}.sit(t, 1)
	s := compareSessions(t, list, 2*time.Minute)
	var out bytes.Buffer
	if err := SessionsText(&out, s, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "sessions.txt", out.Bytes())
	out.Reset()
	if err := SessionsMarkdown(&out, s); err != nil {
		t.Fatal(err)
	}
	golden(t, "sessions.md", out.Bytes())
}

func TestSessionsLaTeXCompiles(t *testing.T) {
	pdflatex, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Skip("no pdflatex here: TestLaTeXCompiles says what it needs")
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "report.tex"))
	if err != nil {
		t.Fatal(err)
	}
	if err := SessionsLaTeX(f, compareSessions(t, several(t, 5, -0.03, 0.4), 0)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), pdflatex, "-interaction=nonstopmode", "-halt-on-error", "report.tex")
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, m := range regexp.MustCompile(`Overfull \\hbox \((\d+)`).FindAllStringSubmatch(string(text), -1) {
		if len(m[1]) > 1 {
			t.Errorf("%s points wider than the page", m[1])
		}
	}
}
