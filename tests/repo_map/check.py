"""Compares closures of `codeskim map` with those of Python's own ast and importlib, on packages from PyPI.

    cargo build --release && python3 tests/repo_map/check.py target/release/codeskim [PACKAGE …]

Downloads source distributions with pip: by default one with a src/ layout, one with deep relative imports, one of over 500 files. 20 roots each.
"""
import ast
import importlib.machinery
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
ROOTS, DEPTH, LARGEST = 20, 3, 1_000_000


def find(name, path):
    """The file of a module by its dotted name, found by importlib below the directories of `path`."""
    for part in name.split("."):
        spec = importlib.machinery.PathFinder.find_spec(part, path)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or [])
        origin = spec.origin if spec.has_location else None
    return origin if origin and origin.endswith(".py") else None


def imports(file, repository):
    """Files of the repository that a file imports, by the rules of the study; None if it does not parse."""
    if file.stat().st_size > LARGEST:
        return None
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:
        return None
    own = file.parent
    while (own / "__init__.py").exists() and own != repository:
        own = own.parent
    absolute = [str(own), *(str(repository / place) for place in ("", "src", "lib", "python", "include"))]
    found = []

    def module(name, path):
        for place in path:
            origin = find(name, [place])
            if origin:
                return origin
        return None

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [module(alias.name, absolute) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = file.parent
            for _ in range(node.level - 1):
                package = package.parent
            path = [str(package)] if node.level else absolute
            base = module(node.module, path) if node.module else next((str(p) for p in [package / "__init__.py"] if p.exists()), None)
            for alias in node.names:
                name = f"{node.module}.{alias.name}" if node.module else alias.name
                found.append(None if alias.name == "*" else module(name, path))
                if found[-1] is None:
                    found[-1] = base
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


def check(binary, package, directory):
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", package], cwd=directory, check=True)
    archive = next(pathlib.Path(directory).glob("*.tar.gz"))
    with tarfile.open(archive) as tar:
        tar.extractall(directory, filter="data")
    archive.unlink()
    repository = next(p for p in pathlib.Path(directory).iterdir() if p.is_dir()).resolve()
    files = sorted(p.resolve() for p in repository.rglob("*.py"))
    roots = random.Random(1).sample(files, min(ROOTS, len(files)))
    wrong, slowest, nodes = 0, 0.0, 0
    for root in roots:
        began = time.perf_counter()
        said = subprocess.run([binary, "--root", str(repository), "map", "--json", root.relative_to(repository).as_posix()], capture_output=True, check=True).stdout
        slowest = max(slowest, time.perf_counter() - began)
        mapped = json.loads(said)
        ours = {node["path"]: (node["depth"], sorted(node["imports"])) for node in mapped["closure"]["nodes"]}
        theirs = closure(root, repository)
        nodes += len(theirs)
        assert mapped["map"]["tokens"] <= 1500, mapped["map"]["tokens"]
        if ours != theirs:
            wrong += 1
            for path in sorted(set(ours) | set(theirs)):
                if ours.get(path) != theirs.get(path):
                    print(f"  {root.name}: {path}: {ours.get(path)} here, {theirs.get(path)} by ast")
                    break
    print(f"{package}: {len(files)} files, {len(roots)} roots, {nodes} files in closures, {wrong} closures differ; slowest map {slowest * 1000:.0f} ms")
    return wrong


def main():
    binary = os.path.abspath(sys.argv[1])
    wrong = 0
    for package in sys.argv[2:] or PACKAGES:
        with tempfile.TemporaryDirectory() as directory:
            wrong += check(binary, package, directory)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
