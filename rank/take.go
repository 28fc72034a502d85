package rank

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"goset/cpulist"
)

// Selection is what was taken from a ranking.
type Selection struct {
	// Task is for the command, in the order of the ranking; Set is the same as
	// a set.
	Task []int
	Set  cpulist.Set
	// Housekeeper is for everything else that goset does: the next CPU outside
	// the task's cores, or -1 when there is none.
	Housekeeper int
}

// Refused is the error of [Ranking.Take]: what was asked for does not fit.
type Refused struct {
	Asked  int
	Fits   int    // the largest n that would
	Reason string // what keeps the others
}

// Error says what was asked, what would fit, and why.
func (e *Refused) Error() string {
	if e.Asked < 1 {
		return fmt.Sprintf("cannot take %d CPUs: it must be 1 or more", e.Asked)
	}
	s := fmt.Sprintf("cannot take %s: %s free", count(e.Asked, "CPU"), countVerb(e.Fits))
	if e.Reason != "" {
		s += " (" + e.Reason + ")"
	}
	if e.Fits > 0 {
		s += fmt.Sprintf("; n = %d would fit", e.Fits)
	}
	return s
}

// IncludeError says why CPUs that are included cannot be taken.
type IncludeError struct{ Reason string }

func (e *IncludeError) Error() string { return e.Reason }

func notIncluded(format string, args ...any) error {
	return &IncludeError{fmt.Sprintf(format, args...)}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func countVerb(n int) string {
	switch n {
	case 0:
		return "none is"
	case 1:
		return "only 1 is"
	}
	return fmt.Sprintf("only %d are", n)
}

// Take takes the first n CPUs of the ranking and the next one outside their
// cores for the housekeeper. The error is a *Refused or an *IncludeError. Cores of several kinds are not mixed unless asked
// for: the fastest kind that has n free CPUs is taken, or the kind of the
// included CPUs. The places of other kinds, or of other nodes with
// [Options.OneNode], get that as their reason.
func (r *Ranking) Take(n int) (Selection, error) {
	if err := r.checkInclude(); err != nil {
		return Selection{}, err
	}
	group, fits := r.group(n)
	if n < 1 || fits < n {
		return Selection{}, &Refused{Asked: n, Fits: fits, Reason: r.obstacles()}
	}
	s := Selection{}
	cores := cpulist.Set{}
	for i := range r.Places {
		p := &r.Places[i]
		switch {
		case !p.Free:
		case len(s.Task) < n && group.has(p):
			s.Task = append(s.Task, p.ID)
			cores = cores.Union(p.Siblings).Union(cpulist.Of(p.ID))
		case !group.has(p):
			p.Reason = join(p.Reason, group.otherwise(p))
		}
	}
	s.Set, s.Housekeeper = cpulist.Of(s.Task...), r.Next(cores)
	return s, nil
}

// Next is the first free CPU outside of the given ones that is not isolated: the
// housekeeper's. -1 when there is none.
func (r *Ranking) Next(outside cpulist.Set) int {
	for _, p := range r.Places {
		if p.Free && !outside.Contains(p.ID) && !p.Isolated {
			return p.ID
		}
	}
	return -1
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// checkInclude refuses a CPU that is asked for by name and cannot be taken.
func (r *Ranking) checkInclude() error {
	left := r.Options.Include
	for _, p := range r.Places {
		if p.Included && !p.Free {
			return notIncluded("cannot include CPU %d: %s", p.ID, p.Reason)
		}
		left = left.Minus(cpulist.Of(p.ID))
	}
	if !left.Empty() {
		return notIncluded("cannot include CPU %d: this machine does not have it", left.First())
	}
	return r.checkOneNode()
}

// checkOneNode refuses included CPUs that no one node has all of, where all are
// to come from one.
func (r *Ranking) checkOneNode() error {
	if !r.Options.OneNode {
		return nil
	}
	var first *Place
	for i := range r.Places {
		switch p := &r.Places[i]; {
		case !p.Included:
		case first == nil:
			first = p
		case (p.Node == nil) != (first.Node == nil) || p.Node != nil && *p.Node != *first.Node:
			return notIncluded("cannot include CPU %d %s and CPU %d %s: all CPUs are to come from one node (numa = auto); include those of one, or leave numa out",
				first.ID, onNode(first), p.ID, onNode(p))
		}
	}
	return nil
}

func onNode(p *Place) string {
	if p.Node == nil {
		return "on no known node"
	}
	return fmt.Sprintf("on node %d", *p.Node)
}

// group is what the CPUs of one choice have in common; what is nil is open.
type group struct {
	kind *string
	node *int
}

func (g group) has(p *Place) bool {
	return (g.kind == nil || *g.kind == p.Kind || p.Included) && (g.node == nil || p.Node != nil && *g.node == *p.Node)
}

func (g group) otherwise(p *Place) string {
	if g.kind != nil && *g.kind != p.Kind {
		return fmt.Sprintf("another kind of core (%s) than %s", p.Kind, *g.kind)
	}
	return fmt.Sprintf("not on node %d", *g.node)
}

// group finds the group to take n from, and how many CPUs it has. When none
// has enough, it is the largest.
func (r *Ranking) group(n int) (best group, fits int) {
	bestCost, bestRank := 0.0, 0
	found := false
	for _, g := range r.groups() {
		size, cost, rank := r.weigh(g, n)
		better := !found || cmp.Or(
			-cmp.Compare(min(size, max(n, 1)), min(fits, max(n, 1))),
			cmp.Compare(rank, bestRank),
			cmp.Compare(cost, bestCost)) < 0
		if better {
			best, fits, bestCost, bestRank, found = g, size, cost, rank, true
		}
	}
	return best, fits
}

// groups are the candidates, in an order that settles ties.
func (r *Ranking) groups() []group {
	kinds, nodes := []*string{nil}, []*int{nil}
	if !r.Options.MixKinds {
		kinds = r.kindsInQuestion()
	}
	if r.Options.OneNode {
		nodes = r.nodesInQuestion()
	}
	var all []group
	for _, kind := range kinds {
		for _, node := range nodes {
			all = append(all, group{kind: kind, node: node})
		}
	}
	return all
}

// inQuestion are the free CPUs; when CPUs are included, those.
func (r *Ranking) inQuestion() []Place {
	included := slices.ContainsFunc(r.Places, func(p Place) bool { return p.Free && p.Included })
	return slices.DeleteFunc(slices.Clone(r.Places), func(p Place) bool { return !p.Free || included && !p.Included })
}

// nodesInQuestion are the nodes of the CPUs in question.
func (r *Ranking) nodesInQuestion() []*int {
	var nodes []*int
	for _, p := range r.inQuestion() {
		if p.Node != nil && !slices.ContainsFunc(nodes, func(n *int) bool { return *n == *p.Node }) {
			nodes = append(nodes, p.Node)
		}
	}
	slices.SortFunc(nodes, func(a, b *int) int { return cmp.Compare(*a, *b) })
	if len(nodes) == 0 { // a kernel without NUMA is one node
		return []*int{nil}
	}
	return nodes
}

// kindsInQuestion are the kinds of the CPUs in question.
func (r *Ranking) kindsInQuestion() []*string {
	var kinds []*string
	for _, p := range r.inQuestion() {
		if !slices.ContainsFunc(kinds, func(k *string) bool { return *k == p.Kind }) {
			kinds = append(kinds, &p.Kind)
		}
	}
	if len(kinds) == 0 {
		return []*string{nil}
	}
	slices.SortFunc(kinds, func(a, b *string) int { return strings.Compare(*a, *b) })
	return kinds
}

// weigh sums up a group: its free CPUs, the cost of the first n of them, and
// the worst kind among those.
func (r *Ranking) weigh(g group, n int) (size int, cost float64, rank int) {
	for i := range r.Places {
		p := &r.Places[i]
		if !p.Free || !g.has(p) {
			continue
		}
		if size < n {
			cost += p.Cost
			rank = max(rank, p.KindRank)
		}
		size++
	}
	return size, cost, rank
}

// obstacles counts the CPUs that cannot be taken by their reason.
func (r *Ranking) obstacles() string {
	counts := map[string]int{}
	var order []string
	for _, p := range r.Places {
		reason := p.Reason
		if p.Free {
			continue
		}
		if counts[reason] == 0 {
			order = append(order, reason)
		}
		counts[reason]++
	}
	kinds := map[string]bool{}
	for _, p := range r.Places {
		if p.Free {
			kinds[p.Kind] = true
		}
	}
	var parts []string
	for _, reason := range order {
		parts = append(parts, fmt.Sprintf("%d %s", counts[reason], reason))
	}
	if len(kinds) > 1 && !r.Options.MixKinds {
		parts = append(parts, "kinds of cores are not mixed")
	}
	if r.Options.OneNode {
		parts = append(parts, "all from one node")
	}
	if r.Options.Node != nil {
		parts = append(parts, r.otherNodes(*r.Options.Node)...)
	}
	return strings.Join(parts, "; ")
}

// otherNodes names the nodes that there are when the one that is asked for is
// none of them.
func (r *Ranking) otherNodes(asked int) []string {
	var nodes cpulist.Set
	for _, p := range r.Places {
		if p.Node != nil {
			nodes = nodes.Union(cpulist.Of(*p.Node))
		}
	}
	switch {
	case nodes.Contains(asked):
		return nil
	case nodes.Empty():
		return []string{"no node is known here"}
	case nodes.Len() == 1:
		return []string{fmt.Sprintf("the only node is %s", nodes)}
	}
	return []string{fmt.Sprintf("the nodes are %s", nodes)}
}
