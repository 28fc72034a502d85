package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"goset/cpulist"
	"goset/harness"
	"goset/isolation"
	"goset/report"
)

func (a *app) planCommand() *cobra.Command {
	var set []string
	var runs string
	cmd := &cobra.Command{
		Use:   "plan EXPERIMENT",
		Short: "Print what an experiment would do here, and change nothing",
		Long: `plan prints the treatments of an experiment, how many runs they make, how long
that will take, what load its conditions start, which layers cannot be held on
this machine, and what an earlier session left changed on it. Package patterns of
Go benchmarks are expanded, as a run would. It measures nothing and changes
nothing. -runs-as prints every run in its order.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeExperiments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.plan(cmd, args[0], set, runs)
		},
	}
	addPlanFlags(cmd.Flags(), &set)
	cmd.Flags().StringVar(&runs, "runs-as", "", "also list every run in order: text or csv")
	addUserFlag(cmd.Flags())
	cmd.Flags().Bool("best-effort", false, "count layers that cannot be held as warnings")
	cmd.Flags().String("state", isolation.DefaultState, "folder of the journals, to see what an earlier session left changed")
	return cmd
}

// plan prints the matrix, the time and the limits; a mode that cannot run here
// makes the exit code that `run` would give.
func (a *app) plan(cmd *cobra.Command, name string, set []string, runs string) error {
	prefs, err := readPreferences(cmd.Flags())
	if err != nil {
		return err
	}
	src, err := findSource(name)
	if err != nil {
		return err
	}
	e, _, err := src.load(prefs, set)
	if err != nil {
		return err
	}
	e, unlisted, err := a.withPackages(cmd.Context(), prefs, src, set, e)
	if err != nil {
		return err
	}
	e, left, err := withoutTooMany(e, prefs)
	if err != nil {
		return err
	}
	p, err := makePlan(e)
	if err != nil {
		return err
	}
	here, err := limitsOf(e, prefs)
	if err != nil {
		return err
	}
	here.unlisted, here.left = unlisted, left
	few, err := report.Planned(e, p)
	if err != nil {
		return failed(err)
	}
	here.few = few
	out := bufio.NewWriter(a.stdout)
	if err := printPlan(out, e, p, here, runs); err != nil {
		return err
	}
	if unlisted != nil && runs != "csv" {
		fmt.Fprintf(out, "package patterns are not expanded, each package with a matching benchmark is a level of its own: %v\n", unlisted)
	}
	if err := out.Flush(); err != nil {
		return unprinted(err)
	}
	return here.refuse(e)
}

// limits is what this machine cannot do, and the CPUs that it has.
type limits struct {
	layers         isolation.Findings
	caveats        []isolation.Caveat
	stale          *isolation.StaleError // nil: nothing is known to be left changed
	loads, missing []error
	unlisted       error // why packages cannot be told
	doubts         doubts
	left           []string // which treatments are left out
	allowed        cpulist.Set
	few            string // why so many rounds resolve nothing; "": they could
}

// limitsOf asks this machine about everything that an experiment needs of it.
func limitsOf(e *harness.Experiment, prefs *preferences) (limits, error) {
	var here limits
	bestEffort, err := prefs.on("best-effort")
	if err != nil {
		return here, err
	}
	if here.layers, err = layerFindings(e, bestEffort, taskUser(prefs)); err != nil {
		return here, err
	}
	modes, err := askedModes(e, bestEffort, taskUser(prefs))
	if err != nil {
		return here, err
	}
	here.caveats = layerCaveats(modes)
	here.stale = isolation.Stale(isolation.Options{State: prefs.text("state", isolation.DefaultState)})
	if here.missing, err = missingFrom(e, bestEffort, taskUser(prefs)); err != nil {
		return here, err
	}
	if here.allowed, err = isolation.Allowed(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return here, failed(err)
	}
	here.loads = loadFaults(e, here.allowed)
	here.doubts, err = doubtsOf(e, here.allowed)
	return here, err
}

// refuse is the error that a run of the experiment would end with here.
func (here limits) refuse(e *harness.Experiment) error {
	switch {
	case here.stale != nil:
		return failed(here.stale)
	case len(here.missing) > 0:
		return failed(fmt.Errorf("cannot run experiment %q here: %d of the commands and kernels that it names cannot be run", e.Name, len(here.missing)))
	case here.unlisted != nil:
		return failed(fmt.Errorf("cannot list the packages of experiment %q here: %w", e.Name, here.unlisted))
	case len(here.loads) > 0:
		return failed(fmt.Errorf("cannot run experiment %q here: there is no place for the load that it asks for", e.Name))
	case here.layers.Err() != nil:
		return here.refuseLayers(e)
	}
	return nil
}

// refuseLayers counts the layers that a run would be refused for, and says how many
// of them it can do without.
func (here limits) refuseLayers(e *harness.Experiment) error {
	refused, waivable, way := len(here.layers.Refused()), len(here.layers.Waivable()), ""
	switch waivable {
	case 0:
	case refused:
		way = " (-best-effort goes on without)"
	default:
		way = fmt.Sprintf(" (-best-effort goes on without, but not without %s)", strings.Join(here.layers.Binding().Layers(), ", "))
	}
	return failed(fmt.Errorf("cannot hold %s of experiment %q here%s", counted(refused, "layer"), e.Name, way))
}

// withPackages fills in the packages that a pattern like "./..." stands for, as
// a run does before its first. unlisted is why they cannot be told here: the
// rest of the plan holds all the same.
func (a *app) withPackages(ctx context.Context, prefs *preferences, src source, set []string, e *harness.Experiment) (_ *harness.Experiment, unlisted, err error) {
	if !harness.HasPatterns(e) {
		return e, nil, nil
	}
	w := &work{app: a, user: taskUser(prefs)}
	if w.bestEffort, err = prefs.on("best-effort"); err != nil {
		return nil, nil, err
	}
	if _, err := w.buildUser(e); err != nil {
		// The findings say why.
		return e, errors.New(`layer "user" cannot be held, and go would run as nobody else`), nil
	}
	packages, unlisted := w.prepareGo(ctx, e, true)
	if w.builder != nil {
		if err := w.builder.Close(); err != nil {
			return nil, nil, failed(err)
		}
	}
	if unlisted != nil || len(packages) == 0 {
		return e, unlisted, nil
	}
	e, _, err = src.load(prefs, slices.Concat(set, packages))
	return e, nil, err
}

func printPlan(out *bufio.Writer, e *harness.Experiment, p *harness.Plan, here limits, runs string) error {
	switch runs {
	case "csv":
		return unprinted(p.WriteCSV(out))
	case "", "text":
	default:
		return usagef("cannot list runs as %q: want text or csv", runs)
	}
	fmt.Fprint(out, e.Name)
	if e.Title != "" {
		fmt.Fprintf(out, ": %s", e.Title)
	}
	each := counted(e.Plan.Blocks(), "run")
	if e.Plan.Warmup > 0 {
		each = fmt.Sprintf("(%s + %d warm-up)", each, e.Plan.Warmup)
	}
	fmt.Fprintf(out, "\n%s × %s = %s, %s, seed %d\n", counted(len(p.Treatments), "treatment"), each, counted(len(p.Runs), "run"), e.Plan.Order, p.Seed)
	if u := e.Plan.Until; u != nil {
		fmt.Fprintf(out, "ends early, from round %d on, when the intervals hold %s\n", e.Plan.Runs, u.Words())
	}
	if e.Controlled() {
		fmt.Fprintf(out, "control: %q runs a second time in every block as %q (plan.control = false leaves it out)\n", e.Plan.Baseline, e.Plan.Baseline+harness.ControlSuffix)
	}
	for i := range e.Modes {
		name := e.Modes[i].Name
		if slices.ContainsFunc(p.Treatments, func(t harness.Treatment) bool { return t.Mode == name }) {
			fmt.Fprintf(out, "mode %q: %s\n", name, report.ModeWords(&e.Modes[i]))
		}
	}
	for _, text := range here.left {
		fmt.Fprintln(out, text)
	}
	printLoads(out, p, here.allowed)
	printTimes(out, e, p)
	for _, text := range here.doubts.places {
		fmt.Fprintln(out, text)
	}
	printFindings(out, here)
	printCaveats(out, here.caveats)
	for _, text := range here.doubts.warnings {
		fmt.Fprintf(out, "warning: %s\n", text)
	}
	if here.few != "" {
		fmt.Fprintln(out, fewRounds(here.few))
	}
	if runs == "text" {
		return unprinted(p.WriteText(out))
	}
	return nil
}

// fewRounds warns of a plan whose outcome is known before it.
func fewRounds(why string) string {
	return "warning: " + why + " (plan.runs, or -runs); 10 or more are advised for claims about spread"
}

func unprinted(err error) error {
	if err == nil {
		return nil
	}
	return failed(fmt.Errorf("cannot print plan: %v", err))
}

// counted is a number with its noun: "1 run", "3 runs".
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// printTimes lists the treatments with the time of one run each, and the whole.
// A workload whose time nobody stated is unknown, never nought.
func printTimes(out *bufio.Writer, e *harness.Experiment, p *harness.Plan) {
	est := e.Estimate(p)
	width := 0
	for i := range p.Treatments {
		width = max(width, utf8.RuneCountInString(p.Treatments[i].Label()))
	}
	for i := range p.Treatments {
		t := &p.Treatments[i]
		took := "unknown time"
		if d := est.Runs[i]; d >= 0 {
			took = "about " + d.Round(10*time.Millisecond).String()
		}
		fmt.Fprintf(out, "  %-*s  %s a run\n", width, t.Label(), took)
	}
	idle := round(time.Duration(len(p.Runs)) * e.Plan.Idle)
	if est.Known() {
		bound := "about"
		if e.Plan.Until != nil {
			bound = "at most about"
		}
		fmt.Fprintf(out, "time: %s %s, of it %s idle\n", bound, round(est.Total), idle)
		return
	}
	fmt.Fprintf(out, "time: at least %s, of it %s idle, and the runs of %s on top: expect = \"3s\" in a workload has them counted\n",
		round(est.Total), idle, strings.Join(est.Unknown, ", "))
}

// printLoads says once for each load what it starts beside an unpinned task.
func printLoads(out *bufio.Writer, p *harness.Plan, allowed cpulist.Set) {
	seen := map[string]bool{}
	for i := range p.Treatments {
		t := &p.Treatments[i]
		if t.Condition == "" {
			continue
		}
		line := fmt.Sprintf("condition %q: %s", t.Condition, t.Load.Words(allowed))
		if !seen[line] {
			seen[line] = true
			fmt.Fprintln(out, line)
		}
	}
}

func printFindings(out *bufio.Writer, here limits) {
	if len(here.missing) > 0 {
		fmt.Fprintln(out, "this machine cannot run:")
	}
	for _, err := range here.missing {
		fmt.Fprintf(out, "  refused: %v\n", err)
	}
	if len(here.layers) == 0 && len(here.loads) == 0 {
		fmt.Fprintln(out, "this machine can hold every layer")
		return
	}
	fmt.Fprintln(out, "this machine cannot hold:")
	for _, err := range here.loads {
		fmt.Fprintf(out, "  refused: %v\n", err)
	}
	for _, f := range here.layers {
		kind := "refused"
		if f.Optional {
			kind = "warning"
		}
		fmt.Fprintf(out, "  %s: %v\n", kind, f)
	}
}

// printCaveats says of layers that can be held what they do not do.
func printCaveats(out *bufio.Writer, caveats []isolation.Caveat) {
	for _, c := range caveats {
		fmt.Fprintf(out, "  note: layer %q of mode %q: %s\n", c.Layer, c.Mode, c.Text)
	}
}
