"""Fits the head that says whether anything answers, on what the finished student makes of training windows.

    python3 answer.py WORK [CHECKPOINT.pt]

The labelled questions without an answer are known by their words: a model that sees no code tells them from the others with an AUC of 0.93 on
validation, and the head learns that too. So each window is asked here what it answers and as many questions that other windows answer, also
without their function words, and the labelled ones without an answer are the lesser part. Changes the head in the checkpoint's averages.
"""
import pathlib
import random
import sys

import numpy as np
import torch
import torch.nn.functional as F

import evaluate
from data import WIDEST, by_package, load_labels, tensors
from model import student
from text import Vocabulary

WINDOWS = 1200
STEPS, RATE, DECAY = 1500, 0.01, 0.03


def asked(window, windows, packages, vocabulary, rng):
    """[(question ids, whether the window answers)]"""
    own = [question for question, _, kind in window.questions if kind != "absent"]
    out = [(question, True) for question in own] + [(question, False) for question, _, kind in window.questions if kind == "absent"]
    for _ in own:
        other = rng.choice(packages[window.package] if rng.random() < 0.5 else windows)
        answered = [question for question, _, kind in other.questions if kind != "absent"]
        if answered and other is not window and not (other.paths & window.paths):
            out.append((rng.choice(answered), False))
    telling = lambda question: question[~np.isin(question, list(vocabulary.stop))]
    return out + [(telling(question), answers) for question, answers in out if len(telling(question)) > 1 and rng.random() < 0.3]


@torch.no_grad()
def look(model, windows, vocabulary):
    """What the head sees of every question [n, 2 D], and whether the window answers it [n]."""
    rng, packages, seen, answers = random.Random(5), by_package(windows), [], []
    hook = model.answer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    for window in windows:
        questions = asked(window, windows, packages, vocabulary, rng)
        if questions and len(window.tokens) <= WIDEST:
            model(*tensors(window, [question for question, _ in questions], vocabulary, 0, len(window.tokens)))
            answers += [answer for _, answer in questions]
    hook.remove()
    return torch.cat(seen), torch.tensor(answers)


def fit(seen, answers):
    """A linear head, with positives and negatives weighing the same."""
    torch.manual_seed(1)
    mean, spread = seen.mean(0), seen.std(0) + 0.01
    head = torch.nn.Linear(seen.shape[1], 1)
    torch.nn.init.zeros_(head.weight)
    optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=DECAY)
    x, y = (seen - mean) / spread, answers.float()
    weight = torch.where(answers, 1 / answers.float().mean(), 1 / (1 - answers.float().mean()))
    for step in range(STEPS):
        loss = F.binary_cross_entropy_with_logits(head(x).squeeze(1), y, weight=weight)
        optimizer.zero_grad()
        loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - step / STEPS)
        optimizer.step()
    with torch.no_grad():
        head.weight /= spread
        head.bias -= head.weight @ mean
    return head


@torch.no_grad()
def rescale(head, former, seen):
    """Gives the head the mean and spread of the former one, which a refiner may have been fitted on."""
    now, then = head(seen), former(seen)
    scale = then.std() / now.std()
    head.weight *= scale
    head.bias.copy_(head.bias * scale + then.mean() - scale * now.mean())


def main():
    work = pathlib.Path(sys.argv[1])
    checkpoint = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else work / "student.pt"
    vocabulary = Vocabulary([w.encode() for w in (work / "vocab.txt").read_text().split()])
    saved = torch.load(checkpoint, map_location="cpu", weights_only=False)
    model = student(vocabulary.size)
    model.load_state_dict(saved["average"])
    model.eval()
    training, _ = load_labels(work / "labelled.jsonl", vocabulary)
    random.Random(4).shuffle(training)
    windows = training[:WINDOWS]
    held_out = set(sorted({window.package for window in windows})[::5])
    seen, answers = look(model, [w for w in windows if w.package not in held_out], vocabulary)
    unseen, truth = look(model, [w for w in windows if w.package in held_out], vocabulary)
    head = fit(seen, answers)
    with torch.no_grad():
        for when, scorer in (("before", model.answer), ("after", head)):
            score = scorer(unseen).squeeze(1)
            print(f"training packages held out, {when}: AUC {evaluate.auc(score[truth], score[~truth]):.3f}", flush=True)
    head = fit(torch.cat([seen, unseen]), torch.cat([answers, truth]))
    rescale(head, model.answer, torch.cat([seen, unseen]))
    saved["average"]["answer.weight"], saved["average"]["answer.bias"] = head.weight.detach(), head.bias.detach()
    torch.save(saved, checkpoint)


if __name__ == "__main__":
    main()
