#!/usr/bin/env python3
"""outputs.py PROGRAM [FILE.jsonl...]: what `codeskim hook claude-code` leaves out of outputs of programs, and whether a line that says what failed is ever among it.

The outputs of 150 lines and more are those of training/labels (logs.jsonl, outputs.jsonl) and of outputs.jsonl here, which nothing was tuned on, each once for every question, as if the agent had said
that. What a failure looks like is told here for each format, in other words than the program has. Prints outputs, lines and characters, failure lines lost, and the share of
the lines shown that answer the question. Exits with 1 if a failure line is lost."""
import collections, json, os, pathlib, re, subprocess, sys, tempfile

ROOT, PROGRAM = pathlib.Path(__file__).resolve().parents[2], os.path.abspath(sys.argv[1])
FILES = sys.argv[2:] or [*(ROOT / "training/labels" / f"{name}.jsonl" for name in ("logs", "outputs")), ROOT / "tests/hook/outputs.jsonl"]
FORMATS = {
    "pytest": r"^E   |^(FAILED|ERROR) \S+::|^=+ .*\b\d+ (failed|passed|error).* =+$|^_{3,} \S+ _{3,}$",
    "cargo": r"^error(\[E\d+\])?: |^test .* \.\.\. FAILED$|^thread '.*' panicked|^test result: ",
    "go test": r"^\s*--- FAIL|^FAIL\b|^panic: ",
    "jest, vitest, mocha": r"^\s*(✕|✗|×|●) |^Tests: +\d|^\s+\d+ failing$",
    "tsc": r"error TS\d+:", "gcc, clang": r":\d+:\d+: (fatal )?error: |undefined reference to|^make(\[\d+\])?: \*\*\*",
    "eslint": r"^\s+\d+:\d+\s+error\s|^✖ \d+ problem", "npm": r"^npm (ERR!|error)", "pip": r"^ERROR: ", "git": r"^(fatal|error|CONFLICT)[: ]",
    "docker, kubectl": r"\b(CrashLoopBackOff|ImagePullBackOff|ErrImagePull|OOMKilled|FailedScheduling|FailedMount)\b|^ERROR: |^failed to solve",
    "maven, gradle": r"^\[ERROR\]|^BUILD FAILED|^FAILURE: ", "Python": r"^\w+(Error|Exception)(: |$)|^Traceback \(most", "logs": r"\b(FATAL|CRITICAL|SEVERE)\b",
}
figures, lost = collections.defaultdict(lambda: [0, 0, 0]), []
asked = pruned = whole = left = needed = shown = 0
for row in (json.loads(line) for name in FILES for line in open(name)):
    lines = row.get("text", [])
    if len(lines) < 150: continue
    failures = {format: [i for i, line in enumerate(lines, 1) if re.search(pattern, line)] for format, pattern in FORMATS.items()}
    for question in row["questions"]:
        keep = {n for part in filter(None, question["keep"].split(",")) for a, _, b in [part.partition("-")] for n in range(int(a), int(b or a) + 1)}
        with tempfile.TemporaryDirectory() as home:
            record = os.path.join(home, "record.jsonl")
            of = lambda *content: json.dumps({"type": "assistant", "message": {"content": list(content)}}) + "\n"
            open(record, "w").write(of({"type": "text", "text": question["question"]}) + of({"type": "tool_use", "id": "own", "name": "Bash", "input": {}}))
            event = {"session_id": "x", "transcript_path": record, "cwd": home, "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "run"}, "tool_use_id": "own",
                     "tool_response": {"stdout": "\n".join(lines), "stderr": "", "interrupted": False, "isImage": False}}
            said = subprocess.run([PROGRAM, "--no-ledger", "hook", "claude-code"], input=json.dumps(event), capture_output=True, text=True, env=os.environ | {"XDG_STATE_HOME": home}).stdout
        asked += 1; size = sum(len(line) + 1 for line in lines); whole += size; kept = set(range(1, len(lines) + 1)); cost = size
        if said:
            text = json.loads(said)["hookSpecificOutput"]["updatedToolOutput"]["stdout"]; marker = re.search(r"(⋮+) = lines left out", text)[1]
            pruned += 1; cost = len(text); at, kept = 1, set()
            for line in text.split("\n")[2:]:
                gap = re.fullmatch(re.escape(marker) + r" (\d+)(?:-(\d+))?(?::.*)?", line)
                if gap: at = int(gap[2] or gap[1]) + 1
                else: kept.add(at); at += 1
        left += size - cost; needed += len(keep); shown += len(keep & kept)
        for format, numbers in failures.items():
            gone = [n for n in numbers if n not in kept]; one = figures[format]
            one[0] += bool(numbers); one[1] += len(numbers); one[2] += len(gone); lost += [(row["id"] if "id" in row else row["package"], format, n, lines[n - 1][:120]) for n in gone]
print(f"{asked} questions about outputs, {pruned} pruned; {100 * left / whole:.1f} % of the characters left out; {100 * shown / max(1, needed):.1f} % of the lines that answer shown")
for format, (outputs, count, gone) in figures.items(): print(f"{format}: {count} failure lines in {outputs} outputs, {gone} lost")
for gone in lost[:20]: print("lost:", *gone)
sys.exit(bool(lost))
