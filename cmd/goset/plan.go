package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"goset/cpulist"
	"goset/host"
	"goset/internal/cli"
	"goset/internal/texttab"
	"goset/isolation"
)

// planReport is what a run would do, and the form of its JSON.
type planReport struct {
	Command     []string         `json:"command"` // null: none is given
	CPUs        *cpulist.Set     `json:"cpus"`    // null: they cannot be had
	Housekeeper *int             `json:"housekeeper"`
	Selection   *selectionReport `json:"selection"`
	Refused     []layerReport    `json:"refused"`
	Layers      []planLayer      `json:"layers"`
	Leftovers   string           `json:"leftovers,omitempty"`
	LockedBy    string           `json:"locked_by,omitempty"`
}

// planLayer is a layer that would be in force.
type planLayer struct {
	isolation.ForecastLayer
	Note string `json:"note,omitempty"`
}

// plan says what a run would do, and does nothing of it.
func (a *app) plan(cmd *cobra.Command, argv []string) error {
	if err := errors.Join(a.opt.check(cmd.Flags()), a.opt.checkTask(), plannable(cmd.Flags())); err != nil {
		return err
	}
	color, err := cli.Color(a.opt.color, a.stdout)
	if err != nil {
		return usageError{err}
	}
	t := &task{app: a, argv: argv, mode: a.opt.asked()}
	if a.opt.shell {
		t.argv = []string{shell()}
	}
	r, refused := t.foresee(cmd.Context())
	if a.opt.json != "" {
		if err := writeTo(a.opt.json, a.stdout, func(w io.Writer) error { return writeJSON(w, r) }); err != nil {
			return err
		}
	}
	if a.opt.json != "-" {
		if _, err := io.WriteString(a.stdout, r.text(&page{color: color, width: cli.Width(a.stdout)})); err != nil {
			return err
		}
	}
	return refused
}

// plannable refuses flags about what there is only after a run.
func plannable(flags *pflag.FlagSet) error {
	var useless []string
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains([]string{"report", "quiet", "interval", "wait"}, f.Name) {
			useless = append(useless, "-"+f.Name)
		}
	})
	if len(useless) > 0 {
		return usagef("cannot use %s with -plan: nothing is run", strings.Join(useless, ", "))
	}
	return nil
}

// foresee gathers the plan. The error is that which a run would end with before
// its task starts; the plan holds as far as it goes.
func (t *task) foresee(ctx context.Context) (*planReport, error) {
	r := &planReport{Command: t.argv, Refused: []layerReport{}, Layers: []planLayer{}}
	errs := []error{t.machineIsOurs(r)}
	if t.opt.bestEffort {
		t.mode = t.mode.BestEffort()
	}
	t.findings = check(t.opt.state, t.mode)
	for _, u := range t.findings {
		r.Refused = append(r.Refused, layerReport{Layer: u.Layer, Reason: u.Reason, Hint: inFlags(u.Hint)})
	}
	if f := t.findings.Refused(); len(f) > 0 {
		errs = append(errs, fmt.Errorf("cannot run this here:\n%s%s", refused(f), wayOut(t.findings)))
	}
	if slices.Contains(t.findings.Layers(), "cpus") {
		return r, errors.Join(errs...)
	}
	if err := t.pick(ctx); err != nil {
		return r, errors.Join(append(errs, err)...)
	}
	r.CPUs = &t.selection.Set
	r.Selection = new(newSelection(host.Local, t.ranking, t.selection, cpulist.Set{}))
	r.Housekeeper = r.Selection.Housekeeper
	return r, errors.Join(append(errs, t.rehearse(r))...)
}

// machineIsOurs says who has the machine and what is left changed on it.
func (t *task) machineIsOurs(r *planReport) error {
	// Where there is no lock, nobody has it.
	r.LockedBy, _ = isolation.LockedBy(t.opt.lock)
	stale := isolation.Stale(isolation.Options{State: t.opt.state, Tool: tool})
	if stale == nil {
		return nil
	}
	r.Leftovers = stale.Left()
	if t.mode.ChangesMachine() {
		return stale
	}
	return nil
}

// pick takes the CPUs as choose does.
func (t *task) pick(ctx context.Context) error {
	if t.mode.CPUs != "" {
		return t.take(t.mode.CPUs)
	}
	return t.rank(ctx)
}

// rehearse fills in what the layers would do.
func (t *task) rehearse(r *planReport) error {
	forecast, err := isolation.Foresee(t.opt.state, t.mode, t.selection.Set)
	if err != nil {
		return err
	}
	caveats := isolation.Caveats(t.mode)
	for _, l := range forecast {
		p := planLayer{ForecastLayer: l}
		for _, c := range caveats {
			if c.Layer == l.Layer {
				p.Note = c.Text
			}
		}
		r.Layers = append(r.Layers, p)
	}
	return t.refusedOnTheWay(r)
}

// refusedOnTheWay is the error of layers that a run would find out about when it
// comes to them.
func (t *task) refusedOnTheWay(r *planReport) error {
	var errs []error
	for _, l := range r.Layers {
		if l.Refused != "" && !t.mode.LetsGo(l.Layer) {
			errs = append(errs, fmt.Errorf("cannot hold %s: %s", layerName(l.Layer), l.Refused))
		}
	}
	return errors.Join(errs...)
}

// text is the plan as people read it.
func (r *planReport) text(p *page) string {
	p.head("Plan %s", strings.Join(r.Command, " "))
	cpus, why := absent, ""
	if r.CPUs != nil {
		cpus = r.CPUs.String()
		for _, row := range r.Selection.CPUs {
			if row.Mark == "*" && why == "" {
				why = row.Why
			}
		}
	}
	if why != "" {
		cpus += " (" + why + ")"
	}
	p.fields("cpus", cpus, "housekeeper", orAbsent(r.Housekeeper, whole), "machine", r.machine())
	p.head("Layers")
	if len(r.Refused)+len(r.Layers) == 0 {
		p.note("", "none asked for: the command's CPUs are set, and nothing else")
	}
	for _, l := range r.Refused {
		p.note(amber, fmt.Sprintf("%s cannot be held: %s (%s)", layerName(l.Layer), l.Reason, l.Hint))
	}
	for i := range r.Layers {
		p.planned(&r.Layers[i])
	}
	return p.String()
}

// machine says whether the machine is to be had.
func (r *planReport) machine() string {
	var words []string
	if r.LockedBy != "" {
		words = append(words, r.LockedBy+" has its lock")
	}
	if r.Leftovers != "" {
		words = append(words, r.Leftovers)
	}
	if len(words) == 0 {
		return "free"
	}
	return strings.Join(words, "; ")
}

// planned writes what one layer would do.
func (p *page) planned(l *planLayer) {
	head := layerName(l.Layer)
	switch {
	case l.Refused != "":
		head += " " + p.paint(amber, "is refused on the way: "+l.Refused)
	case len(l.Changes)+len(l.Calls) == 0:
		head += " changes nothing on the machine"
	}
	fmt.Fprintf(p, "  %s\n", head)
	lines := grouped(l.Changes)
	for _, call := range l.Calls {
		var row line
		row.add("  process", texttab.Left, faint)
		row.left(call)
		lines = append(lines, row)
	}
	p.table(2, lines)
	for _, text := range append(l.Doubts, l.Note) {
		if text == "" {
			continue
		}
		word := "not known before"
		if text == l.Note {
			word = "note"
		}
		p.note(faint, "  "+word+": "+text)
	}
}

// mostAlike is how many changes of one kind to threads are shown.
const mostAlike = 3

// grouped turns changes into rows; of many threads the first ones.
func grouped(changes []isolation.Change) []line {
	var lines []line
	for i := 0; i < len(changes); {
		end := i + 1
		for isTask(changes[i]) && end < len(changes) && isTask(changes[end]) && verb(changes[end]) == verb(changes[i]) {
			end++
		}
		shown := min(end, i+mostAlike)
		for _, c := range changes[i:shown] {
			lines = append(lines, changeLine(c))
		}
		if more := end - shown; more > 0 {
			var row line
			row.add("", texttab.Left, faint)
			row.left(fmt.Sprintf("and %d more: -json", more))
			lines = append(lines, row)
		}
		i = end
	}
	return lines
}

// isTask tells changes to threads and processes from those to files.
func isTask(c isolation.Change) bool {
	return slices.Contains([]isolation.Kind{isolation.KindMember, isolation.KindAffinity, isolation.KindBystander, isolation.KindStranded, isolation.KindKthread, isolation.KindProcess}, c.Kind)
}

func verb(c isolation.Change) string {
	switch {
	case c.Remembered:
		return "  remember"
	case c.Kind == isolation.KindCgroup || c.Kind == isolation.KindShelter:
		return "  make"
	case c.Kind == isolation.KindMember || c.Kind == isolation.KindAffinity:
		return "  move"
	case c.Kind == isolation.KindUnit || c.Kind == isolation.KindProcess:
		return "  stop"
	}
	return "  set"
}

// noun is what a change is about.
func noun(c isolation.Change) string {
	if c.Kind == isolation.KindMember || c.Kind == isolation.KindProcess {
		return "process"
	}
	return "thread"
}

func changeLine(c isolation.Change) line {
	object := c.Object
	if at, task, ok := strings.Cut(object, "#"); ok && c.Kind == isolation.KindMember {
		object = task + " below " + at
	}
	if isTask(c) {
		number, rest, _ := strings.Cut(object, ":")
		_, below, _ := strings.Cut(rest, " ")
		object = strings.TrimSpace(noun(c) + " " + number + " " + below)
	}
	if c.Label != "" {
		object += " (" + c.Label + ")"
	}
	var row line
	row.add(verb(c), texttab.Left, faint)
	row.left(object)
	if verb(c) != "  make" {
		row.left(quoted(c.Old) + " → " + strings.ReplaceAll(quoted(c.New), ";", " or "))
	}
	return row
}

// quoted is a value, of which there may be none.
func quoted(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}
