"""Line-level figures on validation packages: F1 at the best threshold, recall at fixed keep rates, absent-question AUC.

    python3 evaluate.py WORK CHECKPOINT.pt      labelled windows, and doc comments asked of their whole file, beside BM25
"""
import collections
import pathlib
import random
import sys

import numpy as np
import torch

from data import collate, cut, load_labels, load_mined
from model import Skimmer
from text import Vocabulary, lexical

KEEP_RATES = (0.1, 0.2, 0.3, 0.4)
WINDOW, OVERLAP = 384, 96  # as in src/skim/embedded/mod.rs
WHOLE_FILES = 300          # doc comments asked of their whole file


def windows(n):
    out, start = [], 0
    while True:
        out.append((start, min(start + WINDOW, n)))
        if start + WINDOW >= n:
            return out
        start = min(start + WINDOW - OVERLAP, n - WINDOW)


@torch.no_grad()
def raw(model, document, vocabulary, device):
    """[(emission [n], answer)] before the CRF, for every question; long texts in joined windows."""
    emissions = [torch.zeros(len(document.tokens)) for _ in document.questions]
    answers = [-np.inf] * len(emissions)
    for start, end in windows(len(document.tokens)):
        samples = [cut(document, q, label, vocabulary, start, end) for q, label, _ in document.questions]
        *inputs, _ = [x.to(device) for x in collate(samples)]
        emission, answer = model(*inputs)
        skip = OVERLAP // 2 if start else 0
        for i in range(len(samples)):
            emissions[i][start + skip:end] = emission[i, skip:end - start].cpu()
            answers[i] = max(answers[i], float(answer[i]))
    return list(zip(emissions, answers))


def score(model, documents, vocabulary, device):
    """[(document, kind, marginals [n], label [n], answer probability)] for every question."""
    model.eval()
    out = []
    for document in documents:
        for (_, label, kind), (emission, answer) in zip(document.questions, raw(model, document, vocabulary, device)):
            out.append((document, kind, model.marginals(emission).numpy(), label, 1 / (1 + np.exp(-answer))))
    model.train()
    return out


def bm25(documents, vocabulary, column):
    """The same with the lexical evidence alone: column 1 is BM25 over +-3 lines, column 2 over +-10."""
    out = []
    for document in documents:
        for question, label, kind in document.questions:
            evidence, _ = lexical(document.tokens, question, vocabulary.stop)
            out.append((document, kind, evidence[:, column], label, float(evidence[:, 4].max())))
    return out


def counts(marginal, label, threshold):
    keep, known = marginal >= threshold, label >= 0
    return np.array([(keep & (label == 1)).sum(), (keep & (label == 0)).sum(), (~keep & (label == 1)).sum(), (keep & known).sum(), known.sum()])


def f1(c):
    return 2 * c[0] / max(1, 2 * c[0] + c[1] + c[2])


def recall_at(marginal, label, rate):
    known = np.flatnonzero(label >= 0)
    top = known[np.argsort(-marginal[known], kind="stable")][:max(1, int(rate * len(known)))]
    return (label[top] == 1).sum() / max(1, (label == 1).sum())


def auc(positive, negative):
    p, n = np.array(positive)[:, None], np.array(negative)[None]
    return float((p > n).mean() + 0.5 * (p == n).mean())


def report(scored, thresholds=np.arange(0.05, 0.95, 0.05)):
    """A dict of figures. Micro line F1 over all answerable questions, as in the prototype's table."""
    answerable = [s for s in scored if s[1] != "absent"]
    totals = {float(t): sum(counts(m, y, t) for _, _, m, y, _ in answerable) for t in thresholds}
    best = max(totals, key=lambda t: f1(totals[t]))
    groups = collections.defaultdict(list)
    for s in answerable:
        groups[s[0].lang].append(s)
        groups[s[1]].append(s)
        if s[0].search:
            groups["search"].append(s)
    c = totals[best]
    absent = [s[4] for s in scored if s[1] == "absent"]
    return {
        "threshold": round(best, 2), "f1": f1(c), "precision": c[0] / max(1, c[0] + c[1]), "recall": c[0] / max(1, c[0] + c[2]), "kept": c[3] / c[4],
        "recall_at": [float(np.mean([recall_at(m, y, r) for _, _, m, y, _ in answerable])) for r in KEEP_RATES],
        "absent_auc": auc([s[4] for s in answerable], absent) if absent else None,
        "groups": {g: [len(x), f1(sum(counts(m, y, best) for _, _, m, y, _ in x))] for g, x in sorted(groups.items())},
    }


def show(r):
    print(f"  F1 {r['f1']:.3f} at {r['threshold']:.2f} (P {r['precision']:.3f} R {r['recall']:.3f}, keeps {r['kept']:.3f}); recall at 10/20/30/40 % "
          + " ".join(f"{x:.3f}" for x in r["recall_at"]) + (f"; absent AUC {r['absent_auc']:.3f}" if r["absent_auc"] else ""), flush=True)
    print("  " + ", ".join(f"{g} {n} {x:.3f}" for g, (n, x) in r["groups"].items()), flush=True)


def main():
    work, checkpoint = map(pathlib.Path, sys.argv[1:3])
    vocabulary = Vocabulary([w.encode() for w in (work / "vocab.txt").read_text().split()])
    model = Skimmer(vocabulary.size)
    model.load_state_dict({n: t.half().float() for n, t in torch.load(checkpoint, map_location="cpu", weights_only=False)["model"].items()})
    _, labelled = load_labels(work / "labelled.jsonl", vocabulary)
    mined = [d for d in load_mined(work / "mined.jsonl", vocabulary, validation=True) if len(d.tokens) >= 100]
    random.Random(1).shuffle(mined)
    for document in mined[:WHOLE_FILES]:
        document.questions = document.questions[:1]
    for name, documents in (("labelled windows", labelled), (f"whole files, {WHOLE_FILES} doc comments", mined[:WHOLE_FILES])):
        print(f"{name} (median {int(np.median([len(d.tokens) for d in documents]))} lines)")
        for skimmer, scored in (("skimmer", score(model, documents, vocabulary, "cpu")), ("BM25 +-3", bm25(documents, vocabulary, 1)), ("BM25 +-10", bm25(documents, vocabulary, 2))):
            print(f" {skimmer}")
            show(report(scored))


if __name__ == "__main__":
    main()
