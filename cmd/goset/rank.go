package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"goset/cpulist"
	"goset/internal/cli"
	"goset/rank"
)

// rankCommand is the table alone.
func (a *app) rankCommand() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "rank",
		Short: "Show the CPUs in the order in which they would be taken",
		Long: `rank watches the CPUs for the time of -sample and shows them in the order in
which goset would take them, each with its reason. It changes nothing.`,
		Example: `  goset rank
  goset rank -n 2 -steer -sample 5s
  goset rank -watch`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.opt.check(cmd.Flags()); err != nil {
				return err
			}
			if watch {
				return a.watchRanks(cmd.Context())
			}
			return a.rankOnce(cmd.Context(), a.stdout)
		},
	}
	a.opt.addOutput(cmd.Flags())
	a.opt.addSysroot(cmd.Flags())
	a.opt.addCount(cmd.Flags())
	a.opt.addChoice(cmd.Flags())
	cmd.Flags().BoolVar(&watch, "watch", false, "again and again, until interrupted")
	return cmd
}

// rankOnce writes one ranking.
func (a *app) rankOnce(ctx context.Context, w io.Writer) error {
	color, err := cli.Color(a.opt.color, a.stdout)
	if err != nil {
		return usageError{err}
	}
	mode := a.opt.asked()
	if a.opt.sysroot != "" {
		mode.Sample = 0 // files do not change while they are watched
	}
	ranking, err := rankCPUs(ctx, a.opt.root(), mode)
	if err != nil {
		return err
	}
	choice, refused := ranking.Take(mode.N)
	if refused != nil {
		choice = rank.Selection{Housekeeper: -1}
	}
	s := newSelection(a.opt.root(), ranking, choice, cpulist.Set{})
	s.Sample = mode.Sample.Seconds()
	if a.opt.json != "" {
		if err := writeTo(a.opt.json, w, func(w io.Writer) error { return writeJSON(w, s) }); err != nil {
			return err
		}
	}
	if a.opt.json != "-" {
		p := &page{color: color, width: cli.Width(a.stdout)}
		p.selection(s, len(s.CPUs))
		if _, err := io.WriteString(w, p.String()); err != nil {
			return err
		}
	}
	return refused
}

// watchRanks writes rankings one after the other, over each other on a terminal.
func (a *app) watchRanks(ctx context.Context) error {
	relay, ctx := startRelay(ctx)
	defer relay.stop()
	if a.opt.sysroot != "" || a.opt.sample == 0 {
		return usagef("cannot watch: -watch needs a -sample above 0 on this machine")
	}
	for {
		var b strings.Builder
		err := a.rankOnce(ctx, &b)
		if ended := relay.ended(); ended != nil {
			return ended
		}
		if err != nil && b.Len() == 0 {
			return err
		}
		if cli.Terminal(a.stdout) {
			b2 := "\x1b[H\x1b[J" + b.String()
			b.Reset()
			b.WriteString(b2)
		}
		if _, err := io.WriteString(a.stdout, b.String()); err != nil {
			return err
		}
		if err != nil { // the table is there, and n does not fit
			a.say(err.Error())
		}
	}
}
