package harness

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"goset/internal/lazy"
)

// CommandOptions say how `run -- command` measures. A zero field leaves what
// an experiment has by default.
type CommandOptions struct {
	N     int      // CPUs for taskset and goset
	Modes []string // of KnownModes; none: all of them
}

// KnownModes are the modes that a command can be run under by name.
func KnownModes() []string { return []string{"unpinned", "taskset", "goset"} }

// CommandText writes the experiment file for one command under some of the
// known modes: what goes through Load has the checks of every other file, and
// the result folder has a file to start from. Placeholders as {n} work in the
// command. The error is a Faults.
func CommandText(argv []string, o CommandOptions) ([]byte, error) {
	if faults := commandFaults(argv, o); len(faults) > 0 {
		return nil, faults
	}
	var b strings.Builder
	fmt.Fprintf(&b, "title = %s\n\n[plan]\n", tomlString(title(argv)))
	fmt.Fprintf(&b, "\n[workload.%s]\ncommand = [", tomlString(workloadName(argv[0])))
	for i, word := range argv {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(tomlString(word))
	}
	b.WriteString("]\nextract = true\n")
	modes := o.Modes
	if len(modes) == 0 {
		modes = KnownModes()
	}
	for _, mode := range modes {
		writeMode(&b, mode, o.N)
	}
	return []byte(b.String()), nil
}

func commandFaults(argv []string, o CommandOptions) Faults {
	var fs Faults
	if len(argv) == 0 || argv[0] == "" {
		fs = append(fs, Fault{Origin: "run", Rule: "a command must follow --", Hint: "as run -- ./task -size 10"})
	}
	for _, word := range argv {
		if !utf8.ValidString(word) {
			fs = append(fs, Fault{Origin: "run", Key: "command", Rule: "words must be UTF-8, which experiment files are", Got: fmt.Sprintf("%q", word), Hint: "put the command into a script"})
		}
	}
	seen := map[string]bool{}
	for _, mode := range o.Modes {
		switch known := KnownModes(); {
		case seen[mode]:
			fs = append(fs, Fault{Origin: "-modes", Rule: "a mode may be named once", Got: fmt.Sprintf("%q", mode)})
		case !slices.Contains(known, mode):
			hint := didYouMean(mode, known)
			if hint == "" {
				hint = "other modes need an experiment file"
			}
			fs = append(fs, Fault{Origin: "-modes", Rule: "must be " + orList(known), Got: fmt.Sprintf("%q", mode), Hint: hint})
		}
		seen[mode] = true
	}
	return fs
}

func writeMode(b *strings.Builder, mode string, n int) {
	fmt.Fprintf(b, "\n[mode.%s]\n", mode)
	switch mode {
	case "taskset":
		b.WriteString("cpus = \"rotate\"\n")
	case "goset":
		b.WriteString("cpus = \"quietest\"\n")
	}
	if n != 0 {
		fmt.Fprintf(b, "n = %d\n", n)
	}
}

// title is the command on one line.
func title(argv []string) string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.Join(argv, " "))
	const most = 48 // characters, which may have four bytes each of a title's 200
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "..."
	}
	return text
}

var notInName = lazy.Regexp(`[^A-Za-z0-9._+-]+`)

// workloadName makes a name of a program's path.
func workloadName(program string) string {
	name := notInName().ReplaceAllString(path.Base(program), "-")
	name = strings.TrimLeft(name, "._+-")
	if len(name) > 64 {
		name = name[:64]
	}
	if !goodName().MatchString(name) {
		return "command"
	}
	return name
}
