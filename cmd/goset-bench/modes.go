package main

// modesHelp defines the modes that -modes names; harness.CommandText writes
// them into the experiment.
const modesHelp = `The modes of -modes, none of which needs root:

  unpinned  as the scheduler places it
  taskset   pinned to -n CPUs, every run to the next ones
  goset     pinned to the -n CPUs that a sample before every run shows as
            quietest; no more than pinned

A name says nothing about the layers of a mode in an experiment's file: goset of
"published" has a cgroup, steered interrupts and fenced siblings on top, and
needs root. "goset-bench plan" and a line below the tables say what each mode
does.`
