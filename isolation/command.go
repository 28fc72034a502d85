package isolation

import (
	"slices"
	"strings"
)

type Command struct{ Argv, Env, Own []string }

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

type commandLayer interface {
	layer
	command(r *applied, c *Command) error
}
type threadLayer interface {
	layer
	enter(r *applied) (leave func() error, err error)
}
