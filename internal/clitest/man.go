package clitest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manPage writes one manual page, in man(7), of a tool and all its commands:
// what -h prints of each, in the order of a page. Sections are further ones, as
// title and text.
func manPage(root *cobra.Command, sections ...[2]string) string {
	m := &man{}
	name := root.Name()
	m.line(".TH %s 1", strings.ToUpper(name))
	m.section("NAME")
	m.line("%s \\- %s", text(name), text(lower(root.Short)))
	m.section("SYNOPSIS")
	m.line(".B %s", text(root.UseLine()))
	for _, c := range shown(root) {
		m.line(".br\n.B %s", text(c.UseLine()))
	}
	m.section("DESCRIPTION")
	m.prose(root.Long)
	if flags := local(root); flags.HasAvailableFlags() {
		m.section("OPTIONS")
		m.flags(flags)
	}
	if commands := shown(root); len(commands) > 0 {
		m.section("COMMANDS")
		for _, c := range commands {
			m.line(".SS %s", text(c.UseLine()))
			m.prose(cmp.Or(c.Long, c.Short))
			m.flags(c.NonInheritedFlags())
		}
	}
	if root.Example != "" {
		m.section("EXAMPLES")
		m.block(root.Example)
	}
	for _, s := range sections {
		m.section(s[0])
		m.prose(s[1])
	}
	return m.String()
}

func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// shown are the commands that -h lists.
func shown(root *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, c)
		}
	}
	return all
}

func local(root *cobra.Command) *pflag.FlagSet {
	all := pflag.NewFlagSet(root.Name(), pflag.ContinueOnError)
	all.AddFlagSet(root.PersistentFlags())
	all.AddFlagSet(root.LocalFlags())
	return all
}

type man struct{ strings.Builder }

func (m *man) line(format string, args ...any) {
	fmt.Fprintf(m, format, args...)
	m.WriteByte('\n')
}

func (m *man) section(title string) { m.line(".SH %s", text(title)) }

// prose writes paragraphs; indented lines stay as they are.
func (m *man) prose(long string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(long), "\n\n") {
		if i > 0 {
			m.line(".PP")
		}
		if strings.HasPrefix(paragraph, "  ") {
			m.block(paragraph)
			continue
		}
		for line := range strings.SplitSeq(paragraph, "\n") {
			m.line("%s", text(strings.TrimSpace(line)))
		}
	}
}

func (m *man) block(lines string) {
	m.line(".nf")
	for line := range strings.SplitSeq(lines, "\n") {
		m.line("%s", text(line))
	}
	m.line(".fi")
}

func (m *man) flags(set *pflag.FlagSet) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "-" + f.Name
		switch {
		case value != "" && f.NoOptDefVal != "":
			name += "[=" + value + "]"
		case value != "":
			name += " " + value
		}
		m.line(".TP\n.B %s", text(name))
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			usage += " (default " + f.DefValue + ")"
		}
		m.line("%s", text(usage))
	})
}

// text escapes what roff would take for its own.
func text(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		return `\&` + s
	}
	return s
}
