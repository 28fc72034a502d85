package isolation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Command is what a child is to execute, as the layers change it.
type Command struct {
	Argv []string
	Env  []string // the whole environment, as NAME=VALUE
	// Own is the part of Env that the task's author asked for. It survives
	// stable_env.
	Own []string
}

// commandLayer is a layer that changes what is executed.
type commandLayer interface {
	layer
	command(r *applied, c *Command) error
}

// threadLayer is a layer that sets something of this process or thread which
// the child takes over in the fork. leave puts it back.
type threadLayer interface {
	layer
	enter(r *applied) (leave func() error, err error)
}

// Command returns what is to be executed in place of c. The error joins the
// *Unsupported of layers that are not optional; those that are optional are
// left out, and States says so.
func (h *Held) Command(c Command) (Command, error) {
	if len(h.layers) == 0 {
		return c, nil // the common case between short runs: not even a copy
	}
	c.Argv, c.Env, c.Own = slices.Clone(c.Argv), slices.Clone(c.Env), slices.Clone(c.Own)
	var errs []error
	for _, l := range slices.Clone(h.layers) {
		cl, ok := l.(commandLayer)
		if !ok {
			continue
		}
		before := c
		err := cl.command(h.run, &c)
		if err == nil {
			continue
		}
		c = before
		err = h.run.mode.asError(l.key(), err)
		if u := (*Unsupported)(nil); errors.As(err, &u) && u.Optional {
			h.layers = slices.DeleteFunc(h.layers, func(o layer) bool { return o == l })
			h.waived = append(h.waived, Findings{u}.states()...)
			continue
		}
		errs = append(errs, err)
	}
	for _, l := range h.layers {
		if g, ok := l.(interface{ gets(Command) }); ok {
			g.gets(c)
		}
	}
	return c, errors.Join(errs...)
}

// entered runs start between the enters and the leaves of the layers that need
// it, all leaves whatever happens.
func (h *Held) entered(start func() (int, error)) (pid int, err error) {
	var leaves []func() error
	for _, l := range h.layers {
		tl, ok := l.(threadLayer)
		if !ok {
			continue
		}
		leave, eerr := tl.enter(h.run)
		if eerr != nil {
			err = h.run.mode.asError(l.key(), eerr)
			break
		}
		leaves = append(leaves, leave)
	}
	if err == nil {
		pid, err = start()
	}
	for _, leave := range slices.Backward(leaves) {
		if lerr := leave(); lerr != nil {
			err = errors.Join(err, fmt.Errorf("cannot put this process back as it was before the fork: %w", lerr))
		}
	}
	return pid, err
}

// setEnv gives a variable a value, once. Of several of one name, programs
// disagree about which counts.
func setEnv(env []string, name, value string) []string {
	kept := slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return envName(kv) == name })
	return append(kept, name+"="+value)
}

// getEnv is the value of a variable; the last one of a name, as in a shell.
func getEnv(env []string, name string) (string, bool) {
	for _, kv := range slices.Backward(env) {
		if envName(kv) == name {
			_, value, _ := strings.Cut(kv, "=")
			return value, true
		}
	}
	return "", false
}

func envName(kv string) string {
	name, _, _ := strings.Cut(kv, "=")
	return name
}
