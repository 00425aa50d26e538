"""Fits what comes after the finished student: the document head once more, what guessed words say after it, and the refiner, on training windows and
whole files.

    python3 refine.py WORK [CHECKPOINT.pt]

The transformer over lines and the CRF see a line among its neighbours, but not how its score stands to those of its block and of the whole
text; nor how far to trust its lexical evidence. The document head, while the student learns, runs after lines that change under it, of texts that
are cut and renamed. Writes WORK/refine.pt, of all three; prints figures on training packages that the head and the refiner were not fitted on.
"""
import copy
import pathlib
import random
import sys

import numpy as np
import torch
import torch.nn.functional as F

import evaluate
from data import load_labels, tensors
from model import Guessed, Refiner, places, student
from text import Vocabulary, found

OTHERS = 400         # texts that are no code in the usual languages, for the head and the refiner: they take longest, as their lines are long

# What the head is fitted on beside them, of the questions in forms drawn by lot:
ANSWER_LOTS = 1500   # texts of at most a window
STRANGE = 2          # questions more that each is asked, of other packages' texts: without them it forgets how to tell those
HEAD_EPOCHS, HEAD_TEXTS, HEAD_RATE = 8, 8, 1e-3

# What the refiner is fitted on beside them and all windows of the first labels:
WINDOWS = 600    # of the later labels
LOTS = 600       # texts of at most LONG lines, with questions in forms drawn by lot
LONG_LOTS = 150  # longer ones: no window is, and most files are
FILES = 150      # files of at most LONGEST lines, of which a window is labelled
LONG, LONGEST = 240, 1500
STEPS, LINES, RATE = 2000, 4096, 0.01


@torch.no_grad()
def read(model, documents, vocabulary):
    """[(package, lines [b, n, D] as the heads get them, questions [b, q, D], no padding [b, q], is there an answer [b])]"""
    rng, out = random.Random(5), []
    for document in documents:
        asked = [(question.ids, float((question.label == 1).any())) for question in document.questions]
        while len(asked) < len(document.questions) + STRANGE:
            other = rng.choice(documents)
            if other.package != document.package:
                asked.append((rng.choice(other.questions).ids, 0.0))
        inputs = tensors(document, [question for question, _ in asked], vocabulary, 0, len(document.tokens))
        lines, questions = model.meet(*inputs)
        lines = model.read(lines, questions, inputs[1] != 0, model.bias(places(inputs[0], inputs[4])))
        out.append((document.package, lines.half(), questions.half(), inputs[1] != 0, torch.tensor([answered for _, answered in asked])))
    return out


def fit_head(model, seen):
    """The document head once more, from where it is."""
    rng, steps = random.Random(6), HEAD_EPOCHS * len(seen)
    head = [*model.reader.parameters(), *model.answer.parameters()]
    optimizer = torch.optim.AdamW(head, lr=HEAD_RATE, weight_decay=0.05)
    for step in range(steps):
        if step % len(seen) == 0:
            order = rng.sample(seen, len(seen))
        _, lines, questions, real, answered = order[step % len(seen)]
        loss = F.binary_cross_entropy_with_logits(model.answered(lines.float(), questions.float(), real), answered)
        (loss / HEAD_TEXTS).backward()
        if (step + 1) % HEAD_TEXTS == 0:
            for group in optimizer.param_groups:
                group["lr"] = HEAD_RATE * (1 - step / steps)
            optimizer.step()
            optimizer.zero_grad()


@torch.no_grad()
def show_head(model, seen):
    """How well the texts' own questions with an answer are told from those without."""
    own = lambda values: values[:-STRANGE].tolist()
    answers = [pair for _, lines, questions, real, answered in seen for pair in zip(own(model.answered(lines.float(), questions.float(), real)), own(answered))]
    print(f"absent AUC {evaluate.auc([x for x, y in answers if y], [x for x, y in answers if not y]):.4f}", flush=True)


@torch.no_grad()
def guess(model, documents, vocabulary):
    """[(log-odds that anything answers, share of the guessed words that is found, is there an answer)] of questions with such words, those of other
    packages' texts too: without them it forgets that a text which has none of the words is another's.
    """
    rng, out = random.Random(7), []
    for document in documents:
        others = [rng.choice(documents) for _ in range(STRANGE)]
        strange = [rng.choice(other.worded.questions)._replace(kind="absent") for other in others if other.package != document.package]
        asked = document.with_questions(document.worded.questions + strange)
        for question, (_, answer) in zip(asked.questions, evaluate.raw(model, asked, vocabulary)):
            if len(question.guessed):
                out.append((answer, found(document.tokens, question.guessed, vocabulary), question.kind != "absent"))
    return out


def fit_guessed(seen):
    """A `Guessed` of what `guess` saw, by logistic regression."""
    answer, share, answered = torch.tensor(seen, dtype=torch.float32).T
    torch.manual_seed(1)
    guessed = Guessed()
    optimizer = torch.optim.LBFGS(guessed.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def step():
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(guessed(answer, share), answered)
        loss.backward()
        return loss

    optimizer.step(step)
    return guessed


@torch.no_grad()
def show_guessed(seen, guessed):
    """How well those questions are told apart by the head alone, and with what the words say after it."""
    answers = [(answer, guessed(torch.tensor(answer), torch.tensor(share)).item(), answered) for answer, share, answered in seen]
    before, after = (evaluate.auc([x[i] for x in answers if x[2]], [x[i] for x in answers if not x[2]]) for i in (0, 1))
    print(f"with words, absent AUC {before:.4f} before, {after:.4f} after", flush=True)


def look(model, documents, vocabulary):
    """[(package, input [n, SURROUNDINGS + LEXICAL], label [n], log-odds [n])] of every answerable question, lines of unknown label left out."""
    out = []
    for document, package in documents:
        for question, (emission, answer) in zip(document.questions, evaluate.raw(model, document, vocabulary)):
            if question.kind != "absent":
                log_odds = model.log_odds(emission, torch.from_numpy(document.parent.astype(np.int64)))
                known = question.label >= 0
                seen = evaluate.seen(log_odds, document, question.ids, emission, answer, vocabulary)
                out.append((package, seen[known], question.label[known], log_odds.numpy()[known]))
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
    vocabulary = Vocabulary.read(work / "vocab.txt")
    model = student(vocabulary.size)
    model.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=False)["average"])
    model.eval()
    training, _ = load_labels(work / "labelled.jsonl", vocabulary, ["lot", "other"])
    random.Random(4).shuffle(training)
    lots, others, training = ([d for d in training if d.apart == apart] for apart in ("lot", "other", None))
    others = others[:OTHERS]
    if len({d.package for d in lots}) < 2:
        raise SystemExit("labelled.jsonl has questions in forms drawn by lot for less than two packages; fetch them")
    files = [(d.whole, d.package) for d in training if d.whole is not None and len(d.whole.tokens) <= LONGEST][:FILES]
    short, long = [d for d in lots if len(d.tokens) <= LONG], [d for d in lots if len(d.tokens) > LONG]
    seen = read(model, [d for d in lots if len(d.tokens) <= evaluate.WINDOW][:ANSWER_LOTS] + others, vocabulary)
    held_out = set(sorted({s[0] for s in seen})[::5])
    own, other = copy.deepcopy(model), [s for s in seen if s[0] in held_out]
    show_head(own, other)
    fit_head(own, [s for s in seen if s[0] not in held_out])
    show_head(own, other)
    fit_head(model, seen)
    del seen, other
    seen = guess(own, [d for d in lots if d.package in held_out and len(d.tokens) <= evaluate.WINDOW and d.worded.questions], vocabulary)
    guessed = fit_guessed(seen)  # three numbers, where the head was not fitted
    show_guessed(seen, guessed)
    windows = [d for d in training if d.first] + [d for d in training if not d.first][:WINDOWS] + short[:LOTS] + long[:LONG_LOTS] + others
    seen = look(model, [(d, d.package) for d in windows] + files, vocabulary)
    packages = sorted({s[0] for s in seen})
    held_out = set(packages[::5])
    show("training packages held out", [s for s in seen if s[0] in held_out], fit([s for s in seen if s[0] not in held_out]))
    refiner = fit(seen)
    head = {name: tensor for name, tensor in model.state_dict().items() if name.startswith(("reader.", "answer."))}
    after = {f"{part}.{name}": tensor for part, fitted in (("guessed", guessed), ("refine", refiner)) for name, tensor in fitted.state_dict().items()}
    torch.save(head | after, work / "refine.pt")


if __name__ == "__main__":
    main()
