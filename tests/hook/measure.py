#!/usr/bin/env python3
"""measure.py PROGRAM [--cache DIR] [--examples N] [--only TOOL]: what `codeskim hook claude-code` hides of what an agent needed.

pairs.jsonl has what agents said and called in real repositories that are nowhere else in training or validation, and the lines of the result that their next steps rested on, noted by
whoever played the agent: what is said and thought was written before the result was seen. Each call is put to the hook with a record of the session up to there. Printed for
each tool and for two halves of the packages: how many results were pruned, the characters left out, the share of needed lines shown, and in how many results any of them was hidden; by the question
that the hook infers, by the perfect question (written in hindsight, in the place of all that was said), and without pruning. What is shown is checked
against the result line by line. DIR is the cache of training/fetch.py. Only Python's own library is needed."""
import argparse, collections, json, os, pathlib, re, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "training"))
from fetch import package_dir

a = argparse.ArgumentParser(); a.add_argument("program"); a.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "codeskim-training"); a.add_argument("--examples", type=int, default=0); a.add_argument("--only"); a = a.parse_args()


def search(root, pattern, path="", glob=None, context=0):
    """What Claude Code's Grep prints with content and line numbers: [(path, line, text)]; none is a mark between runs."""
    wanted, found = re.compile(pattern), []
    start = root / (path or "")
    files = [start] if start.is_file() else sorted(p for p in start.rglob("*") if p.is_file() and (not glob or p.match(glob) or any(p.match(g) for g in expand(glob))))
    for file in files:
        try: lines = file.read_text().split("\n")
        except (UnicodeDecodeError, OSError): continue
        name, last = str(file.relative_to(root)), None
        shown = sorted({j for i, line in enumerate(lines) if wanted.search(line) for j in range(max(0, i - context), min(len(lines), i + context + 1))})
        for i in shown:
            if context and found and last != i - 1: found.append(None)
            found.append((name, i + 1, lines[i])); last = i
    return found


def expand(glob):
    found = re.match(r"(.*)\{([^}]*)\}(.*)", glob)
    return [found[1] + part + found[3] for part in found[2].split(",")] if found else [glob]


def numbers(text):
    return {n for part in filter(None, text.replace(" ", "").split(",")) for first, _, last in [part.partition("-")] for n in range(int(first), int(last or first) + 1)}


def result(pair, root):
    """(lines of the result, numbers of those needed, input, response); none where it cannot be had here."""
    given = pair["input"]
    if pair["tool"] == "Read":
        path = root / given["file_path"]; text = path.read_text(errors="replace"); lines = text.split("\n")
        count = len(lines)
        response = {"type": "text", "file": {"filePath": str(path), "content": text, "numLines": count, "startLine": 1, "totalLines": count}}
        return lines, numbers(pair["needed"]), {"file_path": str(path)}, response
    if pair["tool"] == "Grep":
        found = search(root, given["pattern"], given.get("path"), given.get("glob"), int(given.get("-C") or given.get("-A") or 0))
        lines = ["--" if hit is None else f"{hit[0]}:{hit[1]}:{hit[2]}" for hit in found]
        needed = {i + 1 for i, hit in enumerate(found) if hit and f"{hit[0]}:{hit[1]}" in set(pair["needed"])}
        return lines, needed, given, {"mode": "content", "numFiles": 1, "filenames": [], "content": "\n".join(lines), "numLines": len(lines)}
    done = subprocess.run(["sh", "-c", given["command"]], cwd=root, capture_output=True, text=True, errors="replace")
    lines = done.stdout.rstrip("\n").split("\n")
    return lines, {n for n in numbers(pair["needed"]) if n <= len(lines)}, given, {"stdout": "\n".join(lines), "stderr": done.stderr, "interrupted": False, "isImage": False}


def record(pair, given, root, perfect):
    of = lambda role, *content: json.dumps({"type": role, "message": {"role": role, "content": list(content)}})
    lines = [of("user", {"type": "text", "text": "-" if perfect else pair["task"]})]
    for i, call in enumerate(pair["before"]):
        path = call["input"].get("file_path"); earlier = call["input"] | ({"file_path": str(root / path)} if path else {})
        lines += [of("assistant", {"type": "tool_use", "id": f"b{i}", "name": call["tool"], "input": earlier}), of("user", {"type": "tool_result", "tool_use_id": f"b{i}", "content": "…"})]
    if not perfect and pair["thinking"]: lines.append(of("assistant", {"type": "thinking", "thinking": pair["thinking"]}))
    said = pair["question"] if perfect else pair["said"]
    if said: lines.append(of("assistant", {"type": "text", "text": said}))
    return "\n".join(lines + [of("assistant", {"type": "tool_use", "id": "own", "name": pair["tool"], "input": given})]) + "\n"


def shown(answer, lines, pair):
    """The numbers of the lines that an answer shows; all where there is none."""
    if not answer.strip(): return set(range(1, len(lines) + 1)), sum(len(line) + 1 for line in lines)
    new = json.loads(answer)["hookSpecificOutput"]["updatedToolOutput"]
    text = new["file"]["cells"][0]["source"] if pair["tool"] == "Read" else new["content"] if pair["tool"] == "Grep" else new["stdout"]
    body = text.split("\n")[2:]; marker = re.search(r"(⋮+) = lines left out", text)[1]; at, kept = 1, set()
    for line in body:
        gap = re.fullmatch(re.escape(marker) + r" (\d+)(?:-(\d+))?(?::.*)?", line)
        if gap: assert int(gap[1]) == at, (line, at); at = int(gap[2] or gap[1]) + 1
        elif at <= len(lines):
            assert line.split("⋮ +")[0] == lines[at - 1].rstrip("\r")[: len(line.split("⋮ +")[0])], (line, lines[at - 1]); kept.add(at); at += 1
    return kept, len(text)


def ask(pair, root, given, response, perfect):
    with tempfile.TemporaryDirectory() as home:
        path = os.path.join(home, "session.jsonl"); open(path, "w").write(record(pair, given, root, perfect))
        event = {"session_id": "measured", "transcript_path": path, "cwd": str(root), "hook_event_name": "PostToolUse", "tool_name": pair["tool"], "tool_input": given, "tool_response": response, "tool_use_id": "own"}
        done = subprocess.run([a.program, "--no-ledger", "hook", "claude-code"], input=json.dumps(event), capture_output=True, text=True, env=os.environ | {"XDG_STATE_HOME": home})
        return done.stdout


a.program = os.path.abspath(a.program)
figures, examples = collections.defaultdict(list), []
pairs = list(map(json.loads, open(HERE / "pairs.jsonl")))
HALVES = {package: ("half of the packages", "the other half")[i % 2] for i, package in enumerate(sorted({pair["package"] for pair in pairs}))}
for pair in pairs:
    if a.only and pair["tool"] != a.only: continue
    root = package_dir(a.cache, pair["registry"], pair["package"], pair["version"])
    lines, needed, given, response = result(pair, root)
    needed = {n for n in needed if n <= len(lines) and any(c.isalnum() for c in lines[n - 1])}
    whole = sum(len(line) + 1 for line in lines)
    for arm in ("inferred", "perfect"):
        answer = ask(pair, root, given, response, arm == "perfect"); kept, cost = shown(answer, lines, pair)
        one = (bool(answer.strip()), whole, cost, len(needed & kept) / len(needed) if needed else 1.0, bool(needed - kept))
        for of in (pair["tool"], "all", HALVES[pair["package"]]): figures[of, arm].append(one)
        if arm == "inferred" and one[0]: examples.append((len(needed - kept), 1 - cost / whole, pair, sorted(needed - kept), answer))
print("| tool | question | results | pruned | characters left out | needed lines shown | results with a needed line hidden |\n|---|---|---|---|---|---|---|")
for (tool, arm), of in sorted(figures.items()):
    share = lambda values: f"{100 * sum(values) / len(of):.1f} %"
    print(f"| {tool} | {arm} | {len(of)} | {sum(o[0] for o in of)} | {100 * (1 - sum(o[2] for o in of) / sum(o[1] for o in of)):.1f} % | {share([o[3] for o in of])} | {share([o[4] for o in of])} |")
for name, order in (("good", lambda e: (e[0], -e[1])), ("bad", lambda e: (-e[0], e[1]))):
    for hidden, saved, pair, missing, answer in sorted(examples, key=order)[: a.examples]:
        print(f"\n## {name}: {pair['package']} {pair['input']} {100 * saved:.0f} % left out, {hidden} needed lines hidden {missing[:12]}\n{pair['task'][:200]}\nsaid: {pair['said']}\nthought: {pair['thinking']}\nneeded for: {pair['question']}")
