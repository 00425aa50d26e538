#!/usr/bin/env python3
"""Real agents with a scripted model, offline once they are installed: what reaches the model must be what codeskim returned.

    python3 tests/agents/run.py target/release/codeskim [--work DIR] [--only NAME ...]

Installs the agents of package.json and requirements.txt into DIR (npm and pip; 3 GB), and for each makes a home directory of its own, lets
`codeskim setup` configure it there, and runs it without a terminal on a copy of this repository's sources. The model calls read_file with a
question, grep with a question, head and search. Exits with 1 if a text did not reach the model as codeskim gave it.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from model import Model

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
QUESTION = "What happens when a link with an absolute target points into the root?"
PLAN = [
    ("read_file", {"path": "src/workspace/mod.rs", "context_focus_question": QUESTION}),
    ("grep", {"pattern": "Error::\\w+", "path": "src", "context_focus_question": "Where is a path outside the roots refused?"}),
    ("head", {"path": "Cargo.toml", "lines": 12}),
    ("search", {"question": QUESTION}),
]
TASK = "Find out what happens when a link with an absolute target points into the root."
LIMIT = 240  # seconds an agent may take


def claude_code(home, url):
    environment = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    return ["claude", "-p", TASK, "--permission-mode", "acceptEdits", "--allowedTools", "mcp__codeskim,Read,Edit,Write,Grep,Bash"], environment


def codex(home, url):
    write(home / ".codex/config.toml", f'''model = "scripted"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
''')
    # Nobody is there to trust the hook, and what the script runs needs no sandbox.
    alone = ["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]
    return ["codex", "exec", "--skip-git-repo-check", *alone, TASK], {"SCRIPTED_KEY": "none"}


def gemini(home, url):
    write(home / ".gemini/settings.json", json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
    environment = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return ["gemini", "-m", "gemini-2.5-flash", "--yolo", "-p", TASK], environment


def qwen(home, url):
    write(home / ".qwen/settings.json", json.dumps({"security": {"auth": {"selectedType": "openai"}}}))
    environment = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"}
    return ["qwen", "--yolo", "-p", TASK], environment


def opencode(home, url):
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{url}/v1", "apiKey": "none"}, "models": {"scripted": {"name": "scripted"}}}
    write(home / ".config/opencode/opencode.json", json.dumps({"provider": {"scripted": provider}, "autoupdate": False}))
    return ["opencode", "run", "-m", "scripted/scripted", TASK], {}


def copilot(home, url):
    environment = {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_MODEL": "gpt-4.1", "COPILOT_PROVIDER_API_KEY": "none"}
    return ["copilot", "-p", TASK, "--allow-all-tools", "--disable-builtin-mcps"], environment


def continue_(home, url):
    config = home / ".continue/config.yaml"
    write(config, f"""name: scripted
version: 1.0.0
schema: v1
models:
  - name: scripted
    provider: openai
    model: scripted
    apiBase: {url}/v1
    apiKey: none
    capabilities: [tool_use]
""")
    return ["cn", "--config", str(config), "--auto", "-p", TASK], {}


def openhands(home, url):
    return ["python", str(HERE / "openhands_agent.py"), url, TASK], {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}


AGENTS = {"claude-code": claude_code, "codex": codex, "gemini": gemini, "qwen": qwen, "opencode": opencode, "copilot": copilot,
          "continue": continue_, "openhands": openhands}
OWN_NAMES = {"continue": "@continuedev/cli", "claude-code": "@anthropic-ai/claude-code", "codex": "@openai/codex", "gemini": "@google/gemini-cli",
             "qwen": "@qwen-code/qwen-code", "opencode": "opencode-ai", "copilot": "@github/copilot"}


def large_file(project):
    """Something that Claude Code's hook stops."""
    path = project / "large.py"
    path.write_text("".join(f"def function_{i}(value):\n    return value + {i}\n\n" for i in range(300)))
    return str(path)


def hook_scenarios(project):
    """What Claude Code does with the hook: plans, and what each result must have in it."""
    path = large_file(project)
    read, change = ("Read", {"file_path": path}), {"file_path": path, "old_string": "    return value + 7\n", "new_string": "    return value - 7\n"}
    stopped, whole, edited = "mcp__codeskim__read_file with a context_focus_question", "return value + 299", "has been updated"
    ours = ("read_file", {"path": "large.py", "context_focus_question": "What does function_7 return?"})
    part = ("Read", {"file_path": path, "offset": 20, "limit": 10})
    back = {"file_path": path, "old_string": change["new_string"], "new_string": change["old_string"]}
    return {
        "a Read is stopped once, and the edit after the second goes through": ([read, read, ("Edit", change)], [stopped, whole, edited]),
        "after a read with codeskim the Read before an edit is not stopped": ([ours, read, ("Edit", back)], ["return value - 7", whole, edited]),
        "a Read of a range is not stopped": ([part, ("Edit", change)], ["return value + 7", edited]),
    }


# How each agent that codeskim has a hook for reads a file, reads lines of it, changes it, writes it, searches and runs a command.
OWN_TOOLS = {
    "claude-code": {
        "read": lambda path: ("Read", {"file_path": path}),
        "part": lambda path: ("Read", {"file_path": path, "offset": 1, "limit": 300}),
        "edit": lambda path, old, new: ("Edit", {"file_path": path, "old_string": old, "new_string": new}),
        "write": lambda path, text: ("Write", {"file_path": path, "content": text}),
        "search": lambda pattern, path: ("Grep", {"pattern": pattern, "path": path, "output_mode": "content"}),
        "run": lambda command: ("Bash", {"command": command, "description": "Run the tests of links"}),
    },
    "codex": {
        "read": lambda path: ("exec_command", {"cmd": f"cat {path}"}),
        "part": lambda path: ("exec_command", {"cmd": f"sed -n '1,300p' {path}", "max_output_tokens": 40000}),
        "edit": lambda path, old, new: ("exec_command", {"cmd": f"apply_patch <<'E'\n*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\nE"}),
        "search": lambda pattern, path: ("exec_command", {"cmd": f"grep -rn '{pattern}' {path}"}),
        "run": lambda command: ("exec_command", {"cmd": command}),
    },
    "copilot": {
        "read": lambda path: ("=view", {"path": path}),
        "part": lambda path: ("=view", {"path": path, "view_range": [1, 170]}),
        "edit": lambda path, old, new: ("=edit", {"path": path, "old_str": old, "new_str": new}),
        "search": lambda pattern, path: ("=bash", {"command": f"grep -rn '{pattern}' {path}", "description": "Search for links"}),
        "run": lambda command: ("=bash", {"command": command, "description": "Run the tests of links"}),
    },
    "gemini": {
        "read": lambda path: ("=read_file", {"file_path": path}),
        "part": lambda path: ("=read_file", {"file_path": path, "start_line": 1, "end_line": 170}),
        "edit": lambda path, old, new: ("=replace", {"file_path": path, "instruction": "Shorten it.", "old_string": old, "new_string": new}),
        "write": lambda path, text: ("=write_file", {"file_path": path, "content": text}),
        "search": lambda pattern, path: ("=grep_search", {"pattern": pattern, "dir_path": path}),
        "run": lambda command: ("=run_shell_command", {"command": command, "description": "Run the tests of links"}),
    },
    "opencode": {
        "read": lambda path: ("=read", {"filePath": path}),
        "part": lambda path: ("=read", {"filePath": path, "offset": 1, "limit": 170}),
        "edit": lambda path, old, new: ("=edit", {"filePath": path, "oldString": old, "newString": new}),
        "write": lambda path, text: ("=write", {"filePath": path, "content": text}),
        # It shows a hundred matches at most, in no order.
        "search": lambda pattern, path: ("=grep", {"pattern": pattern, "path": path, "include": "{links,painter_1*,painter_2*}.py"}),
        "run": lambda command: ("=bash", {"command": command, "description": "Run the tests of links"}),
    },
}
TESTS = "seq -f 'test painter_%g ... ok' 400; echo 'test links ... FAILED'"
# A failing command: Claude Code shows it to no hook that could replace what it printed, and opencode's tool does not say how it ended.
RUNS = {"claude-code": (TESTS, []), "codex": (TESTS + "; exit 3", ["exited with code 3"]), "copilot": (TESTS + "; exit 3", ["exit code 3"]),
        "gemini": (TESTS + "; exit 3", ["Exit Code: 3"]), "opencode": (TESTS + "; exit 3", [])}


def pruned_scenarios(name, project):
    """What an agent does with the hook that prunes: (title, plan, what each result must have in it, the file that is changed and what it must have)."""
    paint = "def paint_{0}(canvas, colour):\n    for x in range(canvas.width):\n        canvas.draw(x, {0}, colour)\n    return canvas\n\n\n"
    links = "def follow_link(root, target):\n    if target.is_absolute() and root in target.parents:\n        return root / target.relative_to(root)\n    return None\n\n\n"
    source = project / "net.py"
    write(source, "".join(map(paint.format, range(40))) + links + "".join(map(paint.format, range(40, 80))))
    path, tools, last, begun = str(source), OWN_TOOLS[name], "canvas.draw(x, 79, colour)", "codeskim shows an excerpt of"
    old, new = "        return root / target.relative_to(root)", "        return target.relative_to(root)"
    for i in range(60):
        write(project / f"paint/painter_{i}.py", "".join(f"def draw_{i}_{j}(canvas, colour):\n    return canvas\n" for j in range(3)))
    about = "a link with an absolute target that points into the root is followed"
    write(project / "paint/links.py", "".join(f"def follow_{i}(link, root):  # {about}\n    return root\n" for i in range(3)))
    read, (run, ended) = tools["read"](path), RUNS[name]
    scenarios = [
        ("a read comes pruned, the second one whole", [read, read], [[begun], [last]], None),
        ("a read of a range is as it was", [tools["part"](path)], [["def paint_9(canvas, colour)"]], None),
        ("an edit after a pruned read is accepted", [read, tools["edit"](path, old, new)], [[begun], []], (source, new)),
        ("a large search comes pruned", [tools["search"]("def ", str(project / "paint"))], [[begun, about]], None),
        ("a run of tests comes pruned, with what failed" + (" and its exit code" if ended else ""), [tools["run"](run)], [[begun, "test links ... FAILED", *ended]], None),
    ]
    if "write" in tools:
        whole = tools["write"](path, "x\n")
        scenarios.append(("what was seen in part is not written, after a second read it is", [read, whole, read, whole], [[begun], ["only an excerpt"], [last], []], (source, "x\n")))
    return scenarios


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def install(work):
    """The agents, once; and the directories of their programs."""
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "node_modules/.package-lock.json").exists():
        shutil.copy(HERE / "package.json", work)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=work, check=True)
    candidates = [*sorted(Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python3")), "python3.13", "python3.12", "python3"]
    python = next((p for p in candidates if runs([p, "-c", "import sys; sys.exit(sys.version_info < (3, 12))"])), None)
    if python and not (work / "venv/installed").exists():
        subprocess.run([python, "-m", "venv", work / "venv"], check=True)
        subprocess.run([work / "venv/bin/pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
        (work / "venv/installed").touch()
    # opencode and Gemini search with ripgrep, and would fetch one; Codex brings its own.
    searchers = sorted({path.parent for path in work.glob("node_modules/@openai/**/codex-path/rg")})
    return [work / "node_modules/.bin", work / "venv/bin", *searchers]


def runs(command):
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False


def version(name, work):
    package = work / "node_modules" / OWN_NAMES[name] / "package.json" if name in OWN_NAMES else None
    return json.loads(package.read_text())["version"] if package else (HERE / "requirements.txt").read_text().strip().split("==")[1]


def returned(codeskim, project):
    """What codeskim itself returns for the plan, over MCP, and its instructions."""
    server = subprocess.Popen([codeskim, "--no-ledger"], cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(number, method, parameters):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}) + "\n")
        server.stdin.flush()
        return json.loads(server.stdout.readline())["result"]

    hello = ask(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "suite", "version": "1"}})
    server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    texts = []
    for number, (name, arguments) in enumerate(PLAN, 1):
        result = ask(number, "tools/call", {"name": name, "arguments": arguments})
        assert not result.get("isError"), result
        texts.append(result["content"][0]["text"])
    server.stdin.close()
    server.wait()
    assert "⋮" in texts[0] and "⋮" in texts[1], "both must be pruned"
    return texts, hello["instructions"]


def compare(expected, seen):
    """How a text reached the model."""
    if seen is None:
        return "not called"
    if seen.strip() == expected.strip():
        return "same"
    if expected.strip() in seen:
        return f"same, in {len(seen) - len(expected)} characters of the agent's own"
    if json.dumps(expected, ensure_ascii=False)[1:-1] in seen or json.dumps(expected)[1:-1] in seen:
        return "same, as JSON"
    return "DIFFERENT"


class Place:
    """A home directory and a project of their own, with an agent set up in them."""

    def __init__(self, folder, name, codeskim, directories, *options):
        self.home, self.project, self.model = Path(folder, "home"), Path(folder, "project"), Model()
        self.home.mkdir()
        shutil.copytree(REPOSITORY / "src", self.project / "src")
        shutil.copy(REPOSITORY / "Cargo.toml", self.project)
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)
        foreign = ("CODESKIM_", "XDG_", "ANTHROPIC_", "OPENAI_", "CLAUDE")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        path = os.pathsep.join([*map(str, directories), self.environment["PATH"]])
        self.environment |= {"HOME": str(self.home), "PWD": str(self.project), "PATH": path, "NO_COLOR": "1"}
        self.command, environment = AGENTS[name](self.home, self.model.url)
        self.environment |= environment
        self.setup = self.output([codeskim, "setup", name, "--yes", *options])  # beside what is already in the agent's configuration

    def output(self, command):
        agent = subprocess.Popen(command, cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        try:
            return agent.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            os.killpg(agent.pid, signal.SIGKILL)  # with all that it has started
            return f"took more than {LIMIT} s\n{agent.communicate()[0]}"

    def follow(self, plan, log):
        """Runs the agent with the model on a plan; what came back of each call, as the model got it."""
        self.model.follow(plan)
        output = self.output(self.command)
        log.write_text(f"{self.setup}\n{output}\n{self.model.missing}\n{self.model.paths}\n" + "\n---\n".join(self.model.seen))
        return self.model.seen + [None] * (len(plan) - len(self.model.seen))


def check_agent(name, codeskim, directories, work):
    """A row of the table, and whether all is well."""
    with tempfile.TemporaryDirectory() as folder:
        place, began = Place(folder, name, codeskim, directories), time.time()
        expected, instructions = returned(codeskim, place.project)
        found = [compare(text, got) for text, got in zip(expected, place.follow(PLAN, work / f"{name}.log"))]
        told = "told" if json.dumps(instructions)[1:60] in place.model.told else "not told"
        return [name, version(name, work), *found, told, f"{time.time() - began:.0f} s"], all(how.startswith("same") for how in found)


def check_hook(codeskim, directories, work):
    """Claude Code with the hook: what is stopped, and that no edit is."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, "claude-code", codeskim, directories, "--hook=steer")
        for number, (title, (plan, wanted)) in enumerate(hook_scenarios(place.project).items()):
            seen = place.follow(plan, work / f"hook-{number}.log")
            good = [got is not None and text in got for text, got in zip(wanted, seen)]
            yield ["claude-code --hook=steer", title, "yes" if all(good) else f"NO: {good}"], all(good)


def check_pruning(name, codeskim, directories, work):
    """An agent with the hook that prunes: each plan in a project of its own."""
    for number in range(len(OWN_TOOLS["claude-code"])):
        with tempfile.TemporaryDirectory() as folder:
            place = Place(folder, name, codeskim, directories, "--hook")
            scenarios = pruned_scenarios(name, place.project)
            if number >= len(scenarios):
                return
            title, plan, wanted, changed = scenarios[number]
            seen = place.follow(plan, work / f"{name}-hook-{number}.log")
            good = [got is not None and all(text in got for text in texts) for got, texts in zip(seen, wanted)]
            if changed:
                good.append(changed[1] in changed[0].read_text())
            yield [f"{name} --hook", title, "yes" if all(good) else f"NO: {good}"], all(good)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("codeskim", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--work", type=lambda path: Path(path).resolve(), default=REPOSITORY / "target/agents")
    parser.add_argument("--only", nargs="*", choices=AGENTS, default=list(AGENTS))
    options = parser.parse_args()
    directories = install(options.work)
    print("agent | version | read_file | grep | head | search | instructions | time")
    rows = [lambda name=name: [check_agent(name, options.codeskim, directories, options.work)] for name in options.only]
    if "claude-code" in options.only:
        rows.append(lambda: check_hook(options.codeskim, directories, options.work))
    rows += [lambda name=name: check_pruning(name, options.codeskim, directories, options.work) for name in options.only if name in OWN_TOOLS]
    failed = False
    for make in rows:
        for row, good in make():
            print(" | ".join(row), flush=True)
            failed |= not good
    sys.exit(failed)


if __name__ == "__main__":
    main()
