package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// statementsOfMain counts the statements of func main in a file; -1 when it
// has no main.
func statementsOfMain(t *testing.T, name string) int {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "main" {
			return len(fn.Body.List)
		}
	}
	return -1
}
