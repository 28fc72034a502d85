package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"goset/isolation"
)

// stopAfter runs a plan until n runs are on record.
func stopAfter(t *testing.T, s Session, x *fakeExecutor, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x.answer = func(_ context.Context, i int, _ Job) (Result, error) {
		if i == n {
			cancel()
			return Result{Interrupted: true}, nil
		}
		return Result{Wall: time.Second}, nil
	}
	if _, err := Execute(ctx, s); !errors.Is(err, ErrInterrupted) {
		t.Fatalf("%v, want an interrupt after %d runs", err, n)
	}
	x.jobs, x.answer = nil, nil
}

func TestResumeGoesOnWithTheRotation(t *testing.T) {
	for n := range 6 {
		s, x := testSession(t, 3, []string{"a"}, isolation.Mode{Name: "m", CPUs: "rotate"}, isolation.Mode{Name: "n"})
		stopAfter(t, s, x, n)
		sum, err := Resume(t.Context(), s.Dir, s, resumeOptions(s))
		if err != nil || !sum.Done() {
			t.Fatal(err, sum)
		}
		var got []string
		for _, r := range records(t, s.Dir) {
			got = append(got, fmt.Sprintf("%d:%s", r.Run, r.CPUs))
		}
		if want := "0:1 1: 2:3 3: 4:5 5:"; strings.Join(got, " ") != want {
			t.Errorf("stopped after %d: %v, want %s", n, got, want)
		}
	}
}

func TestResumeOfAFinishedPlanDoesNothing(t *testing.T) {
	s, x := testSession(t, 2, []string{"a"}, isolation.Mode{Name: "m"})
	if _, err := Execute(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	sum, err := Resume(t.Context(), s.Dir, s, resumeOptions(s))
	if err != nil || !sum.Done() || sum.Measured.Kept != 2 || len(x.jobs) != 2 {
		t.Errorf("%+v, %v, %d jobs", sum, err, len(x.jobs))
	}
}

func TestResumeKeepsTheChoice(t *testing.T) {
	const at = "2023-11-14T22:13:20Z"
	for _, c := range []struct {
		choose  string
		after   int    // runs on record when the first session ends
		outcome string // of the first, which chose
		want    string // the CPU of every run, and the run that it was chosen for
		says    string // "": nothing is taken over
	}{
		{"run", 1, "kept", "0:0 0:1 1:2 2:3", ""},
		{"block", 0, "", "0:0 0:0 1:2 1:2", ""},
		{"block", 1, "kept", "0:0 0:0 0:2 0:2", `chosen for run 0 at ` + at + ` (choose = "block")`},
		{"block", 1, "failed", "0:0 0:0 0:2 0:2", `chosen for run 0 at ` + at + ` (choose = "block")`},
		{"block", 2, "kept", "0:0 0:0 0:2 0:2", ""},
		{"experiment", 0, "", "0:0 0:0 0:0 0:0", ""},
		{"experiment", 1, "kept", "0:0 0:0 0:0 0:0", `chosen for run 0 at ` + at + ` (choose = "experiment")`},
		{"experiment", 1, "failed", "0:0 0:0 0:0 0:0", `chosen for run 0 at ` + at + ` (choose = "experiment")`},
		{"experiment", 4, "kept", "0:0 0:0 0:0 0:0", ""},
	} {
		s, x := testSession(t, 2, []string{"a", "b"}, isolation.Mode{Name: "m", CPUs: "quietest", Choose: c.choose})
		ctx, cancel := context.WithCancel(t.Context())
		x.answer = func(_ context.Context, n int, _ Job) (Result, error) {
			switch {
			case n == c.after:
				cancel()
				return Result{Interrupted: true}, nil
			case n == 0 && c.outcome == "failed":
				return Result{Exit: 1}, nil
			}
			return Result{Wall: time.Second}, nil
		}
		if _, err := Execute(ctx, s); c.after < 4 && !errors.Is(err, ErrInterrupted) {
			t.Fatal(err)
		}
		cancel()
		x.answer = nil
		// The chooser of a new session begins anew; days have passed.
		s.Chooser = &fakeChooser{}
		s.Clock = &fakeClock{now: time.Unix(1800000000, 0).UTC()}
		sum, err := Resume(t.Context(), s.Dir, s, resumeOptions(s))
		if err != nil || !sum.Done() {
			t.Fatal(err, sum)
		}
		if got := choicesOf(t, records(t, s.Dir)); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
		m, err := ReadManifest(s.Dir)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		if c.says != "" {
			want = []string{`mode "m" goes on with CPUs 0, ` + c.says}
		}
		if !slices.Equal(sum.Warnings, want) || !slices.Equal(m.Sessions[1].Warnings, want) {
			t.Errorf("%+v: it says %q, and in the manifest %q", c, sum.Warnings, m.Sessions[1].Warnings)
		}
	}
}

// TestResumeOfRecordsWithoutChoice goes on with the CPUs of records that do not
// say how they were chosen.
func TestResumeOfRecordsWithoutChoice(t *testing.T) {
	s, x := testSession(t, 2, []string{"a"}, isolation.Mode{Name: "m", CPUs: "quietest", Choose: "experiment"})
	stopAfter(t, s, x, 1)
	path := filepath.Join(s.Dir, RecordsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`"choice":\{.*?\]\},`).ReplaceAll(text, nil)
	if bytes.Contains(text, []byte("choice")) {
		t.Fatalf("the record keeps its choice: %s", text)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	s.Chooser = &fakeChooser{n: 4}
	sum, err := Resume(t.Context(), s.Dir, s, resumeOptions(s))
	if err != nil || !slices.Equal(sum.Warnings, []string{`mode "m" goes on with CPUs 0 (choose = "experiment")`}) {
		t.Errorf("%v, it says %q", err, sum.Warnings)
	}
	if rs := records(t, s.Dir); len(rs) != 2 || rs[1].CPUs != "0" || rs[1].Choice != nil {
		t.Errorf("records %+v", rs)
	}
}

func TestResumeMakesTheAttemptsThatAreDue(t *testing.T) {
	s, x := testSession(t, 2, []string{"a"}, isolation.Mode{Name: "m"})
	s.Experiment.Plan.Retries = 1
	ctx, cancel := context.WithCancel(t.Context())
	x.answer = func(_ context.Context, n int, _ Job) (Result, error) {
		if n == 1 {
			cancel()
			return Result{Interrupted: true}, nil
		}
		return Result{Exit: 1}, nil
	}
	if _, err := Execute(ctx, s); !errors.Is(err, ErrInterrupted) {
		t.Fatal(err)
	}
	x.answer = nil
	var started Started
	s.Events = func(e Event) {
		if e, ok := e.(Started); ok {
			started = e
			if e.Progress.Done() != 0 {
				t.Errorf("%d runs done at the start, want 0: one attempt is due", e.Progress.Done())
			}
		}
	}
	sum, err := Resume(t.Context(), s.Dir, s, resumeOptions(s))
	if err != nil || sum.Measured != (Counts{Kept: 2}) || started.Plan != s.Plan {
		t.Errorf("%+v, %v", sum, err)
	}
	var got []string
	for _, r := range records(t, s.Dir) {
		got = append(got, fmt.Sprintf("%d/%d %s %v", r.Run, r.Attempt, r.Outcome, r.Superseded))
	}
	if want := []string{"0/1 failed true", "0/2 kept false", "1/1 kept false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestResumeCutsATornLine(t *testing.T) {
	s, x := testSession(t, 3, []string{"a"}, isolation.Mode{Name: "m"})
	stopAfter(t, s, x, 2)
	path := filepath.Join(s.Dir, RecordsFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	second := bytes.IndexByte(whole, '\n') + 1
	if err := os.Truncate(path, int64(len(whole))-7); err != nil {
		t.Fatal(err)
	}
	sum, err := Resume(t.Context(), s.Dir, s, resumeOptions(s))
	if err != nil || !sum.Done() || len(x.jobs) != 2 {
		t.Fatalf("%+v, %v, %d jobs", sum, err, len(x.jobs))
	}
	if want := fmt.Sprintf("cut %d bytes", len(whole)-7-second); len(sum.Warnings) != 1 || !strings.HasPrefix(sum.Warnings[0], want) {
		t.Errorf("warnings %q, want %q", sum.Warnings, want)
	}
	if rs := records(t, s.Dir); len(rs) != 3 || rs[1].Run != 1 {
		t.Errorf("%d records", len(rs))
	}
	m, err := ReadManifest(s.Dir)
	if err != nil || string(m.States) != "kkk" || len(m.Sessions) != 2 {
		t.Errorf("states %q, %d sessions, %v", m.States, len(m.Sessions), err)
	}
}

func TestResumeRefusesACorruptLine(t *testing.T) {
	for _, line := range []string{"garbage", `{"run":99,"attempt":1,"outcome":"kept"}`, `{"run":0,"treatment":5,"attempt":1,"outcome":"kept"}`, `{"run":0,"outcome":"kept"}`, `{"run":0,"attempt":1,"outcome":"fine"}`} {
		s, x := testSession(t, 3, []string{"a"}, isolation.Mode{Name: "m"})
		stopAfter(t, s, x, 2)
		path := filepath.Join(s.Dir, RecordsFile)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(whole, []byte("\n"))
		lines[1] = []byte(line + "\n")
		if err := os.WriteFile(path, bytes.Join(lines, nil), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err = Resume(t.Context(), s.Dir, s, resumeOptions(s))
		if err == nil || !strings.Contains(err.Error(), "records.jsonl:2:") || len(x.jobs) != 0 {
			t.Errorf("%s: %v, want an error that names line 2", line, err)
		}
		if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, bytes.Join(lines, nil)) {
			t.Errorf("%s: a refused resume changed the records", line)
		}
	}
}

func TestResumeRefusesTheSameAttemptTwice(t *testing.T) {
	s, x := testSession(t, 3, []string{"a"}, isolation.Mode{Name: "m"})
	stopAfter(t, s, x, 1)
	path := filepath.Join(s.Dir, RecordsFile)
	line, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(line, line...), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(t.Context(), s.Dir, s, resumeOptions(s)); err == nil || !strings.Contains(err.Error(), "attempt 1 at run 0 after attempt 1") {
		t.Errorf("%v", err)
	}
}

func TestResumeRefusesAChangedExperiment(t *testing.T) {
	begin := func(t *testing.T, overrides ...string) (Session, string) {
		s, x := testSession(t, 2, []string{"a"}, isolation.Mode{Name: "m"})
		source := filepath.Join(t.TempDir(), "test.toml")
		if err := os.WriteFile(source, s.Experiment.Text, 0o666); err != nil {
			t.Fatal(err)
		}
		s.Provenance.Source, s.Provenance.Overrides = source, overrides
		stopAfter(t, s, x, 1)
		return s, source
	}
	change := func(t *testing.T, path string) {
		if err := os.WriteFile(path, []byte("title = \"other\"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(t *testing.T, s Session, o ResumeOptions, path string) {
		t.Helper()
		_, err := Resume(t.Context(), s.Dir, s, o)
		var changed *ChangedError
		if !errors.As(err, &changed) || changed.Path != path || !strings.Contains(err.Error(), "-title = \"test\"\n+title = \"other\"\n") {
			t.Fatalf("%v, want a diff of %s", err, path)
		}
	}
	goesOn := func(t *testing.T, s Session, o ResumeOptions) {
		t.Helper()
		if sum, err := Resume(t.Context(), s.Dir, s, o); err != nil || !sum.Done() {
			t.Fatalf("%+v, %v", sum, err)
		}
		if text, err := os.ReadFile(filepath.Join(s.Dir, ExperimentFile)); err != nil || string(text) != string(s.Experiment.Text) {
			t.Errorf("experiment.toml is %q, %v", text, err)
		}
	}
	t.Run("source", func(t *testing.T) {
		s, source := begin(t)
		change(t, source)
		o := resumeOptions(s)
		refused(t, s, o, source)
		o.AsRecorded = true
		goesOn(t, s, o)
	})
	t.Run("copy", func(t *testing.T) {
		s, _ := begin(t)
		change(t, filepath.Join(s.Dir, ExperimentFile))
		o := resumeOptions(s)
		refused(t, s, o, filepath.Join(s.Dir, ExperimentFile))
		o.AsRecorded = true
		goesOn(t, s, o)
	})
	t.Run("source gone", func(t *testing.T) {
		s, source := begin(t)
		if err := os.Remove(source); err != nil {
			t.Fatal(err)
		}
		goesOn(t, s, resumeOptions(s))
	})
	t.Run("current", func(t *testing.T) {
		s, source := begin(t, "plan.runs=2")
		change(t, source)
		o := resumeOptions(s)
		o.Current = func(m *Manifest) ([]byte, error) {
			if m.Source != source || !slices.Equal(m.Overrides, []string{"plan.runs=2"}) {
				t.Errorf("source %q, overrides %q", m.Source, m.Overrides)
			}
			return s.Experiment.Text, nil
		}
		goesOn(t, s, o)
	})
	t.Run("plan", func(t *testing.T) {
		s, _ := begin(t)
		o := resumeOptions(s)
		o.Load = func(*Manifest) (*Experiment, *Plan, error) {
			p := *s.Plan
			p.Runs = slices.Clone(p.Runs)
			p.Runs[1].Position = 9
			return s.Experiment, &p, nil
		}
		if _, err := Resume(t.Context(), s.Dir, s, o); err == nil || !strings.Contains(err.Error(), "run 1 of the experiment's plan") {
			t.Errorf("another plan: %v", err)
		}
	})
}

func TestResumeSaysWhatDiffersOnTheMachine(t *testing.T) {
	s, x := testSession(t, 2, []string{"a"}, isolation.Mode{Name: "m"})
	s.Provenance.Host = json.RawMessage(`{"kernel": "6.1", "cpus": [{"governor": "powersave"}], "load": [1], "microcode": "0x1", "flags": ["a", "c"], "long": "` + strings.Repeat("x", 300) + `"}`)
	stopAfter(t, s, x, 1)
	s.Provenance.Host = json.RawMessage(`{"kernel": "6.12", "cpus": [{"governor": "performance"}], "load": [2], "flags": ["a", "b", "c"], "long": "` + strings.Repeat("y", 300) + `"}`)
	s.Provenance.Tool = "v2"
	sum, err := Resume(t.Context(), s.Dir, s, resumeOptions(s))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`goset-bench was "v1" when the runs began and is "v2" now`,
		`cpus[0].governor was "powersave" when the runs began and is "performance" now`,
		`flags was ["a","c"] when the runs began and is ["a","b","c"] now`,
		`kernel was "6.1" when the runs began and is "6.12" now`,
		`long is another than when the runs began (both are in the manifest)`,
		`microcode was "0x1" when the runs began and is absent now`,
	}
	if !slices.Equal(sum.Warnings, want) {
		t.Errorf("warnings\n%s\nwant\n%s", strings.Join(sum.Warnings, "\n"), strings.Join(want, "\n"))
	}
	m, err := ReadManifest(s.Dir)
	if err != nil || !slices.Equal(m.Sessions[1].Warnings, want) || m.Sessions[1].Host == nil {
		t.Errorf("sessions %+v, %v", m.Sessions, err)
	}
}

func TestResumeRefusesWhatItCannotRead(t *testing.T) {
	s, x := testSession(t, 2, []string{"a"}, isolation.Mode{Name: "m"})
	if _, err := Resume(t.Context(), s.Dir, s, resumeOptions(s)); err == nil || !strings.Contains(err.Error(), "no manifest.json") {
		t.Errorf("no folder: %v", err)
	}
	stopAfter(t, s, x, 1)
	path := filepath.Join(s.Dir, ManifestFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(`"schema": 1`), []byte(`"schema": 2`), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(t.Context(), s.Dir, s, resumeOptions(s)); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("other schema: %v", err)
	}
}

// victimDir names the folder in which TestVictim works; without it the test
// has nothing to do, as it is only a process for TestKill.
const victimDir = "GOSET_TEST_VICTIM"

// victimSession is the session that both TestKill and its victims know. Every
// job leaves a line in a log of its own before its record is written.
func victimSession(t *testing.T, dir string) Session {
	s, x := testSession(t, 40, []string{"a", "b"}, isolation.Mode{Name: "m", CPUs: "rotate"})
	s.Dir = dir
	s.Experiment.Plan.Retries = 1
	s.Clock = nil
	x.answer = func(_ context.Context, n int, job Job) (Result, error) {
		// Something of random length, so that kills meet every line.
		time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
		res := Result{Start: time.Now(), Wall: time.Millisecond}
		if rand.IntN(4) == 0 {
			res.Exit = 1
			res.Stdout = Stream{Head: []byte("bad"), Total: 3}
		}
		return res, nil
	}
	return s
}

func TestVictim(t *testing.T) {
	dir := os.Getenv(victimDir)
	if dir == "" {
		return
	}
	s := victimSession(t, dir)
	// The parent learns through the pipe how far it is, and kills at will.
	s.Events = func(e Event) {
		if e, ok := e.(RunEnded); ok {
			fmt.Printf("ended %d %d\n", e.Record.Run, e.Record.Attempt)
		}
	}
	var err error
	if _, statErr := os.Stat(filepath.Join(dir, ManifestFile)); statErr == nil {
		_, err = Resume(t.Context(), dir, s, resumeOptions(s))
	} else {
		_, err = Execute(t.Context(), s)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestKill kills sessions at random moments and resumes them, until the plan
// is done: no attempt that was said to have ended may be lost, none be made
// twice, and the folder be valid after every kill.
func TestKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	said := map[string]bool{}
	kills := 0
	for {
		if kills > 500 {
			t.Fatal("no end after 500 kills")
		}
		done := runVictim(t, dir, said)
		if done {
			break
		}
		kills++
		if text, err := os.ReadFile(filepath.Join(dir, ManifestFile)); err == nil && !json.Valid(text) {
			t.Fatalf("the manifest is not valid after kill %d", kills)
		} else if err != nil {
			// Killed before the first run: the folder is to be removed.
			if len(said) > 0 {
				t.Fatalf("runs ended without a manifest: %v", err)
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	if kills < 5 {
		t.Fatalf("%d kills: too few to say anything", kills)
	}
	checkKilled(t, dir, said)
}

// runVictim starts a session, kills it after a random number of attempts or
// bytes, and collects what it said had ended. It is true when the session had
// come to the end of the plan.
func runVictim(t *testing.T, dir string, said map[string]bool) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestVictim$", "-test.count=1")
	// What is killed removes nothing: its temporary files go with this test's.
	cmd.Env = append(os.Environ(), victimDir+"="+dir, "TMPDIR="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	lines := rand.IntN(12)
	buf := make([]byte, 1+rand.IntN(40))
	killed := false
	for {
		n, err := out.Read(buf)
		text.Write(buf[:n])
		if !killed && bytes.Count(text.Bytes(), []byte("\n")) >= lines {
			killed = true
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
		}
		if err != nil {
			break
		}
	}
	err = cmd.Wait()
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "ended ") && strings.HasSuffix(line, "\n") {
			if said[line] {
				t.Fatalf("made twice: %s", line)
			}
			said[line] = true
		}
	}
	if err == nil {
		return true
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("victim: %v\n%s", err, text.String())
	}
	return false
}

// checkKilled compares a finished folder with what its sessions had said.
func checkKilled(t *testing.T, dir string, said map[string]bool) {
	t.Helper()
	s := victimSession(t, dir)
	attempts := map[string]bool{}
	last := map[int]Record{}
	var rotated []string // the CPU of each run
	turns := map[int32]int{}
	for _, run := range s.Plan.Runs {
		rotated = append(rotated, fmt.Sprint([]int{1, 3, 5}[(int(run.Treatment)+turns[run.Treatment])%3]))
		turns[run.Treatment]++
	}
	for _, r := range records(t, dir) {
		key := fmt.Sprintf("ended %d %d\n", r.Run, r.Attempt)
		if attempts[key] {
			t.Errorf("on record twice: %s", key)
		}
		attempts[key] = true
		if want := rotated[r.Run]; r.CPUs != want {
			t.Errorf("run %d on CPU %s, want %s", r.Run, r.CPUs, want)
		}
		if previous, ok := last[r.Run]; ok && (previous.Outcome == Kept || r.Attempt != previous.Attempt+1) {
			t.Errorf("run %d: attempt %d after attempt %d, %s", r.Run, r.Attempt, previous.Attempt, previous.Outcome)
		}
		last[r.Run] = r
	}
	for key := range said {
		if !attempts[key] {
			t.Errorf("lost: %s", key)
		}
	}
	m, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Plan.Runs {
		r, ok := last[i]
		if !ok {
			t.Errorf("run %d has no record", i)
			continue
		}
		if r.Outcome != Kept && r.Attempt != 2 {
			t.Errorf("run %d: %s after %d attempts of 2", i, r.Outcome, r.Attempt)
		}
		if m.States[i] != stateOf(r.Outcome) {
			t.Errorf("run %d has state %q and outcome %s", i, m.States[i], r.Outcome)
		}
	}
}
