"""Compares closures and symbols of `codeskim map` with those of Python's own ast and importlib, on packages from PyPI, and times the maps.

    cargo build --release && python3 tests/repo_map/check.py target/release/codeskim [PACKAGE …]

Downloads source distributions with pip: by default one with a src/ layout, one with deep relative imports, one of over 500 files. 20 roots each.
"""
import ast
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile
import time

PACKAGES = ("flask==3.1.3", "celery==5.6.0", "sqlalchemy==2.0.44")
SOURCE_ROOTS = ("src", "lib", "python", "include")
ROOTS, DEPTH, LARGEST, SLOWEST = 20, 3, 1_000_000, 0.3


def find(name, path):
    """The file of a module by its dotted name, found by importlib below the directories of `path`."""
    for part in name.split("."):
        spec = importlib.machinery.PathFinder.find_spec(part, path)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or [])
        origin = spec.origin if spec.has_location else None
    return origin if origin and origin.endswith(".py") else None


def is_source_root(directory, repository):
    return directory == repository or directory.name in SOURCE_ROOTS and not (directory / "__init__.py").exists()


def package(file, repository):
    """Dotted name of the package that a file is in, and the directory that holds its first part."""
    parts, root = [], file.parent
    while not is_source_root(root, repository):
        parts.insert(0, root.name)
        root = root.parent
    return ".".join(parts), root


def imports(file, repository):
    """Files of the repository that a file imports, by the rules of the study; None if it does not parse."""
    if file.stat().st_size > LARGEST:
        return None
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:
        return None
    own = file.parent
    while own != repository and (own / "__init__.py").exists():
        own = own.parent
    above = [own, *(up for up in own.parents if up.is_relative_to(repository))]
    absolute = [str(up / place) for up in above for place in ("", *SOURCE_ROOTS)]
    name_of_package, top = package(file, repository)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [find(alias.name, absolute) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module, path = node.module, absolute
            if node.level:
                if not name_of_package:  # a script
                    module, path = (node.module, [str(top)]) if node.level == 1 else (None, None)
                else:
                    try:
                        module, path = importlib.util.resolve_name("." * node.level + (node.module or ""), name_of_package), [str(top)]
                    except ImportError:  # beyond the outermost package
                        module, path = None, None
            if path is None:
                continue
            base = find(module, path) if module else next((str(p) for p in [top / "__init__.py"] if p.exists()), None)
            for alias in node.names:
                name = f"{module}.{alias.name}" if module else alias.name
                found.append((None if alias.name == "*" else find(name, path)) or base)
    inside = {pathlib.Path(f).resolve() for f in found if f}
    return {f for f in inside if f.is_relative_to(repository) and f != file}


def closure(root, repository):
    depth, queue, edges = {root: 0}, [root], {}
    for file in queue:
        targets = imports(file, repository)
        if targets is None:
            continue
        edges[file] = targets
        for target in sorted(targets):
            if target not in depth and depth[file] < DEPTH:
                depth[target] = depth[file] + 1
                queue.append(target)
    name = lambda file: file.relative_to(repository).as_posix()
    return {name(file): (depth[file], sorted(name(t) for t in edges[file] if t in edges)) for file in edges}


def symbols(text):
    """{file: [(name, arguments, returns, first docstring line)]} of the top levels in a map."""
    out, file = {}, None
    for line in text.split("\nSymbols:\n")[1].splitlines():
        if line.startswith("- "):
            out[file].append(line[2:])
        elif not line.startswith(" "):
            out[file := line] = []
    return {file: [parsed(line) for line in lines] for file, lines in out.items()}


def parsed(line):
    if "…" in line:  # cut
        return line.replace("async ", "").split()[1].split("(")[0], None
    node = ast.parse(line if line.endswith('"') else f"{line}: pass").body[0]
    return node.name, outline(node, (ast.get_docstring(node, clean=False) or "").strip())


def outline(node, doc):
    returns = getattr(node, "returns", None)
    return type(node).__name__, ast.unparse(node.args) if hasattr(node, "args") else "", returns and ast.unparse(returns), doc


def expected(file):
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            doc = (ast.get_docstring(node) or "").strip().split("\n")[0].strip().replace('"', "'")
            yield node.name, outline(node, doc)


def differs(ours, theirs):
    return len(ours) != len(theirs) or any(a[0] != b[0] or a[1] and a[1] != b[1] for a, b in zip(ours, theirs))


class Server:
    """codeskim as an agent has it: started once, asked over MCP."""

    def __init__(self, binary, repository):
        self.process = subprocess.Popen([binary, "--root", str(repository)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}})
        self.say({"method": "notifications/initialized"})

    def say(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, parameters):
        self.say({"id": 1, "method": method, "params": parameters})
        return json.loads(self.process.stdout.readline())["result"]

    def timed_map(self, path):
        began = time.perf_counter()
        text = self.ask("tools/call", {"name": "repo_map", "arguments": {"roots": [path]}})["content"][0]["text"]
        return time.perf_counter() - began, text

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def run(binary, repository, *arguments):
    return json.loads(subprocess.run([binary, "--root", str(repository), "map", "--json", *arguments], capture_output=True, check=True).stdout)


def check(binary, package, directory):
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", package], cwd=directory, check=True)
    archive = next(pathlib.Path(directory).glob("*.tar.gz"))
    with tarfile.open(archive) as tar:
        tar.extractall(directory, filter="data")
    archive.unlink()
    repository = next(p for p in pathlib.Path(directory).iterdir() if p.is_dir()).resolve()
    files = sorted(p.resolve() for p in repository.rglob("*.py"))
    roots = random.Random(1).sample(files, min(ROOTS, len(files)))
    wrong, times, nodes, compared = 0, [], 0, 0
    for root in roots:
        path = root.relative_to(repository).as_posix()
        mapped = run(binary, repository, path)
        server = Server(binary, repository)
        first, again = server.timed_map(path), server.timed_map(path)
        server.end()
        assert first[1] == again[1] == mapped["map"]["text"], "the server says otherwise"
        times.append((first[0], again[0], len(mapped["closure"]["nodes"])))
        assert mapped["map"]["tokens"] <= 1500, mapped["map"]["tokens"]
        assert mapped == run(binary, repository, path), "another map at the second time"
        ours = {node["path"]: (node["depth"], sorted(node["imports"])) for node in mapped["closure"]["nodes"]}
        theirs = closure(root, repository)
        nodes += len(theirs)
        for path_of_one in sorted(set(ours) | set(theirs)):
            if ours.get(path_of_one) != theirs.get(path_of_one):
                wrong += 1
                print(f"  {path}: {path_of_one}: {ours.get(path_of_one)} here, {theirs.get(path_of_one)} by ast")
                break
        for file, found in symbols(mapped["map"]["text"]).items():
            wanted = list(expected(repository / file))
            compared += len(found)
            if differs(found, wanted[:len(found)]):
                wrong += 1
                print(f"  {file}: {found} here, {wanted[:len(found)]} by ast")
    print(f"{package}: {len(files)} files, {len(roots)} roots, {nodes} files in closures, {compared} symbols, {wrong} differ")
    for when, column in (("first", 0), ("again", 1)):
        ordered = sorted((row[column], row[2]) for row in times)
        a_file = sum(seconds for seconds, _ in ordered) / sum(count for _, count in ordered)
        print(f"  {when}: median {1000 * ordered[len(ordered) // 2][0]:.0f} ms, slowest {1000 * ordered[-1][0]:.0f} ms with {ordered[-1][1]} files, "
              f"{1000 * a_file:.1f} ms a file", flush=True)
    return wrong + (max(row[1] for row in times) > SLOWEST)


def main():
    binary = os.path.abspath(sys.argv[1])
    wrong = 0
    for package in sys.argv[2:] or PACKAGES:
        with tempfile.TemporaryDirectory() as directory:
            wrong += check(binary, package, directory)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
