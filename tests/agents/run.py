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
    return ["codex", "exec", "--skip-git-repo-check", TASK], {"SCRIPTED_KEY": "none"}


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


def pruned_scenarios(project):
    """What Claude Code does with the hook that prunes."""
    path, last = str(project / "src/tools/read_file.rs"), (project / "src/tools/read_file.rs").read_text().rstrip().splitlines()[-4]
    read, begun = ("Read", {"file_path": path}), "codeskim shows an excerpt of this file"
    for i in range(20):
        write(project / f"paint/painter_{i}.py", "".join(f"def draw_{i}_{j}(canvas, colour):\n    return canvas\n" for j in range(11)))
    write(project / "links.py", "def follow_absolute_link(root, target):\n    return root\n")
    change = {"file_path": path, "old_string": "a text file, lines of it", "new_string": "one text file, lines of it"}
    replaced = ("Write", {"file_path": path, "content": "x"})
    long = "for i in $(seq 400); do echo \"module_$i compiled by the painter\"; done; echo 'error: a link leads out of the root'"
    return {
        "a Read comes pruned, and the edit after it goes through": ([read, ("Edit", change)], [begun, "has been updated"]),
        "a Read of a range comes as it is": ([("Read", {"file_path": path, "offset": 1, "limit": 300})], ["use schemars::JsonSchema"]),
    }, {
        "the second Read is whole": ([read, read], [begun, last]),
    }, {
        "what was seen in part is not written": ([read, replaced, read, replaced], [begun, "only an excerpt", last, "has been updated"]),
    }, {
        "a large output comes pruned, what went wrong stays": ([("Bash", {"command": long, "description": "Compile the links"})], ["error: a link leads out of the root"]),
        "a large search comes pruned": ([("Grep", {"pattern": "def ", "path": str(project), "glob": "*.py", "output_mode": "content"})], ["follow_absolute_link"]),
    }


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
    return [work / "node_modules/.bin", work / "venv/bin"]


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


def check_gemini(codeskim, directories, work):
    """Gemini CLI with the hook: a read, a failing command, a range, a second read."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, "gemini", codeskim, directories, "--hook")
        path, begun = str(place.project / "src/tools/read_file.rs"), "codeskim shows an excerpt of this"
        read = ("=read_file", {"file_path": path})
        last, tests = (place.project / "src/tools/read_file.rs").read_text().rstrip().splitlines()[-4], "seq -f 'test painter_%g ... ok' 400; echo 'test links ... FAILED'; exit 3"
        change = ("=replace", {"file_path": path, "instruction": "Shorten it.", "old_string": "a text file, lines of it", "new_string": "one text file, lines of it"})
        for number, (title, plan, wanted) in enumerate((
            ("a read comes pruned, the second one whole", [read, read], [begun, last]),
            ("a failing run of tests comes pruned, with what failed and its exit code", [("=run_shell_command", {"command": tests, "description": "Run the tests of links"})], ["test links ... FAILED"]),
            ("a read of a range is as it was", [("=read_file", {"file_path": path, "start_line": 2, "end_line": 170})], ["use schemars::JsonSchema"]),
            ("an edit after a pruned read is accepted", [read, change], [begun, "Successfully modified"]),
        )):
            seen = place.follow(plan, work / f"gemini-hook-{number}.log")
            good = [got is not None and text in got and ("failing" not in title or "codeskim shows" in got and "Exit Code: 3" in got) for text, got in zip(wanted, seen)]
            yield ["gemini --hook", title, "yes" if all(good) else f"NO: {good}"], all(good)


def check_pruning(codeskim, directories, work):
    """Claude Code with the hook that prunes: each group of plans in a project of its own."""
    for group in range(4):
        with tempfile.TemporaryDirectory() as folder:
            place = Place(folder, "claude-code", codeskim, directories, "--hook")
            for number, (title, (plan, wanted)) in enumerate(pruned_scenarios(place.project)[group].items()):
                seen = place.follow(plan, work / f"pruned-{group}-{number}.log")
                good = [got is not None and text in got and ("pruned, what" not in title and "search" not in title or "codeskim shows" in got) for text, got in zip(wanted, seen)]
                yield ["claude-code --hook", title, "yes" if all(good) else f"NO: {good}"], all(good)


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
        rows.append(lambda: check_pruning(options.codeskim, directories, options.work))
    if "gemini" in options.only:
        rows.append(lambda: check_gemini(options.codeskim, directories, options.work))
    failed = False
    for make in rows:
        for row, good in make():
            print(" | ".join(row), flush=True)
            failed |= not good
    sys.exit(failed)


if __name__ == "__main__":
    main()
