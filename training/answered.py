#!/usr/bin/env python3
"""answered.py PROGRAM ROWS.jsonl [--seed N]: fits by what `codeskim search` tells whether anything answers a question.

Rows are those of ranking.py. PROGRAM is asked each question (`search --explain`) in its root, and in a root of another group, where nothing answers it. Logistic
regression over what the best five units say, with a small L2, on "fit" rows and groups; sets of questions, with and without an answer, weigh the same, if of
20 rows or more. Prints the weights of src/search/ranking.rs; on "check" rows and groups the AUC, and the shares below thresholds; and what PROGRAM itself said, of
all: shares of questions with an answer, and of those without. Needs numpy."""
import argparse, json, os, random, re, subprocess
import numpy as np

a = argparse.ArgumentParser(); a.add_argument("program"); a.add_argument("rows"); a.add_argument("--seed", type=int, default=11); a = a.parse_args()
BEST, FEWEST_WORDS, L2 = 5, 3, 1e-3  # the first two as in src/search/ranking.rs
NAMES = ["BIAS", "HAS", "ANSWERS", "LONG", "HAS_OF_LONG", "NEAR"]


def said(question, root):
    """What the verdict is made of, and the program's own."""
    p = subprocess.run([os.path.abspath(a.program), "--no-ledger", "search", "--explain", "--", question], cwd=root, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    try: found = json.loads(p.stdout); best = [u["unit"] for u in found["units"][:BEST]]
    except (ValueError, KeyError): return None, None
    if not best: return None, found["verdict"]
    has, answers, near = max(u["has"] for u in best), max(u["answers"] for u in best), np.mean([u["near_all"] for u in best])
    long = np.log(max(FEWEST_WORDS, len({w.lower() for w in re.findall(r"[^\W_]+", question) if len(w) > 1})))
    return [1, has, answers, long, has * long, near], found["verdict"]


def fit(X, y, sets):
    weight = np.zeros(len(y)); mean, sd = X[:, 1:].mean(0), X[:, 1:].std(0); Z = np.c_[np.ones(len(X)), (X[:, 1:] - mean) / sd]
    for s in set(sets):
        for has_answer in (0, 1):
            own = (sets == s) & (y == has_answer); weight[own] = min(1, own.sum() / 20) / max(1, own.sum())
    weight /= weight.sum(); keep = np.r_[0, np.full(X.shape[1] - 1, L2)]; w = np.zeros(X.shape[1])
    for _ in range(40):
        p = 1 / (1 + np.exp(-Z @ w))
        w -= np.linalg.solve((Z.T * (weight * p * (1 - p))) @ Z + np.diag(keep + 1e-9), Z.T @ (weight * (p - y)) + keep * w)
    return np.r_[w[0] - (w[1:] * mean / sd).sum(), w[1:] / sd]


rows, rng, asked, verdicts = [json.loads(line) for line in open(a.rows)], random.Random(a.seed), [], {1: [], 0: []}
short = lambda group: group.split("/")[-1]
for row in rows:
    others = [r for r in rows if r["use"] == row["use"] and short(r["group"]) not in short(row["group"]) and short(row["group"]) not in short(r["group"])]
    group = rng.choice(sorted({r["group"] for r in others}))
    for has_answer, root in ((1, row["root"]), (0, rng.choice([r["root"] for r in others if r["group"] == group]))):
        values, verdict = said(row["question"], root)
        if verdict: verdicts[has_answer].append(verdict)
        if values: asked.append((values, has_answer, row["set"], row["use"]))
X, y, sets, uses = (np.array([x[i] for x in asked]) for i in range(4))
w = fit(X[uses == "fit"], y[uses == "fit"], sets[uses == "fit"])
print(", ".join(f"{n} {x:.3f}" for n, x in zip(NAMES, w)))
score = X @ w
for s in [None, *sorted(set(sets))]:
    own = (uses == "check") & ((sets == s) | (s is None)); yes, no = score[own & (y == 1)], score[own & (y == 0)]
    if not len(yes) or not len(no): continue
    auc = (yes[:, None] > no[None]).mean() + (yes[:, None] == no[None]).mean() / 2
    below = "; ".join(f"{t}: {(yes < t).mean():.3f}, {(no < t).mean():.3f}" for t in (-3.0, -2.6, -2.2, -1.8, -1.4, -1.0, -0.6))
    print(f"{s or 'all'} ({len(yes)}, {len(no)}): AUC {auc:.3f}; below {below}")
for has_answer, said_of in verdicts.items():
    shares = ", ".join(f"{v} {said_of.count(v) / len(said_of):.3f}" for v in ("answers", "doubtful", "nothing"))
    print(f"{'with' if has_answer else 'without'} an answer ({len(said_of)}), the program says: {shares}")
