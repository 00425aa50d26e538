#!/usr/bin/env python3
"""ranking.py PROGRAM ROWS.jsonl [--weights FILE] [--cache FILE]: fits the weights by which `codeskim search` ranks definitions and files.

A row is {"set", "group", "use", "root", "question"} with "files" (those that answer) or "gold" ({file: [lines that answer]}); "use" is "fit" or
"check", and "group" is the repository. PROGRAM is asked each question (`search --explain`) in its root. Linear weights, by softmax over the units of a
question (all that answer count as one where only files are known, else by their share of the lines), then over its files, by Adam with L2. Prints NDCG@10
by files and the share of gold lines in 3,000, 6,000 and 12,000 characters of the best units: of "fit" rows by weights fitted without their repository, of
"check" rows; and the same without each part of what is weighed. Writes the weights, those near zero left out. Needs numpy."""
import argparse, collections, json, math, os, pickle, subprocess
import numpy as np

a = argparse.ArgumentParser(); a.add_argument("program"); a.add_argument("rows"); a.add_argument("--weights"); a.add_argument("--cache"); a.add_argument("--ablate", action="store_true"); a = a.parse_args()
BEST, L2, NEAR_ZERO = 300, 0.1, 0.07
OF_ITS_FILE, BEHIND, LEAST = 0.2, 0.5, 1e-3  # these and the next two lines as in src/search/ranking.rs
UNITS_AGAINST_MOST = "matches best top mean called has near near_all".split()
FILES_AGAINST_MOST = "whole passage others has near near_all called".split()
TOGETHER = ["all its words", "aside and words", "prose and words"]
match = lambda f, t: f == t or f.endswith("/" + t) or t.endswith("/" + f)


def ask(row):
    """What speaks for the units of a question: the best, those that answer, and two at least of each file."""
    p = subprocess.run([os.path.abspath(a.program), "--no-ledger", "search", "--explain", "--", row["question"]], cwd=row["root"], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    try: units = json.loads(p.stdout)["units"]
    except (ValueError, KeyError): return None
    gold = {path: set(lines) for path, lines in row.get("gold", {}).items()}
    texts, seen, kept = {}, collections.Counter(), []
    for place, u in enumerate(units):
        seen[u["path"]] += 1
        first, last = u["lines"]
        u["gold"] = [int(line in gold.get(u["path"], ())) for line in range(first, last + 1)]
        if place < BEST or seen[u["path"]] <= 2 or any(u["gold"]): kept.append(u)
    if not kept: return None
    for u in kept:
        if gold and u["path"] not in texts:
            try: texts[u["path"]] = [len(x) + 1 for x in open(os.path.join(row["root"], u["path"]), errors="replace").read().split("\n")]
            except OSError: texts[u["path"]] = []
        u["size"] = sum(texts.get(u["path"], [])[u["lines"][0] - 1 : u["lines"][1]])
    file_names, unit_names = list(kept[0]["file"]), list(kept[0]["unit"])
    paths = [u["path"] for u in kept]; own = list(dict.fromkeys(paths)); of = np.array([own.index(p) for p in paths])
    F = np.array([list(u["file"].values()) for u in kept], np.float32); U = np.array([list(u["unit"].values()) for u in kept], np.float32)
    answers = [any(match(p, t) for t in row["files"]) for p in own] if "files" in row else [p in gold for p in own]
    y = np.array([answers[i] for i in of], float) if "files" in row else np.array([sum(u["gold"]) for u in kept], float) / sum(map(len, gold.values()))
    return dict(set=row["set"], group=row["group"], use=row["use"], F=F, U=U, names=(file_names, unit_names), paths=own, of=of, y=y, answers=np.array(answers, float), shared="files" in row,
                targets=row.get("files") or list(gold), sizes=np.array([u["size"] for u in kept]), overlap=np.array([sum(u["gold"]) for u in kept]), total=max(1, sum(map(len, gold.values()))))


def against_most(q):
    """The same with what is weighed against the most in the search, too."""
    first = np.unique(q["of"], return_index=True)[1]
    def add(X, names, which, of):
        x = X[:, [names.index(n) for n in which]]
        return np.concatenate([X, x / np.maximum(x[of].max(0), LEAST)], 1), names + [n + " of most" for n in which]
    (F, file_names), (U, unit_names) = add(q["F"], q["names"][0], FILES_AGAINST_MOST, first), add(q["U"], q["names"][1], UNITS_AGAINST_MOST, slice(None))
    return q | dict(F=F, U=U, names=(file_names, unit_names))


def behind(score, aside):
    """Scores with what is aside behind the best that is not."""
    return np.where(aside, np.minimum(score, score[~aside].max() - BEHIND), score) if (~aside).any() else score


def together(F, names):
    f = {n: F[:, i] for i, n in enumerate(names)}
    return np.stack([(f["asked"] > 0.99) * f["called"], f["aside"] * f["whole"], f["prose"] * f["whole"]], 1)


def of_units(q):
    u = {n: q["U"][:, i] for i, n in enumerate(q["names"][1])}
    return np.concatenate([q["F"], q["U"], together(q["F"], q["names"][0]), (u["best"] * u["answers"])[:, None]], 1)


def of_files(q, z):
    z = z - z.max(); all_units = math.log(np.exp(z).sum()); rows = []
    for i in range(len(q["paths"])):
        own = z[q["of"] == i]; best = np.sort(own)[::-1]
        rows.append([best[:1].mean(), best[:2].mean(), best[:4].mean(), math.log(np.exp(own).sum()) - all_units])
    first = np.array([np.flatnonzero(q["of"] == i)[0] for i in range(len(q["paths"]))])
    most = np.stack([q["U"][q["of"] == i].max(0) for i in range(len(q["paths"]))])
    return np.concatenate([q["F"][first], np.array(rows), most, together(q["F"][first], q["names"][0])], 1)


def fit(train, steps, mask):
    """Weights for [(X, y, whether all that answer count as one, weight of the question)]."""
    A = np.concatenate([x for x, *_ in train]); sd = A.std(0) + 1e-6
    w = np.zeros(A.shape[1]); m = np.zeros_like(w); v = np.zeros_like(w); sum_of = sum(c for *_, c in train)
    scaled = [(X / sd, y, s, c) for X, y, s, c in train if y.any()]
    for step in range(steps):
        g = np.zeros_like(w)
        for X, y, shared, c in scaled:
            z = X @ w; e = np.exp(z - z.max()); p = e / e.sum(); t = e * y if shared else y
            g += c * (X.T @ (p - t / t.sum()))
        g = (g / sum_of + L2 * w) * mask
        m = 0.9 * m + 0.1 * g; v = 0.99 * v + 0.01 * g * g
        w -= 0.05 * (m / (1 - 0.9 ** (step + 1))) / (np.sqrt(v / (1 - 0.99 ** (step + 1))) + 1e-8)
    return w / sd, w


def model(train, unit_mask, file_mask, steps=100):
    counts = collections.Counter(q["set"] for q in train); weight = lambda q: min(1, counts[q["set"]] / 20) / counts[q["set"]]
    unit, scaled_unit = fit([(of_units(q), q["y"], q["shared"], weight(q)) for q in train], steps, unit_mask)
    file, scaled_file = fit([(of_files(q, of_units(q) @ unit), q["answers"], False, weight(q)) for q in train], steps, file_mask)
    return unit, file, scaled_unit, scaled_file


def ndcg(paths, targets):
    ranks = {next((i for i, p in enumerate(paths[:10]) if match(p, t)), None) for t in targets} - {None}
    return sum(1 / math.log2(r + 2) for r in ranks) / sum(1 / math.log2(i + 2) for i in range(min(10, len(targets))))


def judge(q, unit, file):
    z = of_units(q) @ unit; f = of_files(q, z) @ file; z = z + OF_ITS_FILE * f[q["of"]]
    first = np.unique(q["of"], return_index=True)[1]
    aside = q["F"][:, q["names"][0].index("aside")] > 0
    z = behind(z, aside | (q["U"][:, q["names"][1].index("test")] > 0)); f = behind(f, aside[first])
    figures = {"ndcg": ndcg([q["paths"][i] for i in np.argsort(-f, kind="stable")], q["targets"])}
    for most in () if q["shared"] else (3000, 6000, 12000):
        left, got = most, 0
        for i in np.argsort(-z, kind="stable"):
            if q["sizes"][i] + 60 <= left: left -= q["sizes"][i] + 60; got += q["overlap"][i]
            if left < 150: break
        figures[str(most)] = got / q["total"]
    return figures


def table(judged):
    sets = collections.defaultdict(lambda: collections.defaultdict(list))
    for q, figures in judged:
        for k, x in figures.items(): sets[q["set"]][k].append(x)
    return "; ".join(f"{s} ({len(k['ndcg'])}) " + ", ".join(f"{n} {np.mean(x):.3f}" for n, x in k.items()) for s, k in sorted(sets.items()))


def held_out(questions, unit_mask, file_mask):
    judged = []
    for group in sorted({q["group"] for q in questions if q["set"] != "mined"}):
        unit, file, *_ = model([q for q in questions if q["group"] != group], unit_mask, file_mask, 80)
        judged += [(q, judge(q, unit, file)) for q in questions if q["group"] == group and q["set"] != "mined"]
    return judged


if a.cache and os.path.exists(a.cache): questions = pickle.load(open(a.cache, "rb"))
else:
    questions = [q for q in map(ask, map(json.loads, open(a.rows))) if q]
    if a.cache: pickle.dump(questions, open(a.cache, "wb"))
questions = [against_most(q) for q in questions]
file_names, unit_names = questions[0]["names"]
UNIT = ["file." + n for n in file_names] + ["unit." + n for n in unit_names] + TOGETHER + ["best and answers"]
FILE = ["file." + n for n in file_names] + ["best unit", "best two", "best four", "all units"] + ["most." + n for n in unit_names] + TOGETHER
fitted = [q for q in questions if q["use"] == "fit"]; checked = [q for q in questions if q["use"] == "check"]
*_, u, f = model(fitted, np.ones(len(UNIT)), np.ones(len(FILE)), 150)
unit_mask, file_mask = (np.abs(u) >= NEAR_ZERO).astype(float), (np.abs(f) >= NEAR_ZERO).astype(float)
unit, file, *_ = model(fitted, unit_mask, file_mask, 250)
print("fit, by weights without their repository:", table(held_out(fitted, unit_mask, file_mask)))
print("check:", table([(q, judge(q, unit, file)) for q in checked]))
if a.weights:
    named = lambda names, w: {n: round(float(x), 4) for n, x in zip(names, w) if x}
    json.dump({"unit": named(UNIT, unit), "file": named(FILE, file)}, open(a.weights, "w"), indent=1); open(a.weights, "a").write("\n")
PARTS = {"the skimmer": ["unit.best", "unit.top", "unit.mean", "unit.answers", "unit.skimmed", "best and answers", "most.best", "most.top", "most.mean", "most.answers", "most.skimmed"],
         "names of files": ["file.called", "file.asked", "file.named", "file.titled", "file.joined", "file.inside", "all its words"],
         "names of definitions": ["file.defines", "file.exactly"] + [p + n for p in ("unit.", "most.") for n in ("called", "asked", "exactly", "titled", "owner", "head")],
         "source against tests and prose": ["file.aside", "file.prose", "unit.test", "most.test", "aside and words", "prose and words"],
         "meanings": [prefix + n for prefix in ("file.", "unit.", "most.") for n in ("near", "near_all")],
         "callers": ["unit.callers", "most.callers"], "other units of a file": ["unit.beside", "most.beside", "unit.around", "most.around", "file.others"],
         "units, for files": ["best unit", "best two", "best four", "all units"] + ["most." + n for n in unit_names]}
for part, names in PARTS.items() if a.ablate else ():
    without = lambda all_names, mask: mask * np.array([n.removesuffix(" of most") not in names for n in all_names], float)
    um, fm = without(UNIT, unit_mask), without(FILE, file_mask)
    unit, file, *_ = model(fitted, um, fm, 150)
    print(f"without {part}: check:", table([(q, judge(q, unit, file)) for q in checked]))
