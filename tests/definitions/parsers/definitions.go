// Reads paths from standard input and prints one JSON object for each definition in these Go files.
package main

import (
	"bufio"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
)

type row struct {
	Path  string `json:"path"`
	Name  string `json:"name"`
	Owner string `json:"owner"`
	Kind  string `json:"kind"`
	Role  string `json:"role"`
	First int    `json:"first"`
	Body  int    `json:"body"`
	Last  int    `json:"last"`
}

func typeName(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.ParenExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	}
	return ""
}

func main() {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		path := lines.Text()
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			os.Stderr.WriteString(path + ": " + err.Error() + "\n")
			continue
		}
		at := func(p token.Pos) int { return files.PositionFor(p, false).Line }
		emit := func(n ast.Node, name, owner, kind, role string, start, body token.Pos) {
			out.Encode(row{path, name, owner, kind, role, at(start), at(body), at(n.End() - 1)})
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				owner := ""
				if d.Recv != nil && len(d.Recv.List) > 0 {
					owner = typeName(d.Recv.List[0].Type)
				}
				if d.Body == nil {
					emit(d, d.Name.Name, owner, "function", "proto", d.Type.Func, d.End()-1)
				} else {
					emit(d, d.Name.Name, owner, "function", "definition", d.Type.Func, d.Body.Lbrace)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					start := spec.Pos()
					if !d.Lparen.IsValid() {
						start = d.TokPos
					}
					switch s := spec.(type) {
					case *ast.TypeSpec:
						switch t := s.Type.(type) {
						case *ast.StructType:
							emit(s, s.Name.Name, "", "struct", "definition", start, t.Fields.Opening)
						case *ast.InterfaceType:
							emit(s, s.Name.Name, "", "interface", "definition", start, t.Methods.Opening)
							for _, m := range t.Methods.List {
								for _, name := range m.Names {
									emit(m, name.Name, s.Name.Name, "function", "proto", m.Pos(), m.End()-1)
								}
							}
						default:
							emit(s, s.Name.Name, "", "type", "soft", start, s.Type.Pos())
						}
					case *ast.ValueSpec:
						for i, value := range s.Values {
							if f, is := value.(*ast.FuncLit); is && i < len(s.Names) {
								emit(s, s.Names[i].Name, "", "function", "soft", start, f.Body.Lbrace)
							}
						}
					}
				}
			}
		}
	}
}
