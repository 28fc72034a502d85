package harness

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// expansion finds the packages of one workload's patterns.
type expansion struct {
	w   *Workload
	dir string
}

// levels of a key, as the file has them.
func (x *expansion) levels(key string) []string {
	for _, p := range x.w.Params {
		if p.Name == key && len(p.Levels) > 0 {
			return p.Levels
		}
	}
	return []string{goDefaults()[key]}
}

// isPattern tells "./..." from a package.
func isPattern(p string) bool { return strings.Contains(p, "...") }

// HasPatterns reports whether [PackageSettings] has anything to replace.
func HasPatterns(e *Experiment) bool {
	return slices.ContainsFunc(e.Workloads, func(w Workload) bool {
		x := expansion{w: &w}
		return w.Go != nil && slices.ContainsFunc(x.levels("package"), isPattern)
	})
}

// packages gives the packages in the place of patterns, and the combinations
// to skip; nil where there is no pattern.
func (x *expansion) packages(list func(GoTask, string) ([]string, error)) (all []string, missing []map[string]string, err error) {
	given, refs := x.levels("package"), x.levels("ref")
	if !slices.ContainsFunc(given, isPattern) {
		return nil, nil, nil
	}
	has := map[[2]string]bool{}
	for _, ref := range refs {
		for _, p := range given {
			found := []string{p}
			if isPattern(p) {
				if found, err = x.list(ref, p, list); err != nil {
					return nil, nil, err
				}
			}
			for _, f := range found {
				has[[2]string{f, ref}] = true
				if !slices.Contains(all, f) {
					all = append(all, f)
				}
			}
		}
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("cannot find Go benchmarks: no package of %s has one that matches %q", strings.Join(given, ", "), x.levels("bench")[0])
	}
	if len(all) > 1 && len(refs) > 1 {
		for _, p := range all {
			for _, ref := range refs {
				if !has[[2]string{p, ref}] {
					missing = append(missing, map[string]string{"workload": x.w.Name, "package": p, "ref": ref})
				}
			}
		}
	}
	return all, missing, nil
}

// list asks for the packages of a pattern. Other factors than the ref hardly
// change which packages there are; their first levels stand for them.
func (x *expansion) list(ref, pattern string, list func(GoTask, string) ([]string, error)) ([]string, error) {
	dir := x.levels("dir")[0]
	if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, bundledPrefix) {
		var err error
		if dir, err = filepath.Abs(filepath.Join(x.dir, dir)); err != nil {
			return nil, fmt.Errorf("cannot make the folder %q absolute: %v", dir, err)
		}
	}
	task := GoTask{Package: pattern, Dir: dir, Ref: ref, Tags: x.levels("tags")[0], Toolchain: x.levels("toolchain")[0]}
	return list(task, strings.Join(x.levels("bench"), "|"))
}

// tomlKey quotes a name as a part of a dotted key: names may hold dots.
func tomlKey(name string) string { return tomlString(name) }

// SkipText writes the value of plan.skip.
func SkipText(skips []map[string]string) string {
	var entries []string
	for _, s := range skips {
		var pairs []string
		for _, k := range slices.Sorted(maps.Keys(s)) {
			pairs = append(pairs, tomlKey(k)+" = "+tomlString(s[k]))
		}
		entries = append(entries, "{ "+strings.Join(pairs, ", ")+" }")
	}
	return "[" + strings.Join(entries, ", ") + "]"
}
