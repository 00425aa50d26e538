"""Line-level figures while training: F1 at the best threshold, recall at fixed keep rates, absent-question AUC.

What is published comes from `codeskim eval`, which measures the shipped binary.
"""
import collections

import numpy as np
import torch

from data import tensors
from model import surroundings
from text import found, lexical

KEEP_RATES = (0.1, 0.2, 0.3, 0.4)
WINDOW, ALONE, OVERLAP = 448, 560, 64  # as in src/skim/embedded/mod.rs


def windows(n):
    if n <= ALONE:
        return [(0, n)]
    out, start = [], 0
    while True:
        out.append((start, start + WINDOW))
        if start + WINDOW >= n:
            return out
        start = min(start + WINDOW - OVERLAP, n - WINDOW)


def refined(model, refiner, document, question, emission, answer, vocabulary):
    """Log-odds that each line is kept [n], looked at again by the refiner if there is one."""
    log_odds = model.log_odds(emission.double(), torch.from_numpy(document.parent.astype(np.int64)))
    if refiner is None:
        return log_odds.numpy()
    return refiner(torch.from_numpy(seen(log_odds, document, question, emission, answer, vocabulary))).detach().numpy()


def seen(log_odds, document, question, emission, answer, vocabulary):
    """The refiner's input: [n, SURROUNDINGS + LEXICAL]"""
    among = surroundings(log_odds.numpy(), emission.numpy(), document.parent.astype(np.int64), document.features[:, 1] > 0, answer, len(question))
    return np.concatenate([among, lexical(document.tokens, question, vocabulary)[0]], 1)


@torch.no_grad()
def raw(model, document, vocabulary):
    """[(emission [n], answer)] before the CRF and `Guessed`, for every question; long texts in joined windows."""
    questions = [question.ids for question in document.questions]
    emissions, answers = [torch.zeros(len(document.tokens)) for _ in questions], [-np.inf] * len(questions)
    for start, end in windows(len(document.tokens)):
        emission, answer = (x.cpu() for x in model(*(x.to(model.idf.device) for x in tensors(document, questions, vocabulary, start, end))))
        skip = OVERLAP // 2 if start else 0
        for i in range(len(questions)):
            emissions[i][start + skip:end] = emission[i, skip:]
            answers[i] = max(answers[i], float(answer[i]))
    return list(zip(emissions, answers))


def weighed(guessed, document, question, answer, vocabulary):
    """Log-odds that anything answers, with what the words say that came with the question if there are any, and a `Guessed` to weigh them."""
    if guessed is None or not len(question.guessed):
        return answer
    return guessed(torch.tensor(answer), torch.tensor(found(document.tokens, question.guessed, vocabulary))).item()


def score(model, documents, vocabulary, refiner=None, guessed=None):
    """[(document, kind, marginals [n], label [n], answer probability)] for every question."""
    was_training = model.training
    model.eval()
    out = []
    for document in documents:
        for question, (emission, answer) in zip(document.questions, raw(model, document, vocabulary)):
            marginal = 1 / (1 + np.exp(-refined(model, refiner, document, question.ids, emission, answer, vocabulary)))
            answer = weighed(guessed, document, question, answer, vocabulary)
            out.append((document, question.kind, marginal, question.label, 1 / (1 + np.exp(-answer))))
    model.train(was_training)
    return out


def counts(marginal, label, threshold):
    keep, known = marginal >= threshold, label >= 0
    return np.array([(keep & (label == 1)).sum(), (keep & (label == 0)).sum(), (~keep & (label == 1)).sum(), (keep & known).sum(), known.sum()])


def f1(c):
    return 2 * c[0] / max(1, 2 * c[0] + c[1] + c[2])


def best_threshold(scored, beta=1, thresholds=np.arange(0.02, 0.95, 0.01), within=0.0):
    """Where F-beta of the lines of answerable questions is highest: the middle of where it is `within` so much of that."""
    def score_at(threshold):
        c = sum(counts(m, y, threshold) for _, kind, m, y, _ in scored if kind != "absent")
        return (1 + beta**2) * c[0] / max(1, (1 + beta**2) * c[0] + beta**2 * c[2] + c[1])
    scores = np.array([score_at(threshold) for threshold in thresholds])
    return round(float(np.median(thresholds[scores >= scores.max() - within])), 2)


def recall_at(marginal, label, rate):
    known = np.flatnonzero(label >= 0)
    top = known[np.argsort(-marginal[known], kind="stable")][:max(1, int(rate * len(known)))]
    return (label[top] == 1).sum() / max(1, (label == 1).sum())


def auc(positive, negative):
    p, n = np.array(positive)[:, None], np.array(negative)[None]
    return float((p > n).mean() + 0.5 * (p == n).mean())


def report(scored, thresholds=np.arange(0.05, 0.95, 0.05)):
    """A dict of figures. Micro line F1 over all answerable questions."""
    answerable = [s for s in scored if s[1] != "absent"]
    best = best_threshold(scored, thresholds=thresholds)
    groups = collections.defaultdict(list)
    for s in answerable:
        groups[s[0].lang].append(s)
        groups[s[1]].append(s)
        if s[0].search:
            groups["search"].append(s)
    c = sum(counts(m, y, best) for _, _, m, y, _ in answerable)
    absent = [s[4] for s in scored if s[1] == "absent"]
    return {
        "threshold": best, "f1": f1(c), "precision": c[0] / max(1, c[0] + c[1]), "recall": c[0] / max(1, c[0] + c[2]), "kept": c[3] / c[4],
        "recall_at": [float(np.mean([recall_at(m, y, r) for _, _, m, y, _ in answerable])) for r in KEEP_RATES],
        "absent_auc": auc([s[4] for s in answerable], absent) if absent else None,
        "groups": {g: [len(x), f1(sum(counts(m, y, best) for _, _, m, y, _ in x))] for g, x in sorted(groups.items())},
    }


def show(r):
    print(f"  F1 {r['f1']:.3f} at {r['threshold']:.2f} (P {r['precision']:.3f} R {r['recall']:.3f}, keeps {r['kept']:.3f}); recall at 10/20/30/40 % "
          + " ".join(f"{x:.3f}" for x in r["recall_at"]) + (f"; absent AUC {r['absent_auc']:.3f}" if r["absent_auc"] else ""), flush=True)
    print("  " + ", ".join(f"{g} {n} {x:.3f}" for g, (n, x) in r["groups"].items()), flush=True)
