#!/usr/bin/env python3
"""time.py PROGRAM: how long `codeskim hook claude-code` takes, 200 times each, beside a hook that reads what it is told and does nothing.

The results are files of this repository: one that comes pruned, one that is left alone once it was looked at, and a small one. Prints the median and the 99th of 100."""
import json, os, pathlib, statistics, subprocess, sys, tempfile, time

ROOT, PROGRAM, RUNS = pathlib.Path(__file__).resolve().parents[2], os.path.abspath(sys.argv[1]), 200
ASKED = "Find out what happens when a link with an absolute target points into the root."


def event(path, record, session):
    text = (ROOT / path).read_text(); count = text.count("\n")
    file = {"filePath": str(ROOT / path), "content": text, "numLines": count, "startLine": 1, "totalLines": count}
    return {"session_id": session, "transcript_path": record, "cwd": str(ROOT), "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": str(ROOT / path)},
            "tool_response": {"type": "text", "file": file}, "tool_use_id": "own"}


with tempfile.TemporaryDirectory() as home:
    record = os.path.join(home, "record.jsonl")
    own = {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "own", "name": "Read", "input": {}}]}}
    open(record, "w").write(json.dumps({"type": "user", "message": {"content": ASKED}}) + "\n" + json.dumps(own) + "\n")
    large, related, small = "src/setup/clients.rs", "src/workspace/mod.rs", "src/main.rs"
    arms = {f"nothing ({large})": (["sh", "-c", "cat > /dev/null"], large), f"{large}": ([PROGRAM, "hook", "claude-code"], large), f"{related}": ([PROGRAM, "hook", "claude-code"], related), f"{small}": ([PROGRAM, "hook", "claude-code"], small)}
    for name, (command, path) in arms.items():
        took, answered = [], 0
        for run in range(RUNS):
            told = json.dumps(event(path, record, f"{path.replace('/', '')}{run}"))
            began = time.perf_counter(); done = subprocess.run(command, input=told, capture_output=True, text=True, env=os.environ | {"XDG_STATE_HOME": home}); took.append(1000 * (time.perf_counter() - began))
            answered += bool(done.stdout)
        print(f"{name}: {statistics.median(took):.1f} ms in the median, {sorted(took)[int(0.99 * RUNS)]:.1f} at the 99th of 100; {answered} of {RUNS} pruned")
