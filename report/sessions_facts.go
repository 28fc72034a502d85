package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"goset/harness"
	"goset/stats"
)

// SessionFacts says when a session was and how much of it there is.
type SessionFacts struct {
	Name    string
	Start   time.Time
	Starts  int    // of goset-bench on the folder: above 1, it was resumed
	Boot    string // the kernel's random number of the first start's boot; "": not recorded
	Boots   int    // different ones that are recorded, over all starts
	Planned int    // measured runs of its plan
	Missing int    // those without a record
	Counts  Counts
	Stopped string // why the plan ended early, as it may; "": it did not
}

func factsOfSession(s *Session) SessionFacts {
	m := s.Opts.Manifest
	f := SessionFacts{Name: s.Name, Starts: len(m.Sessions), Planned: s.Clock.Planned, Missing: s.Clock.Missing}
	if len(m.Sessions) > 0 {
		f.Start = m.Sessions[0].Start
	}
	boots := bootsOf(m)
	f.Boot = boots[0]
	slices.Sort(boots)
	boots = slices.DeleteFunc(slices.Compact(boots), func(b string) bool { return b == "" })
	f.Boots = len(boots)
	for _, t := range s.Data.treatments {
		f.Counts.add(t.counts)
	}
	if m.Stopped != nil {
		f.Stopped = fmt.Sprintf("after round %d of %d, as the plan allows: %s", m.Stopped.Block, m.Stopped.Blocks, m.Stopped.Reason)
	}
	return f
}

// bootsOf gives the boot of every start on a folder; at least one, "" where
// none is recorded.
func bootsOf(m *harness.Manifest) []string {
	first := hostFact(m.Host, bootFact)
	out := []string{first}
	for i := range m.Sessions {
		switch boot := hostFact(m.Sessions[i].Host, bootFact); {
		case i == 0:
		case boot != "":
			out = append(out, boot)
		default: // a start whose machine does not differ has no facts of its own
			out = append(out, first)
		}
	}
	return out
}

const bootFact = "host.kernel.boot_id"

func hostFact(host json.RawMessage, name string) string {
	for _, f := range hostFactsOf(bytes.TrimSpace(host)) {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// machineFacts are those by which two machines are told apart. The name is
// there only for who asked for it, so that mostly twins are not.
func machineFacts() []string {
	return []string{"host.hostname", "host.cpu.vendor", "host.cpu.family", "host.cpu.model_number", "host.cpu.model", "host.cpu.stepping",
		"host.topology.cpus", "host.topology.cores", "host.topology.packages", "host.hypervisor"}
}

// machineOf is what tells a machine from others; "" where nothing is known.
func machineOf(m *harness.Manifest) string {
	var out []string
	facts := hostFactsOf(m.Host)
	for _, name := range machineFacts() {
		for _, f := range facts {
			if f.Name == name {
				out = append(out, f.Name+"="+f.Value)
			}
		}
	}
	return strings.Join(out, "\n")
}

// scopeOfSessions says what the intervals are about: what was different from
// session to session, as far as the manifests know.
func scopeOfSessions(list []Session) string {
	s := fmt.Sprintf("Scope: the intervals cover what varies between these %d sessions: %s, %s", len(list), bootWords(list), machineWords(list))
	if differ := differingFacts(list); len(differ) > 0 {
		s += "; also different: " + enumerate(differ)
	}
	s += "."
	if slices.ContainsFunc(list, func(s Session) bool { return len(s.Opts.Manifest.Builds) == 0 }) {
		s += " Whether the programs that ran were the same in all of them is not recorded."
	}
	return s
}

// bootWords says whether the machine was booted between the sessions.
func bootWords(list []Session) string {
	at := map[string][]int{}
	var order []string
	for i := range list {
		boot := hostFact(list[i].Opts.Manifest.Host, bootFact)
		if boot == "" {
			return "whether there was a boot between them is not recorded"
		}
		if at[boot] == nil {
			order = append(order, boot)
		}
		at[boot] = append(at[boot], i+1)
	}
	switch len(order) {
	case len(list):
		if len(list) == 1 {
			return "one boot"
		}
		return "each is in a boot of its own"
	case 1:
		return "all are in one boot, so that reboot-to-reboot variation is in none of them"
	}
	var shared []string
	for _, boot := range order {
		if n := at[boot]; len(n) > 1 {
			shared = append(shared, "sessions "+numbers(n)+" share one")
		}
	}
	return fmt.Sprintf("they are in %d boots (%s, and may be more alike than the interval takes them to be)", len(order), strings.Join(shared, "; "))
}

func numbers(list []int) string {
	var words []string
	for _, n := range list {
		words = append(words, fmt.Sprint(n))
	}
	return enumerate(words)
}

// machineWords says on how many machines the sessions were.
func machineWords(list []Session) string {
	machines, boots := names{}, names{}
	for i := range list {
		machine, boot := machineOf(list[i].Opts.Manifest), hostFact(list[i].Opts.Manifest.Host, bootFact)
		if machine == "" {
			return "and of the machine nothing is recorded"
		}
		machines.add(machine)
		boots.add(boot)
	}
	switch {
	case len(machines.list) > 1:
		return fmt.Sprintf("on %d machines or more", len(machines.list))
	case len(boots.list) == 1 && boots.list[0] != "":
		return "on one machine"
	}
	return "on one machine or on several that the manifests cannot tell apart (CPU model and number)"
}

// differingFacts names what else is not the same in all manifests.
func differingFacts(list []Session) []string {
	at := make([]map[string]string, len(list))
	var order names
	for i := range list {
		at[i] = map[string]string{}
		for _, f := range factsOf(list[i].Opts.Manifest) {
			at[i][f.Name] = f.Value
			order.add(f.Name)
		}
	}
	var out []string
	for _, name := range order.list {
		if ownOfSession(name) {
			continue
		}
		for i := range at[1:] {
			if at[i+1][name] != at[0][name] {
				out = append(out, strings.TrimPrefix(name, "host."))
				break
			}
		}
	}
	return out
}

// ownOfSession are facts that are told elsewhere, or of which every session
// has its own and nothing follows.
func ownOfSession(name string) bool {
	return varying(name) || name == bootFact || name == "experiment" || name == "runs per treatment" || strings.HasPrefix(name, "host.load") ||
		name == "host.memory.swap_free" || slices.Contains(machineFacts(), name)
}

// notes are what is to be known before the numbers are read.
func (s *Sessions) notes(list []Session) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if n := len(s.Each); n < stats.AdvisedSessions {
		say("%d %s: at least %d sessions are advised; %s", n, plural(n, "session"), stats.AdvisedSessions, factorWords(n))
	}
	for i := range s.Each {
		s.Each[i].note(i+1, say)
	}
	runs := names{}
	for i := range list {
		runs.add(fmt.Sprint(list[i].Opts.Manifest.Repeats))
	}
	if len(runs.list) > 1 {
		say("the sessions plan %s rounds; each counts as one", enumerate(runs.list))
	}
	s.lacking(say)
	return append(out, s.costWords()...)
}

// factorWords compares the width of the interval with that at the advised
// number of sessions.
func factorWords(n int) string {
	factor := func(n int) stats.Value {
		effects := make([]float64, n)
		for i := range effects {
			effects[i] = float64(i)
		}
		a, err := stats.AcrossSessions(effects, stats.Level)
		if err != nil {
			return stats.Value{}
		}
		return a.T
	}
	now, then := factor(n), factor(stats.AdvisedSessions)
	if !now.OK || !then.OK {
		return "one has no interval"
	}
	return fmt.Sprintf("with %d the 95%% interval is ±%.1f standard errors wide, with %d it is ±%.1f", n, now.V, stats.AdvisedSessions, then.V)
}

func (f *SessionFacts) note(number int, say func(string, ...any)) {
	if f.Stopped != "" {
		say("session %d (%s) ended early, %s", number, f.Name, f.Stopped)
	} else if f.Missing > 0 {
		say("session %d (%s) ended early: %d of its %d runs have no record; it takes part with what it has", number, f.Name, f.Missing, f.Planned)
	}
	if n := f.Counts.Void + f.Counts.Failed; n > 0 {
		say("session %d (%s): %d void and %d failed runs are left out", number, f.Name, f.Counts.Void, f.Counts.Failed)
	}
	if f.Starts > 1 {
		where := ""
		if f.Boots > 1 {
			where = fmt.Sprintf(", over %d boots", f.Boots)
		}
		say("session %d (%s) was begun and resumed%s: its %d starts count as one session", number, f.Name, where, f.Starts)
	}
}

// lacking names the contrasts that some session has no value of: in one line
// those that lack it for the same reason.
func (s *Sessions) lacking(say func(string, ...any)) {
	var order names
	where := map[string]*names{}
	for i := range s.Tables {
		t := &s.Tables[i]
		for j := range t.Contrasts {
			c := &t.Contrasts[j]
			medians := c.gaps(func(v *SessionValue) stats.Value { return v.Median })
			spreads := c.gaps(func(v *SessionValue) stats.Value { return v.Spread })
			for _, text := range slices.Concat(medians, spreads) {
				order.add(text)
				if where[text] == nil {
					where[text] = &names{}
				}
				switch inMedian, inSpread := slices.Contains(medians, text), slices.Contains(spreads, text); {
				case inMedian && inSpread:
					where[text].add(t.name())
				case inMedian:
					where[text].add("median of " + t.name())
				default:
					where[text].add("spread of " + t.name())
				}
			}
		}
	}
	for _, text := range order.list {
		say("%s (%s)", text, enumerate(where[text].list))
	}
}

// gaps say in which sessions there is no value of one question, and why.
func (c *SessionContrast) gaps(of func(*SessionValue) stats.Value) []string {
	reasons, at := names{}, map[string][]int{}
	for k := range c.Values {
		if v := of(&c.Values[k]); !v.OK {
			reasons.add(v.Why)
			at[v.Why] = append(at[v.Why], k+1)
		}
	}
	var out []string
	for _, why := range reasons.list {
		out = append(out, fmt.Sprintf("%s against %s: no value in %s %s: %s", c.X, c.Y, plural(len(at[why]), "session"), numbers(at[why]), why))
	}
	return out
}

// costWords say what a round and a session cost, which the counts hang on.
func (s *Sessions) costWords() []string {
	c := &s.Costs
	switch {
	case len(s.Each) < 2 || len(s.Tables) == 0:
		return nil
	case !c.Round.OK || !c.Fixed.OK:
		return []string{"what a round and a session cost is not known, so that nothing is said of how many to take next time"}
	case c.session() <= 0:
		return []string{"a session has no cost of its own, so that nothing is said of how many rounds to take next time; -session-cost 2m says that one costs a reboot of two minutes"}
	}
	return append([]string{s.costText()}, s.nextWords()...)
}

func (s *Sessions) costText() string {
	c := &s.Costs
	text := fmt.Sprintf("costs (medians): a round of all treatments %s, a session before its first round %s", seconds(c.Round.V), seconds(c.Fixed.V))
	if c.Extra > 0 {
		return text + fmt.Sprintf(" and %s by -session-cost", seconds(c.Extra))
	}
	return text + "; a reboot is not among them: -session-cost 2m adds it"
}

// nextWords give the range of the counts for the next time: an experiment has
// one plan for all its comparisons.
func (s *Sessions) nextWords() []string {
	var out []string
	for _, q := range []struct {
		words string
		of    func(*SessionContrast) *SessionEffect
	}{
		{s.Costs.Target.medianWords(), func(c *SessionContrast) *SessionEffect { return &c.Median }},
		{s.Costs.Target.sdWords(), func(c *SessionContrast) *SessionEffect { return &c.Spread }},
	} {
		var rounds, sessions []float64
		for _, t := range s.headlined() {
			for j := range t.Contrasts {
				c := &t.Contrasts[j]
				if n := &q.of(c).Next; !c.Control && n.Rounds.OK && n.Sessions.OK {
					rounds, sessions = append(rounds, n.Rounds.V), append(sessions, n.Sessions.V)
				}
			}
		}
		if len(rounds) > 0 {
			out = append(out, fmt.Sprintf("next time, to find %s: %s rounds in each of %s sessions, by comparison (-effect asks for another)", q.words, span(rounds), span(sessions)))
		}
	}
	return out
}

// span writes the least and the most of some counts.
func span(counts []float64) string {
	text := func(v float64) string { return countText(stats.Value{V: v, OK: true}) }
	lo, hi := text(slices.Min(counts)), text(slices.Max(counts))
	if lo == hi {
		return lo
	}
	return lo + " to " + hi
}

// seconds writes a duration with three digits.
func seconds(s float64) string {
	switch {
	case s < 1:
		return significant(1000*s) + " ms"
	case s < 120:
		return significant(s) + " s"
	case s < 7200:
		return significant(s/60) + " min"
	}
	return significant(s/3600) + " h"
}
