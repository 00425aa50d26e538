// Reads paths from standard input and prints one JSON object for each definition in these JavaScript or TypeScript files.
// The first argument is the path of the `typescript` package.
const fs = require("fs");
const ts = require(process.argv[2]);
const K = ts.SyntaxKind;

function definitions(path) {
  const source = ts.createSourceFile(path, fs.readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
  const line = (position) => source.getLineAndCharacterOfPosition(position).line + 1;
  const named = (name) => (name && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name) || ts.isStringLiteral(name)) ? name.text : "");

  // Where a definition begins, its decorators left out.
  const start = (node) => {
    let at = node.getStart(source);
    for (const modifier of node.modifiers ?? []) {
      if (modifier.kind !== K.Decorator) break;
      at = modifier.end;
    }
    return at === node.getStart(source) ? at : ts.skipTrivia(source.text, at);
  };
  const emit = (node, name, owner, kind, role, body, whole = node) => {
    const first = line(start(whole));
    console.log(JSON.stringify({ path, name, owner, kind, role, first, body: Math.max(first, line(body)), last: line(whole.end - 1) }));
  };
  const isFunction = (node) => node && (ts.isFunctionExpression(node) || ts.isArrowFunction(node));
  // Where an arrow function has an expression for a body, its head goes up to the arrow.
  const bodyOf = (f) => (ts.isBlock(f.body) ? f.body.getStart(source) : f.equalsGreaterThanToken.getStart(source));

  // `inside`: "" at the top or in a type, "value" in a function without a name or in an object, "function" in one that has a name.
  const walk = (node, owner, inside) => {
    const role = inside === "" ? "definition" : inside === "value" ? "soft" : "nested";
    const soft = role === "nested" ? role : "soft";
    const each = (of, itsOwner, itsInside) => ts.forEachChild(of, (child) => walk(child, itsOwner, itsInside));
    const into = (name) => (inside === "function" || name ? "function" : "value");
    if (ts.isFunctionDeclaration(node)) {
      const name = named(node.name);
      if (name) emit(node, name, "", "function", node.body ? role : "proto", (node.body ?? node).getStart(source));
      return each(node, owner, into(name));
    }
    if (ts.isMethodDeclaration(node) || ts.isConstructorDeclaration(node) || ts.isGetAccessor(node) || ts.isSetAccessor(node)) {
      const name = ts.isConstructorDeclaration(node) ? "constructor" : named(node.name);
      const its = ts.isObjectLiteralExpression(node.parent) ? soft : role;
      if (name) emit(node, name, owner, "function", node.body ? its : "proto", node.body ? node.body.getStart(source) : node.end - 1);
      return each(node, owner, into(name));
    }
    if (ts.isMethodSignature(node)) {
      if (named(node.name)) emit(node, named(node.name), owner, "function", "proto", node.end - 1);
      return;
    }
    if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isEnumDeclaration(node)) {
      const name = named(node.name);
      const kind = ts.isClassDeclaration(node) ? "class" : ts.isEnumDeclaration(node) ? "enum" : "interface";
      emit(node, name, ts.isModuleBlock(node.parent) ? owner : "", kind, name ? role : "soft", node.members.pos - 1);
      return each(node, name, inside);
    }
    if (ts.isClassExpression(node)) return each(node, owner, inside === "" ? "value" : inside);
    if (ts.isTypeAliasDeclaration(node)) return emit(node, node.name.text, "", "type", soft, node.type.getStart(source));
    if (ts.isModuleDeclaration(node)) {
      if (node.body) emit(node, named(node.name), "", "module", role === "definition" ? "module" : soft, node.body.getStart(source));
      return each(node, named(node.name), inside);
    }
    if (ts.isVariableDeclaration(node) && node.initializer) {
      const name = named(node.name), value = node.initializer;
      const alone = node.parent.declarations.length === 1 && ts.isVariableStatement(node.parent.parent);
      const whole = alone ? node.parent.parent : node;
      if (isFunction(value)) {
        emit(node, name, "", "function", soft, bodyOf(value), whole);
        return each(value, owner, into(name));
      }
      if (ts.isClassExpression(value)) emit(node, name, "", "class", soft, value.members.pos - 1, whole);
      return walk(value, name, inside === "" ? "value" : inside);
    }
    if (ts.isPropertyDeclaration(node) || ts.isPropertyAssignment(node)) {
      const name = named(node.name);
      if (isFunction(node.initializer) && name) {
        emit(node, name, owner, "function", soft, bodyOf(node.initializer));
        return each(node.initializer, owner, into(name));
      }
      return each(node, ts.isObjectLiteralExpression(node.parent) ? name : owner, inside === "" ? "value" : inside);
    }
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === K.EqualsToken && ts.isPropertyAccessExpression(node.left)) {
      const name = named(node.left.name), target = node.left.expression;
      const holder = ts.isIdentifier(target) ? target.text : ts.isPropertyAccessExpression(target) ? named(target.name.text === "prototype" ? target.expression : target.name) : "";
      if (isFunction(node.right)) {
        emit(node, name, holder, "function", soft, bodyOf(node.right), ts.isExpressionStatement(node.parent) ? node.parent : node);
        return each(node.right, owner, into(name === "exports" ? "" : name));
      }
      return walk(node.right, name, inside === "" ? "value" : inside);
    }
    if (isFunction(node)) return each(node, owner, into(named(node.name)));
    each(node, owner, inside);
  };
  walk(source, "", "");
}

for (const path of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) definitions(path);
