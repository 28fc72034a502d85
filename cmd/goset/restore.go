package main

// leftovers lists what earlier runs did not undo.
func leftovers() []string { return []string{} }
