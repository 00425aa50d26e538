"""Trains the refiner on what the finished student says of training windows and of whole files.

    python3 refine.py WORK [CHECKPOINT.pt]

The transformer over lines and the CRF see a line among its neighbours, but not how its score stands to those of its block and of the whole
text; nor how far to trust its lexical evidence. Writes WORK/refine.pt; prints figures on training packages that it was not fitted on.
"""
import pathlib
import random
import sys

import numpy as np
import torch
import torch.nn.functional as F

import evaluate
from data import load_labels
from model import Refiner, student
from text import Vocabulary

# What it is fitted on, beside all windows of the first labels:
WINDOWS = 600    # of the later labels
LOTS = 600       # texts of at most LONG lines, with questions in forms drawn by lot
LONG_LOTS = 150  # longer ones: no window is, and 503 of the 575 files are
FILES = 150      # files of at most LONGEST lines, of which a window is labelled
LONG, LONGEST = 240, 1500
STEPS, LINES, RATE = 2000, 4096, 0.01


def look(model, documents, vocabulary):
    """[(package, input [n, SURROUNDINGS + LEXICAL], label [n], log-odds [n])] of every answerable question, lines of unknown label left out."""
    out = []
    for document, package in documents:
        for (question, label, kind), (emission, answer) in zip(document.questions, evaluate.raw(model, document, vocabulary)):
            if kind != "absent":
                log_odds = model.log_odds(emission, torch.from_numpy(document.parent.astype(np.int64)))
                known = label >= 0
                out.append((package, evaluate.seen(log_odds, document, question, emission, answer, vocabulary.stop)[known], label[known], log_odds.numpy()[known]))
    return out


def fit(seen):
    """A refiner of inputs and labels; the inputs' means and spreads end up in its first layer."""
    torch.manual_seed(1)
    x, y = torch.from_numpy(np.concatenate([s[1] for s in seen])), torch.from_numpy(np.concatenate([s[2] for s in seen])).float()
    mean, spread = x.mean(0), x.std(0) + 0.01
    refiner = Refiner()
    optimizer = torch.optim.AdamW(refiner.parameters(), lr=RATE, weight_decay=0.01)
    for step in range(STEPS):
        some = torch.randint(0, len(x), (LINES,))
        loss = F.binary_cross_entropy_with_logits(refiner((x[some] - mean) / spread), y[some])
        optimizer.zero_grad()
        loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - step / STEPS)
        optimizer.step()
    with torch.no_grad():
        refiner.up.weight /= spread
        refiner.up.bias -= refiner.up.weight @ mean
    return refiner


@torch.no_grad()
def show(name, seen, refiner):
    """F1 at the best threshold and recall at a fifth of the lines, before and after."""
    for when, scores in (("before", [s[3] for s in seen]), ("after", [refiner(torch.from_numpy(s[1])).numpy() for s in seen])):
        thresholds = np.arange(-3, 2, 0.1)
        figures = [evaluate.f1(sum(evaluate.counts(score, s[2], threshold) for score, s in zip(scores, seen))) for threshold in thresholds]
        recall = np.mean([evaluate.recall_at(score, s[2], 0.2) for score, s in zip(scores, seen)])
        print(f"{name} {when}: F1 {max(figures):.4f} at log-odds {thresholds[int(np.argmax(figures))]:.1f}, recall {recall:.4f}", flush=True)


def main():
    work = pathlib.Path(sys.argv[1])
    checkpoint = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else work / "student.pt"
    vocabulary = Vocabulary([w.encode() for w in (work / "vocab.txt").read_text().split()])
    model = student(vocabulary.size)
    model.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=False)["average"])
    model.eval()
    training, _ = load_labels(work / "labelled.jsonl", vocabulary, ["lot"])
    random.Random(4).shuffle(training)
    lots, training = ([d for d in training if d.apart == apart] for apart in ("lot", None))
    files = [(d.whole, d.package) for d in training if d.whole is not None and len(d.whole.tokens) <= LONGEST][:FILES]
    short, long = [d for d in lots if len(d.tokens) <= LONG], [d for d in lots if len(d.tokens) > LONG]
    windows = [d for d in training if d.first] + [d for d in training if not d.first][:WINDOWS] + short[:LOTS] + long[:LONG_LOTS]
    seen = look(model, [(d, d.package) for d in windows] + files, vocabulary)
    packages = sorted({s[0] for s in seen})
    held_out = set(packages[::5])
    show("training packages held out", [s for s in seen if s[0] in held_out], fit([s for s in seen if s[0] not in held_out]))
    refiner = fit(seen)
    torch.save(refiner.state_dict(), work / "refine.pt")


if __name__ == "__main__":
    main()
