package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"goset/harness"
	"goset/internal/cli"
)

// preference is one thing a person may set by flag, by GOSET_BENCH_NAME or in
// config.toml. Those with a Plan key stand above (flag, environment) or below
// (config.toml) the same key of the experiment.
type preference struct {
	name string
	plan string // "plan.runs"; "" when no experiment key matches
}

// preferences lists them all; a key of config.toml that is not here is a fault.
func preferenceTable() []preference {
	return []preference{
		{"runs", "plan.runs"}, {"warmup", "plan.warmup"}, {"idle", "plan.idle"},
		{"order", "plan.order"}, {"seed", "plan.seed"}, {"timeout", "plan.timeout"},
		{"retries", "plan.retries"}, {"baseline", "plan.baseline"},
		{"results", ""}, {"quiet", ""}, {"watch", ""}, {"color", ""}, {"best-effort", ""}, {"metrics", ""},
		{"state", ""}, {"lock", ""}, {"wait", ""}, {"user", ""},
	}
}

// preferences holds what a person set. viper resolves; it never sees an
// experiment file, whose keys it would lower-case.
type preferences struct {
	above  *viper.Viper // flags over environment
	below  *viper.Viper // config.toml
	config string       // the file that was read, "" for none
	flags  *pflag.FlagSet
}

const envPrefix = "GOSET_BENCH"

// readPreferences binds the flags and the environment and reads config.toml
// where it exists.
func readPreferences(flags *pflag.FlagSet) (*preferences, error) {
	p := &preferences{above: viper.New(), below: viper.New(), flags: flags}
	p.above.SetEnvPrefix(envPrefix)
	p.above.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	for _, pref := range preferenceTable() {
		if err := p.above.BindEnv(pref.name); err != nil {
			return nil, err
		}
		if f := flags.Lookup(pref.name); f != nil {
			if err := p.above.BindPFlag(pref.name, f); err != nil {
				return nil, err
			}
		}
	}
	if err := checkEnv(os.Environ()); err != nil {
		return nil, err
	}
	return p, p.readConfig()
}

// checkEnv refuses a variable with our prefix that is no preference: a
// misspelt one would be passed over in silence.
func checkEnv(environ []string) error {
	var known []string
	for _, pref := range preferenceTable() {
		known = append(known, envName(pref.name))
	}
	var faults []error
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, envPrefix+"_") && value != "" && !slices.Contains(known, name) {
			faults = append(faults, fmt.Errorf("%s: no preference has this variable%s", name, cli.Nearest(name, known)))
		}
	}
	if len(faults) > 0 {
		return &exitError{exitUsage, errors.Join(faults...)}
	}
	return nil
}

func envName(preference string) string {
	return envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(preference, "-", "_"))
}

// readConfig reads the person's config.toml; that there is none is no fault.
func (p *preferences) readConfig() error {
	dir, err := os.UserConfigDir()
	if err != nil {
		// No home, no preferences: what a service or a bare container has.
		return nil
	}
	file := filepath.Join(dir, "goset-bench", "config.toml")
	// A home that may not be entered is another user's: setpriv and the like
	// leave HOME as it was.
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return nil
	}
	p.below.SetConfigFile(file)
	if err := p.below.ReadInConfig(); err != nil {
		return usagef("cannot read preferences in %s: %v", file, err)
	}
	p.config = file
	return p.checkConfig()
}

func (p *preferences) checkConfig() error {
	var known []string
	for _, pref := range preferenceTable() {
		known = append(known, pref.name)
	}
	var faults []error
	for _, key := range p.below.AllKeys() {
		if !slices.Contains(known, key) {
			faults = append(faults, fmt.Errorf("%s: unknown preference %q%s", p.config, key, cli.Nearest(key, known)))
		}
	}
	if len(faults) > 0 {
		return &exitError{exitUsage, errors.Join(faults...)}
	}
	return nil
}

// settings turns the preferences about the plan into settings above and below
// the experiment, and puts -set above all.
func (p *preferences) settings(set []string) (harness.LoadOptions, error) {
	var opt harness.LoadOptions
	for _, pref := range preferenceTable() {
		if pref.plan == "" {
			continue
		}
		if p.above.IsSet(pref.name) {
			opt.Overrides = append(opt.Overrides, harness.Setting{
				Key: pref.plan, Value: p.above.GetString(pref.name), Origin: p.origin(pref.name)})
		}
		if p.below.IsSet(pref.name) {
			opt.Defaults = append(opt.Defaults, harness.Setting{
				Key: pref.plan, Value: p.below.GetString(pref.name), Origin: p.config})
		}
	}
	for _, s := range set {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return opt, usagef("cannot use -set %q: want key=value, as in -set plan.runs=3", s)
		}
		opt.Overrides = append(opt.Overrides, harness.Setting{Key: key, Value: value, Origin: "-set " + s})
	}
	return opt, nil
}

// origin names where a preference above the experiment came from.
func (p *preferences) origin(name string) string {
	if f := p.flags.Lookup(name); f != nil && f.Changed {
		return "-" + name
	}
	return envName(name)
}

// text resolves a preference that no experiment has: flag, environment,
// config.toml, default.
func (p *preferences) text(name, otherwise string) string {
	switch {
	case p.above.IsSet(name):
		return p.above.GetString(name)
	case p.below.IsSet(name):
		return p.below.GetString(name)
	}
	return otherwise
}

// list resolves a preference that is a list, whose flag has been read already:
// words with commas in the environment, a list or such words in config.toml.
func (p *preferences) list(name string, flag []string) []string {
	switch {
	case p.flags.Changed(name):
		return flag
	case p.above.IsSet(name):
		return strings.Split(p.above.GetString(name), ",")
	case p.below.IsSet(name):
		if text, ok := p.below.Get(name).(string); ok {
			return strings.Split(text, ",")
		}
		return p.below.GetStringSlice(name)
	}
	return nil
}

// on resolves a yes-or-no preference.
func (p *preferences) on(name string) (bool, error) {
	switch v := p.text(name, "false"); strings.ToLower(v) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off", "":
		return false, nil
	default:
		return false, usagef("cannot use preference %s = %q: want true or false", name, v)
	}
}

// duration resolves a preference that is a length of time, as 10m.
func (p *preferences) duration(name string) (time.Duration, error) {
	v := p.text(name, "0s")
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return 0, usagef("cannot use preference %s = %q: want a length of time, as 10m", name, v)
	}
	return d, nil
}
