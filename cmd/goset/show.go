package main

import "github.com/spf13/cobra"

func (a *app) show(cmd *cobra.Command) error { return nil }
