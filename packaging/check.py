#!/usr/bin/env python3
"""Installs the packages that release.py has made, each in a clean place, and lets each one prune a real file and answer over MCP.

    python3 packaging/check.py OUT
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
FILE = "src/workspace/mod.rs"
QUESTION = "What happens when a link with an absolute target points into the root?"


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options).stdout


def use(command, environment=None):
    """A pruned read in the shell, and the same over MCP."""
    options = {"cwd": REPOSITORY, "env": {**os.environ, **(environment or {}), "CODESKIM_LEDGER": "off"}}
    version = run(*command, "--version", **options).strip()
    shown = run(*command, "read", FILE, "--focus", QUESTION, **options)
    assert "⋮" in shown.splitlines()[0], shown
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
    call = {"name": "read_file", "arguments": {"path": FILE, "context_focus_question": QUESTION}}
    server = subprocess.Popen([*map(str, command), "--root", str(REPOSITORY)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
    messages = [{"id": 1, "method": "initialize", "params": hello}, {"method": "notifications/initialized"}, {"id": 2, "method": "tools/call", "params": call}]
    answers = []
    for message in messages:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
        if "id" in message:
            answers.append(json.loads(server.stdout.readline()))
    server.stdin.close()
    assert server.wait(10) == 0
    text = answers[1]["result"]["content"][0]["text"]
    assert text.splitlines()[1:] == shown.splitlines()[1:], text
    return f"{version}: a pruned read of {len(shown.splitlines())} lines in the shell and over MCP"


def mcpb(path, place):
    with zipfile.ZipFile(path) as bundle:
        bundle.extractall(place)
    manifest = json.loads((place / "manifest.json").read_text())
    program = Path(manifest["server"]["mcp_config"]["command"].replace("${__dirname}", str(place)))
    program.chmod(0o755)  # zipfile drops the mode, which clients restore
    return [program]


def npm(paths, place):
    (place / "package.json").write_text("{}")
    run("npm", "install", "--no-audit", "--no-fund", "--omit=optional", *paths, cwd=place)
    return [place / "node_modules/.bin/codeskim"]


def wheel(path, place):
    run(sys.executable, "-m", "venv", place / "venv")
    run(place / "venv/bin/pip", "install", "-q", "--no-index", path)
    return [place / "venv/bin/codeskim"]


def main():
    out = Path(sys.argv[1]).resolve()
    version = re.search(r'^version = "(.+)"', (REPOSITORY / "Cargo.toml").read_text(), re.MULTILINE)[1]
    kinds = [
        ("mcpb", mcpb, next(out.glob(f"codeskim-{version}-*.mcpb"))),
        ("npm", npm, sorted(out.glob(f"codeskim*-{version}.tgz"))),
        ("wheel", wheel, next(out.glob(f"codeskim-{version}-*.whl"))),
    ]
    for name, install, package in kinds:
        with tempfile.TemporaryDirectory() as folder:
            used = use(install(package, Path(folder)))
            assert used.startswith(f"codeskim {version}:"), used
            print(f"{name}: {used}", flush=True)


if __name__ == "__main__":
    main()
