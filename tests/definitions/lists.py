"""Downloads packages and lists their definitions, each language by a parser that has nothing to do with the program's."""
import ast, io, json, os, pathlib, re, subprocess, sys, tokenize

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "training"))
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from blank import blank, without_branches
from fetch import package_dir
import fetch
import rust_items

# (language, registry, package, version, the folder in it that is searched, the endings of the files that are listed)
PACKAGES = [
    ("python", "pypi", "celery", "5.7.0", "", (".py",)),
    ("python", "pypi", "flask", "3.1.3", "", (".py",)),
    ("javascript", "npm", "express", "5.3.0", "package", (".js",)),
    ("javascript", "npm", "knex", "3.3.0", "package", (".js",)),
    ("typescript", "npm", "rxjs", "7.8.2", "package/src", (".ts",)),
    ("typescript", "npm", "zod", "4.6.7", "package/src", (".ts",)),
    ("go", "deb", "golang-github-gin-gonic-gin", "1.8.1", "", (".go",)),
    ("go", "deb", "golang-github-spf13-cobra", "1.6.1", "", (".go",)),
    ("rust", "crates", "regex-automata", "0.4.18", "", (".rs",)),
    ("rust", "crates", "globset", "0.4.21", "", (".rs",)),
    ("java", "deb", "libcommons-lang3-java", "3.12.0", "", (".java",)),
    ("java", "deb", "jsoup", "1.15.3", "", (".java",)),
    ("c", "deb", "jq", "1.6", "", (".c", ".h")),
    ("c", "deb", "libuv1", "1.44.2", "", (".c", ".h")),
    ("c++", "deb", "re2", "20220601+dfsg", "", (".cc", ".h")),
    ("c++", "deb", "fmtlib", "9.1.0+ds1", "", (".cc", ".h")),
    ("ruby", "deb-binary", "ruby-rack", "2.2.22", "usr/share/rubygems-integration/all/gems", (".rb",)),
    ("ruby", "deb-binary", "ruby-sequel", "5.63.0", "usr/lib/ruby/vendor_ruby", (".rb",)),
    ("php", "deb", "php-monolog", "2.9.1", "", (".php",)),
    ("php", "deb", "php-twig", "3.5.1", "", (".php",)),
    ("c#", "deb", "keepass2", "2.47", "", (".cs",)),
]
TYPESCRIPT = "5.9.3"


def fetch_deb_binary(name, version, target):
    """What a Debian package installs: of scripts, that is the source."""
    raw = target.with_suffix(".raw")
    raw.mkdir(parents=True, exist_ok=True)
    fetch.run("apt-get", "-qq", "download", name, cwd=raw)
    fetch.run("dpkg-deb", "-x", str(next(raw.glob("*.deb"))), str(target))


fetch.FETCH["deb-binary"] = fetch_deb_binary


class Package:
    def __init__(self, work, row):
        self.language, registry, self.name, version, folder, self.endings = row
        top = package_dir(work / "packages", registry, self.name, version)
        self.root = top / folder
        # A file that is not UTF-8 is read byte by byte, as only its lines and its ASCII words matter here.
        self.texts, self.dropped = {}, 0
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root).as_posix()
            hidden = any(part.startswith(".") for part in name.split("/"))
            if path.name.endswith(self.endings) and path.is_file() and not path.is_symlink() and not hidden:
                self.texts[name] = path.read_bytes().decode("utf-8", "surrogateescape")
        self.definitions = LIST[self.language](self, work)
        self.definitions.sort(key=lambda d: (d["path"], d["first"], -d["last"]))
        self.by_path = {}
        for d in self.definitions:
            d.setdefault("inner", d["body"])
            self.by_path.setdefault(d["path"], []).append(d)
        lists = work / "lists"
        lists.mkdir(exist_ok=True)
        with (lists / f"{self.name}.jsonl").open("w") as out:
            out.writelines(json.dumps(d) + "\n" for d in self.definitions)

    def lines(self, path):
        return self.texts[path].split("\n")

    def named(self, role="definition"):
        return [d for d in self.definitions if d["role"] == role]


def helper(package, command):
    environment = dict(os.environ, GO111MODULE="off", LC_ALL="C.UTF-8")
    done = subprocess.run(command, cwd=package.root, input="".join(f"{path}\n" for path in package.texts), capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()[-400:]}")
    for line in done.stderr.splitlines():
        print(f"{package.name}: not listed: {line}", file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def tools(work):
    folder = work / "tools"
    folder.mkdir(exist_ok=True)
    return folder


def python(package, work):
    out = []
    for path, text in package.texts.items():
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            print(f"{package.name}: not listed: {path}: {error}", file=sys.stderr)
            continue
        colons = {}
        depth = started = 0
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME and token.string in ("def", "class") and not started:
                started, depth = token.start[0], 0
            elif token.type == tokenize.OP and started:
                depth += (token.string in "([{") - (token.string in ")]}")
                if token.string == ":" and not depth:
                    colons[started] = token.start[0]
                    started = 0

        def walk(node, owner, role):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    is_class = isinstance(child, ast.ClassDef)
                    first = child.body[0]
                    decorators = [d.lineno for d in getattr(first, "decorator_list", [])]
                    body = colons.get(child.lineno, child.lineno)
                    out.append({"path": path, "name": child.name, "owner": owner, "kind": "class" if is_class else "function", "role": role,
                                "first": child.lineno, "body": body, "inner": max(body, min([first.lineno] + decorators)), "last": child.end_lineno})
                    walk(child, child.name if is_class else "", role if is_class else "nested")
                else:
                    walk(child, owner, role)

        walk(tree, "", "definition")
    return out


def typescript(package, work):
    folder = tools(work)
    if not (folder / "node_modules" / "typescript").is_dir():
        fetch.run("npm", "install", "--silent", "--no-save", "--prefix", str(folder), f"typescript@{TYPESCRIPT}")
    return helper(package, ["node", str(HERE / "parsers" / "definitions.cjs"), str(folder / "node_modules" / "typescript")])


def go(package, work):
    binary = tools(work) / "definitions-go"
    source = HERE / "parsers" / "definitions.go"
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        fetch.run("env", "GO111MODULE=off", "go", "build", "-o", str(binary), str(source))
    return helper(package, [str(binary)])


def java(package, work):
    source, classes = HERE / "parsers" / "Definitions.java", tools(work) / "java"
    built = classes / "Definitions.class"
    if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
        fetch.run("javac", "-d", str(classes), str(source))
    return helper(package, ["java", "-XX:TieredStopAtLevel=1", "-cp", str(classes), "Definitions"])


def ruby(package, work):
    return helper(package, ["ruby", str(HERE / "parsers" / "definitions.rb")])


def php(package, work):
    return helper(package, ["php", str(HERE / "parsers" / "definitions.php")])


def rust(package, work):
    return [item for path, text in package.texts.items() for item in rust_items.items(path, text)]


KINDS = {
    "function": "function", "method": "function", "class": "class", "struct": "struct", "union": "struct", "enum": "enum",
    "interface": "interface", "namespace": "module", "property": "property", "macro": "macro", "typedef": "type",
}  # fmt: skip


def ctags(package, work):
    """ctags tells where a definition ends by counting braces, past macros too. What it says is kept where a brace that
    opens behind the name, no deeper than it, closes on the last line; the others are dropped."""
    only = {"c": ["--languages=C", "--langmap=C:.c.h"], "c++": ["--languages=C++", "--langmap=C++:.cc.h"], "c#": ["--languages=C#"]}[package.language]
    rows = helper(package, ["ctags", "--output-format=json", "--fields=+neKSst", *only, "-L", "-", "-o", "-"])
    out, braces = [], {}
    for tag in rows:
        kind = KINDS.get(tag.get("kind"))
        scope_kind = KINDS.get(tag.get("scopeKind"))
        if not kind or "end" not in tag or tag["name"].startswith("__anon") or scope_kind == "function":
            continue
        path, first, last = tag["path"], tag["line"], tag["end"]
        owner = re.split(r"::|\.", tag["scope"])[-1] if scope_kind in ("class", "struct", "enum", "interface") else ""
        if owner.startswith("__anon"):
            continue
        if path not in braces:
            lines = without_branches(blank(package.texts[path], package.language)) if package.language != "c#" else blank(package.texts[path], "c#").split("\n")
            stack, pairs, depths = [], [], [0]
            for number, line in enumerate(lines, 1):
                depths.append(len(stack))
                for c in re.findall(r"[{}]", line):
                    if c == "{":
                        stack.append((number, len(stack)))
                    elif stack:
                        pairs.append((*stack.pop(), number))
            braces[path] = pairs, depths
        name = tag["name"].removeprefix("operator ")
        plain = re.fullmatch(r"~?\w+", name)
        role = "module" if kind == "module" else "definition" if plain and kind not in ("macro", "property", "type") else "soft"
        row = {"path": path, "name": tag["name"], "owner": owner, "kind": kind, "role": role, "first": first, "last": last}
        if kind == "macro":
            if last > first:
                out.append(row | {"body": first})
            continue
        pairs, depths = braces[path]
        bodies = [pair[0] for pair in pairs if pair[2] == last and pair[0] >= first and pair[1] == depths[first]]
        if not bodies:
            package.dropped += 1
            continue
        out.append(row | {"body": max(bodies)})
    return out


LIST = {
    "python": python, "javascript": typescript, "typescript": typescript, "go": go, "rust": rust, "java": java, "c": ctags, "c++": ctags,
    "c#": ctags, "ruby": ruby, "php": php,
}  # fmt: skip


def load(work, languages=None):
    """The packages, those that could not be listed left out with a word on why."""
    packages = []
    for row in PACKAGES:
        if languages and row[0] not in languages:
            continue
        try:
            packages.append(Package(work, row))
        except (RuntimeError, OSError, StopIteration) as error:
            print(f"skipped {row[0]} {row[2]}: {error!r}", file=sys.stderr)
    return packages
