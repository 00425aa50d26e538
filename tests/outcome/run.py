#!/usr/bin/env python3
"""run.py PROGRAM TASKS.jsonl --agent claude-code|codex|gemini [--arms alone tools hook both] [--work DIR] [--scripted]: what codeskim changes for an agent.

A task is {"id", "root": a directory, "task": what is asked}. Each task is given to the agent once in each arm, on a copy of its directory and with a home directory of its
own: the agent alone; with codeskim's tools; with the hook that prunes what its own tools return; with both. The agent is the one on the PATH, and its key is taken from
the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY). Printed for each arm: tokens and cost as the agent reports them, calls of tools, and characters of their
results from its own records. What it answered is kept in WORK/ARM/ID.md, to be judged, and what was measured in WORK/results.jsonl.

--scripted runs a model that reads some files and says that it is done, without a network: that is the test of this script, and its figures mean nothing. Only Python's own
library is needed."""
import argparse, collections, json, os, pathlib, shutil, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "agents"))
from model import Model

LIMIT = 1800  # seconds a task may take
PARTS = ("input", "cached", "output", "cost", "calls", "characters", "seconds")


def claude_code(task, home, model):
    environment = {"CLAUDE_CONFIG_DIR": str(home / ".claude"), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    if model: environment |= {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
    return ["claude", "-p", task, "--output-format", "json", "--permission-mode", "acceptEdits", "--allowedTools", "mcp__codeskim,Read,Edit,Write,Grep,Glob,Bash"], environment


def codex(task, home, model):
    config = home / ".codex/config.toml"; config.parent.mkdir(parents=True, exist_ok=True)
    if model:
        config.write_text(f'model = "scripted"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\nname = "scripted"\nbase_url = "{model.url}/v1"\nenv_key = "SCRIPTED_KEY"\nwire_api = "responses"\n')
    return ["codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "-s", "workspace-write", task], {"CODEX_HOME": str(home / ".codex"), "SCRIPTED_KEY": "none"}


def gemini(task, home, model):
    config = home / ".gemini/settings.json"; config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
    environment = {"GEMINI_CLI_TRUST_WORKSPACE": "true"} | ({"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.url} if model else {})
    return ["gemini", *(["-m", "gemini-2.5-flash"] if model else []), "--yolo", "--output-format", "json", "-p", task], environment


AGENTS = {"claude-code": claude_code, "codex": codex, "gemini": gemini}
READS = {"claude-code": lambda path: ("=Read", {"file_path": path}), "gemini": lambda path: ("=read_file", {"file_path": path}), "codex": lambda path: ("exec_command", {"cmd": f"cat {path}"})}
RECORDS = {"claude-code": (".claude", "*.jsonl"), "gemini": (".gemini", "session-*.jsonl"), "codex": (".codex/sessions", "*.jsonl")}


def objects(text):
    """The JSON objects of an output: one of many lines, or one a line."""
    try: return [json.loads(text[text.index("{") :])]
    except ValueError: pass
    found = []
    for line in text.splitlines():
        try: found.append(json.loads(line))
        except ValueError: continue
    return [one for one in found if isinstance(one, dict)]


def text_of(content):
    if isinstance(content, str): return content
    if isinstance(content, list): return "".join(map(text_of, content))
    if isinstance(content, dict): return text_of(next((content[key] for key in ("text", "output", "content", "aggregated_output", "functionResponse", "response") if key in content), ""))
    return ""


def reported(agent, output):
    """(answer, {tokens and cost}) as the agent says."""
    said, answer = collections.Counter(), ""
    for one in objects(output):
        if agent == "claude-code":
            usage = one.get("usage", {}); answer = one.get("result", answer)
            said.update(input=usage.get("input_tokens", 0) + usage.get("cache_creation_input_tokens", 0), cached=usage.get("cache_read_input_tokens", 0), output=usage.get("output_tokens", 0), cost=one.get("total_cost_usd", 0))
        elif agent == "codex":
            usage, item = one.get("usage", {}), one.get("item", {})
            said.update(input=usage.get("input_tokens", 0) - usage.get("cached_input_tokens", 0), cached=usage.get("cached_input_tokens", 0), output=usage.get("output_tokens", 0))
            if one.get("type") == "item.completed" and item.get("type") == "agent_message": answer = item.get("text", answer)
        else:
            answer = one.get("response", answer)
            for model in one.get("stats", {}).get("models", {}).values():
                tokens = model.get("tokens", {}); said.update(input=tokens.get("prompt", 0) - tokens.get("cached", 0), cached=tokens.get("cached", 0), output=tokens.get("candidates", 0) + tokens.get("thoughts", 0))
    return answer, said


def recorded(agent, home):
    """Calls and characters of results, from the agent's own records."""
    said, (directory, names) = collections.Counter(), RECORDS[agent]
    for path in (home / directory).rglob(names):
        for line in path.open(errors="replace"):
            try: entry = json.loads(line)
            except ValueError: continue
            if agent == "codex": items = [{"content": entry["payload"].get("output")}] if str(entry.get("payload", {}).get("type")).endswith("call_output") else []
            elif entry.get("type") != "user": continue
            else: items = (entry.get("message") or {}).get("content") if agent == "claude-code" else entry.get("content")
            for item in items if isinstance(items, list) else []:
                if isinstance(item, dict) and (agent == "codex" or item.get("type") == "tool_result" or "functionResponse" in item): said.update(calls=1, characters=len(text_of(item.get("content") if "content" in item else item)))
    return said


def without_tools(agent, home):
    """Takes codeskim's server out of a configuration that has its hook, too."""
    for path in (home / ".claude/.claude.json", home / ".claude.json", home / ".gemini/settings.json"):
        if path.exists() and "mcpServers" in (settings := json.loads(path.read_text())):
            settings["mcpServers"].pop("codeskim", None); path.write_text(json.dumps(settings))
    if (path := home / ".codex/config.toml").exists(): path.write_text(path.read_text().partition("[mcp_servers.codeskim]")[0])  # it comes last


def run(row, arm, a, model):
    with tempfile.TemporaryDirectory() as folder:
        home, project = pathlib.Path(folder, "home"), pathlib.Path(folder, "project"); home.mkdir()
        shutil.copytree(row["root"], project, symlinks=True)
        command, environment = AGENTS[a.agent](row["task"], home, model)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("CODESKIM_", "XDG_", "CLAUDE_CODE"))} | {"HOME": str(home), "PWD": str(project), "NO_COLOR": "1"} | environment
        options = ["--hook"] if arm in ("hook", "both") else []
        if arm != "alone": subprocess.run([a.program, "setup", a.agent, "--yes", *options], cwd=project, env=environment, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        if arm == "hook": without_tools(a.agent, home)
        if model:
            files = sorted(p for p in project.rglob("*") if p.is_file() and p.stat().st_size > 6000 and p.suffix in (".rs", ".py"))[:6]
            model.follow([READS[a.agent](str(path)) for path in files])
        began = time.time()
        try: done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=LIMIT).stdout
        except subprocess.TimeoutExpired: done = ""
        answer, said = reported(a.agent, done); said.update(recorded(a.agent, home)); said["seconds"] = time.time() - began
        (a.work / arm).mkdir(parents=True, exist_ok=True); (a.work / arm / f"{row['id']}.md").write_text(answer or done)
        return {"id": row["id"], "arm": arm, "answered": bool(answer), **{part: said[part] for part in PARTS}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", type=os.path.abspath); parser.add_argument("tasks"); parser.add_argument("--agent", choices=AGENTS, required=True); parser.add_argument("--arms", nargs="+", default=["alone", "tools", "hook", "both"])
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("outcome")); parser.add_argument("--scripted", action="store_true"); a = parser.parse_args()
    tasks, model = list(map(json.loads, open(a.tasks))), Model() if a.scripted else None
    a.work.mkdir(parents=True, exist_ok=True); results = []
    for row in tasks:
        for arm in a.arms:
            results.append(run(row, arm, a, model)); open(a.work / "results.jsonl", "a").write(json.dumps(results[-1]) + "\n")
    print(f"| arm | tasks | answered | {' | '.join(('input tokens', 'from cache', 'output tokens', 'cost in dollars', 'calls', 'characters of results', 'seconds'))} |\n|{'---|' * 10}")
    for arm in a.arms:
        own = [one for one in results if one["arm"] == arm]
        print(f"| {arm} | {len(own)} | {sum(one['answered'] for one in own)} | " + " | ".join(f"{sum(one[part] for one in own):.2f}" if part in ("cost", "seconds") else str(round(sum(one[part] for one in own))) for part in PARTS) + " |")


main()
