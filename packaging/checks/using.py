"""Uses a program as people and clients do."""

import json
import os
import shutil
import subprocess
import threading

from about import REPOSITORY, VERSION

from .table import Skipped

FILE = "src/workspace/mod.rs"
QUESTION = "What happens when a link with an absolute target points into the root?"
SECONDS = 120


def run(*command, **options):
    options = {"check": True, "timeout": 300, **options}
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, encoding="utf-8", **options)


def tool(name):
    """The path of a program of this machine."""
    path = shutil.which(name)
    if not path:
        raise Skipped(f"there is no {name}")
    return path


def use(command, environment=None, options=("--root", ".")):
    """A pruned read in the shell, and the same over MCP."""
    command = [str(part) for part in command]
    place = {"cwd": REPOSITORY, "env": {**os.environ, **(environment or {}), "CODESKIM_LEDGER": "off"}}
    version = run(*command, "--version", **place).stdout.strip()
    assert version == f"codeskim {VERSION}", version
    shown = run(*command, "read", FILE, "--focus", QUESTION, **place).stdout
    assert "⋮" in shown.splitlines()[0], shown
    answered = ask([*command, *options], place)
    assert answered.splitlines()[1:] == shown.splitlines()[1:], answered
    return f"ok, a read of {len(shown.splitlines())} lines"


def ask(command, place):
    """What the server answers to the same read."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
    call = {"name": "read_file", "arguments": {"path": FILE, "context_focus_question": QUESTION}}
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8", **place)
    end = threading.Timer(SECONDS, server.kill)
    end.start()
    messages = [{"id": 1, "method": "initialize", "params": hello}, {"method": "notifications/initialized"}, {"id": 2, "method": "tools/call", "params": call}]
    answers = []
    for message in messages:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
        if "id" in message:
            answers.append(json.loads(server.stdout.readline()))
    server.stdin.close()
    assert server.wait(SECONDS) == 0, "the server ends with an error"
    end.cancel()
    return answers[1]["result"]["content"][0]["text"]
