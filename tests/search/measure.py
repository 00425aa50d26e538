#!/usr/bin/env python3
"""measure.py PROGRAM ROWS.jsonl [--set NAME] [--use check] [--characters 6000 ...] [--bm25]: how well `codeskim search` answers questions to whole repositories.

A row is {"set", "group", "category", "use", "root", "question"} with "files" (those that answer) or "gold" ({file: [lines that answer]}). Prints by set, group and
category NDCG@10 by files, and of rows with lines the share of the gold lines that are shown in so many characters of source: what `--json` says is shown, best
first, cut there. Warm times are those of the second of two calls to one server. --bm25 prints the same of BM25: over files by parts of identifiers and of
paths, and over windows of 40 lines, the best that fit. Only Python's own library is needed."""
import argparse, collections, functools, json, math, os, re, statistics, subprocess, time

a = argparse.ArgumentParser(); a.add_argument("program"); a.add_argument("rows"); a.add_argument("--set"); a.add_argument("--use"); a.add_argument("--characters", type=int, nargs="+", default=[6000]); a.add_argument("--bm25", action="store_true"); a = a.parse_args()
PROGRAM, TOKEN = os.path.abspath(a.program), 3  # characters of source in a token of a result, headings and gaps included, about
match = lambda f, t: f == t or f.endswith("/" + t) or t.endswith("/" + f)


class Server:
    """One server for each root, over stdio, for warm times."""
    def __init__(self, root):
        self.p = subprocess.Popen([PROGRAM, "--no-ledger", "serve"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"); self.n = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "measure", "version": "1"}})
        self.p.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def ask(self, method, params):
        self.n += 1; began = time.perf_counter()
        self.p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params}) + "\n"); self.p.stdin.flush()
        while json.loads(self.p.stdout.readline()).get("id") != self.n: pass
        return time.perf_counter() - began


def codeskim(row, characters):
    began = time.perf_counter()
    p = subprocess.run([PROGRAM, "--no-ledger", "--budget", str(characters // TOKEN), "search", "--json", "--", row["question"]], cwd=row["root"], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    cold = time.perf_counter() - began
    found = json.loads(p.stdout) if p.stdout.startswith("{") else {"results": []}
    return [(r["path"], r["lines"]) for r in found["results"] + found.get("nearest", [])], cold


PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
words = lambda text: [w.lower() for w in PARTS.findall(text) if len(w) > 1]
known = {}
of_text = functools.lru_cache(20_000)(lambda text: collections.Counter(words(text)))  # most files are the same in the next commit


def documents(root):
    """The texts of a root, and their words: of files, and of windows of 40 lines."""
    if root not in known:
        known.clear(); files = []
        for d, ds, fs in os.walk(root):
            ds[:] = sorted(x for x in ds if not x.startswith("."))
            for f in sorted(fs):
                path = os.path.join(d, f)
                if f.startswith(".") or os.path.islink(path) or os.path.getsize(path) > 1_000_000: continue
                text = open(path, errors="replace").read()
                if "\0" not in text[:1024]: files.append((os.path.relpath(path, root), text.split("\n")))
        known[root] = [(p, lines, collections.Counter(words(p)) + of_text("\n".join(lines))) for p, lines in files]
    return known[root]


def bm25(question, counts):
    wanted, n = set(words(question)), len(counts); lengths = [sum(c.values()) for c in counts]; average = sum(lengths) / max(1, n)
    idf = {w: math.log(1 + (n - k + 0.5) / (k + 0.5)) for w in wanted for k in [sum(w in c for c in counts)]}
    return [sum(idf[w] * c[w] * 2.2 / (c[w] + 1.2 * (0.25 + 0.75 * length / average)) for w in wanted if w in c) for c, length in zip(counts, lengths)]


def baseline(row, characters):
    """BM25 at any length: what it finds is cut by judge."""
    return bm25_of(row["root"], row["question"], "files" in row)


@functools.lru_cache(1)
def bm25_of(root, question, by_files):
    began = time.perf_counter(); docs = documents(root); scores = bm25(question, [c for *_, c in docs])
    order = sorted(range(len(docs)), key=lambda i: -scores[i])
    if by_files: return [(docs[i][0], []) for i in order[:20]], time.perf_counter() - began
    windows = [(docs[i][0], first, docs[i][1][first : first + 40]) for i in order[:50] for first in range(0, len(docs[i][1]), 40)]
    of = bm25(question, [collections.Counter(words("\n".join(lines))) for *_, lines in windows])
    best = sorted(range(len(windows)), key=lambda i: -of[i])[:60]
    return [(windows[i][0], [[windows[i][1] + 1, windows[i][1] + len(windows[i][2])]]) for i in best] + [(docs[i][0], []) for i in order[:20]], time.perf_counter() - began


def judge(row, results, characters):
    paths = list(dict.fromkeys(p for p, _ in results))[:10]; targets = row.get("files") or list(row["gold"])
    ranks = {next((i for i, p in enumerate(paths) if match(p, t)), None) for t in targets} - {None}
    figures = {"NDCG@10": sum(1 / math.log2(r + 2) for r in ranks) / sum(1 / math.log2(i + 2) for i in range(min(10, len(targets))))}
    if "gold" in row:
        shown, left = collections.defaultdict(set), characters
        for path, runs in results:
            try: lines = open(os.path.join(row["root"], path), errors="replace").read().split("\n")
            except OSError: continue
            for first, last in runs:
                for n in range(first, min(last, len(lines)) + 1):
                    if n in shown[path]: continue
                    left -= len(lines[n - 1]) + 1
                    if left < 0: break
                    shown[path].add(n)
        figures[f"gold lines in {characters}"] = sum(len(set(g) & shown[p]) for p, g in row["gold"].items()) / sum(map(len, row["gold"].values()))
        figures[f"of {characters} characters"] = characters - max(left, 0)
    return figures


rows = [r for r in map(json.loads, open(a.rows)) if a.set in (None, r["set"]) and a.use in (None, r["use"])]
systems = {"codeskim": codeskim, **({"BM25": baseline} if a.bm25 else {})}
for name, ask in systems.items():
    groups, cold = collections.defaultdict(lambda: collections.defaultdict(list)), []
    for row in rows:
        figures = {}
        for characters in a.characters if "gold" in row else a.characters[:1]:
            results, seconds = ask(row, characters); cold.append(seconds)
            figures = judge(row, results, characters) | figures  # NDCG@10 is that of the first
        for k, x in figures.items():
            for group in (row["set"], f"{row['set']}: {row['group']}", f"{row['set']}: {row.get('category', '')}"): groups[group][k].append(x)
    print(f"{name}: {len(rows)} questions, cold {1000 * statistics.median(cold):.0f} ms in the median, {1000 * max(cold):.0f} at most")
    for group, figures in sorted(groups.items()): print(f"  {group} ({len(figures['NDCG@10'])}): " + ", ".join(f"{k} {statistics.mean(x):.3f}" for k, x in figures.items()))
warm, by_root = [], collections.defaultdict(list)
for row in rows: by_root[row["root"]].append(row["question"])
for root, questions in list(by_root.items())[:40]:
    server = Server(root)
    for question in questions[:5]: warm.append([server.ask("tools/call", {"name": "search", "arguments": {"question": question}}) for _ in range(2)][1])
    server.p.kill()
print(f"warm: {1000 * statistics.median(warm):.0f} ms in the median of {len(warm)}, {1000 * max(warm):.0f} at most")
