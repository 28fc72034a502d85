package doctor

import (
	"slices"
	"strconv"
	"strings"

	"goset/host"
)

// echo is the command that writes a value into a file of the kernel.
func echo(value, file string) string { return "echo " + word(value) + " > " + word(file) }

// tee is the same for several files.
func tee(value string, files []string) string {
	if len(files) == 1 {
		return echo(value, files[0])
	}
	words := make([]string, len(files))
	for i, f := range files {
		words[i] = word(f)
	}
	return "echo " + word(value) + " | tee " + strings.Join(words, " ")
}

// word quotes what a shell would take apart.
func word(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%"

// cpufreq is the folder of the policies.
const cpufreq = "/sys/devices/system/cpu/cpufreq"

// toPolicies are the commands that write a file of each policy: a value of its
// own each, "" for none. Where all policies get the same, one pattern names them.
func toPolicies(policies []host.Policy, file string, value func(*host.Policy) string) []string {
	var values []string
	files := map[string][]string{}
	pattern := patternOf(policies)
	for i := range policies {
		p := &policies[i]
		v := value(p)
		if v == "" {
			continue
		}
		if len(files[v]) == 0 {
			values = append(values, v)
		}
		files[v] = append(files[v], p.Path+"/"+file)
	}
	if len(values) == 1 && pattern != "" && len(files[values[0]]) == len(policies) && len(policies) > 1 {
		// The pattern is the shell's and not to be quoted.
		return []string{"echo " + word(values[0]) + " | tee " + pattern + "/" + file}
	}
	var commands []string
	for _, v := range values {
		commands = append(commands, tee(v, files[v]))
	}
	return commands
}

// patternOf names the folders of all policies: below cpufreq, or before kernel
// 4.3 below the CPUs. "": there is none.
func patternOf(policies []host.Policy) string {
	for pattern, ends := range map[string][2]string{
		cpufreq + "/policy*":                   {cpufreq + "/policy", ""},
		"/sys/devices/system/cpu/cpu*/cpufreq": {"/sys/devices/system/cpu/cpu", "/cpufreq"},
	} {
		if !slices.ContainsFunc(policies, func(p host.Policy) bool {
			digits, ok := strings.CutPrefix(p.Path, ends[0])
			digits, ok2 := strings.CutSuffix(digits, ends[1])
			_, err := strconv.Atoi(digits)
			return !ok || !ok2 || err != nil
		}) {
			return pattern
		}
	}
	return ""
}

// number is an optional number as a value for [toPolicies].
func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// sysctl is the command that writes a file below /proc/sys.
func sysctl(name string, value int64) string {
	return "sysctl " + name + "=" + strconv.FormatInt(value, 10)
}
