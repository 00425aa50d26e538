# Reads paths from standard input and prints one JSON object for each definition in these Ruby files.
require "json"

Node = RubyVM::AbstractSyntaxTree::Node

def emit(path, node, name, owner, kind, role, head, inner)
  first, last = node.first_lineno, node.last_lineno
  body = [first, head || first].max
  puts JSON.generate({ path: path, name: name.to_s, owner: owner, kind: kind, role: role, first: first, body: body,
                       inner: inner ? [inner, body].max : last, last: last })
end

# The scope of a definition: its parameters, its first statement.
def parts(scope)
  args, body = scope.children[1], scope.children[2]
  head = args && args.last_lineno
  # A body with `rescue` or with several statements starts where its first statement does.
  [head, body && body.first_lineno]
end

def walk(path, node, owner, state)
  return unless node.is_a?(Node)
  role = state == :top ? "definition" : state == :block ? "soft" : "nested"
  case node.type
  when :CLASS, :MODULE
    cpath = node.children[0]
    name = cpath.children.last.to_s
    superclass = node.type == :CLASS ? node.children[1] : nil
    scope = node.children.last
    kind = node.type == :CLASS ? "class" : "module"
    emit(path, node, name, owner, kind, kind == "module" && role == "definition" ? "module" : role,
         superclass ? superclass.last_lineno : cpath.last_lineno, scope.children[2]&.first_lineno)
    walk(path, scope, name, state)
  when :SCLASS
    walk(path, node.children.last, owner, state)
  when :DEFN, :DEFS
    name = node.children[-2]
    receiver = node.type == :DEFS ? node.children[0] : nil
    holder = receiver && %i[CONST VCALL].include?(receiver.type) ? receiver.children[0].to_s : owner
    head, inner = parts(node.children.last)
    emit(path, node, name, holder, "function", role, head, inner)
    walk(path, node.children.last, owner, :function)
  when :CDECL
    name = node.children[0]
    node.children.each { |child| walk(path, child, name.is_a?(Symbol) ? name.to_s : owner, state) }
  when :ITER
    node.children.each { |child| walk(path, child, owner, state == :function ? state : :block) }
  else
    node.children.each { |child| walk(path, child, owner, state) }
  end
end

$VERBOSE = nil
$stdin.each_line(chomp: true) do |path|
  walk(path, RubyVM::AbstractSyntaxTree.parse_file(path), "", :top)
rescue SyntaxError, ArgumentError => error
  warn "#{path}: #{error.message.lines.first}"
end
