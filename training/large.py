#!/usr/bin/env python3
"""large.py WORK --minutes N [--texts-of N] [--alone]: the transformer over lines, trained with what a pretrained language model makes of
lines and questions beside what the skimmer's encoder makes of them.

WORK holds labelled.jsonl, files.jsonl and what language.py made of them; the encoder is that of the weights that ship, and stands still. `--texts-of 1000`
trains on so many texts, the first labels first; `--alone` without the language model, to compare. Prints figures on the validation windows every few
minutes, and leaves WORK/large.pt, or WORK/large-alone.pt.
"""
import argparse
import copy
import os
import pathlib
import random
import time

os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", "100000000000")

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import evaluate
from data import APART, Question, asked_window, load_labels, some_width, tensors
from language import LINE_DEPTHS, QUESTION_DEPTHS
from model import places, student
from text import Vocabulary
from train import LONGEST_STEP, MATRIX, follow, label_loss, load_average, of_peak

WIDTH = 576           # of the language model
SHIPPED = pathlib.Path(__file__).parent.parent / "models" / "embedded"
CERTAIN = 6.0         # standard deviations; a few numbers of such states are far larger than all others
NORMALISED = 200      # texts by which the language model's states are scaled
RATE, AVERAGE, WEIGHT_OF_ANSWER = 5e-4, 0.997, 0.2
STILL = ("encoder", "match", "pool", "input", "question", "position", "idf")  # parts of the skimmer
SHARES = {"lot": 0.4, "other": 0.1, "near": 0.1}


class Beside(nn.Module):
    """Lines [n, 3 WIDTH] and questions [b, q, 2 WIDTH] of the language model -> what is added to the lines [b, n, D], and questions [b, q, D]."""

    def __init__(self, D, shared=64):
        super().__init__()
        line, question = WIDTH * len(LINE_DEPTHS), WIDTH * len(QUESTION_DEPTHS)
        for name, size in (("line", line), ("question", question)):
            self.register_buffer(f"{name}_mean", torch.zeros(size)), self.register_buffer(f"{name}_scale", torch.ones(size))
        self.lines, self.question = nn.Linear(line, D), nn.Linear(question, D)
        self.line_key, self.question_key, self.weight = nn.Linear(line, shared), nn.Linear(question, shared), nn.Linear(question, 1)
        self.agreement, self.dropout = nn.Linear(2 * shared + 1, D), nn.Dropout(0.1)

    def forward(self, lines, questions, real):
        lines = self.dropout(((lines - self.line_mean) / self.line_scale).clamp(-CERTAIN, CERTAIN))
        questions = self.dropout(((questions - self.question_mean) / self.question_scale).clamp(-CERTAIN, CERTAIN))
        own, asked = self.line_key(lines), self.question_key(questions)
        weight = self.weight(questions).squeeze(-1).masked_fill(~real, -1e4).softmax(-1)
        about = (weight.unsqueeze(1) @ asked).squeeze(1)
        alike = (weight.unsqueeze(1) @ (F.normalize(asked, dim=-1) @ F.normalize(own, dim=-1).T)).squeeze(1)
        near = F.avg_pool1d(own.T.unsqueeze(0), 5, 1, 2, count_include_pad=False)[0].T
        agreement = torch.cat([own * about.unsqueeze(1), near * about.unsqueeze(1), 8 * alike.unsqueeze(-1)], -1)
        return self.lines(lines) + self.agreement(agreement), self.question(questions)


class Large(nn.Module):
    """A skimmer whose encoder stands still, and what is beside it, or nothing."""

    def __init__(self, skimmer, beside):
        super().__init__()
        self.skimmer, self.beside = skimmer, beside

    def forward(self, inputs, read):
        with torch.no_grad():
            x, question = self.skimmer.meet(*inputs)
        real = inputs[1] != 0
        if self.beside:
            lines, questions, real_too = read
            more, asked = self.beside(lines, questions, real_too)
            x, question, real = x + more, torch.cat([question, asked], 1), torch.cat([real, real_too], 1)
        return self.skimmer.judge(x, question, real, self.skimmer.bias(places(inputs[0], inputs[4])))


class Read:
    """What language.py left of a text: its lines [n, 3 WIDTH], and its questions."""

    def __init__(self, folder, document):
        with np.load(folder / f"{document.name}.npz") as read:
            self.lines = torch.from_numpy(read["lines"].astype(np.float32)).flatten(1)
            self.states, self.starts, self.foreign = read["states"], read["starts"], read["foreign"].tolist()
            self.at = {question: i for i, question in enumerate(read["questions"].tolist())}

    def questions(self, said):
        """[b, q, 2 WIDTH], and which of it is no padding"""
        states = [self.states[slice(*self.starts[self.at[question]:][:2])] for question in said]
        out = torch.zeros(len(said), max(map(len, states)), WIDTH * len(QUESTION_DEPTHS))
        for i, state in enumerate(states):
            out[i, :len(state)] = torch.from_numpy(state.astype(np.float32)).flatten(1)
        return out, torch.arange(out.shape[1]) < torch.tensor([len(state) for state in states])[:, None]


def sample(documents, vocabulary, folder, rng):
    """A window, some of its questions, those that language.py chose as answered elsewhere, and their labels. A question that is answered in the text but not
    in the window is left out: its states know the answer.
    """
    document = rng.choice(documents)
    start, end, chosen = asked_window(document, some_width(rng), rng)
    chosen = [question for question in chosen if question.kind == "absent" or (question.label[start:end] == 1).any()]
    read = Read(folder, document)
    chosen += elsewhere(document, read, vocabulary)
    return document, chosen, np.stack([question.label[start:end] for question in chosen]).astype(np.int64), read, start, end


def elsewhere(document, read, vocabulary):
    """Questions of which nothing answers in this text."""
    out, blank = [], np.where(document.features[:, 1] > 0, -1, 0).astype(np.int8)
    for said in read.foreign:
        ids = np.array(vocabulary.question_ids(said.encode()), dtype=np.uint16)
        if len(ids):
            out.append(Question(ids, blank, "elsewhere", ids[:0], said))
    return out


def judged(model, document, questions, vocabulary, read, start, end):
    """Emissions [b, n] and whether anything answers [b], of the lines [start, end)."""
    inputs = tensors(document, [question.ids for question in questions], vocabulary, start, end)
    return model(inputs, model.beside and (read.lines[start:end], *read.questions([question.said for question in questions])))


@torch.no_grad()
def figures(model, documents, vocabulary, folder):
    """Those of evaluate.py, and how well a text's questions are told from what is answered elsewhere."""
    model.eval()
    scored, answered, others = [], [], []
    for document in documents:
        read = Read(folder, document)
        foreign = elsewhere(document, read, vocabulary)
        emission, answer = judged(model, document, document.questions + foreign, vocabulary, read, 0, len(document.tokens))
        for i, question in enumerate(document.questions):
            log_odds = evaluate.refined(model.skimmer, None, document, question.ids, emission[i], answer[i], vocabulary)
            scored.append((document, question.kind, 1 / (1 + np.exp(-log_odds)), question.label, float(answer[i].sigmoid())))
            if question.kind != "absent":
                answered.append(float(answer[i]))
        others += answer[len(document.questions):].tolist()
    model.train()
    evaluate.show(evaluate.report(scored, np.arange(0.04, 0.9, 0.02)))
    print(f"  AUC against what is answered elsewhere {evaluate.auc(answered, others):.3f}", flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("work", type=pathlib.Path)
    arguments.add_argument("--minutes", type=float, required=True)
    arguments.add_argument("--texts-of", type=int)
    arguments.add_argument("--alone", action="store_true")
    arguments.add_argument("--report", type=float, default=5, help="minutes between figures")
    args = arguments.parse_args()
    torch.set_num_threads(os.cpu_count())
    torch.manual_seed(1)
    vocabulary, folder = Vocabulary.read(SHIPPED / "vocab.txt"), args.work / "language"
    has = lambda document: document.questions and (folder / f"{document.name}.npz").exists()
    labelled, validation = load_labels(args.work / "labelled.jsonl", vocabulary, APART)
    labelled = sorted(filter(has, labelled), key=lambda document: not document.first)[:args.texts_of]
    validation = list(filter(has, validation))
    print(f"{len(labelled)} texts to train on, {len(validation)} of validation, {sum(len(document.questions) for document in validation)} questions", flush=True)
    kinds = {name: [document for document in labelled if document.apart == name] for name in (None, *APART)}

    # The encoder stands still and the CRF goes on from what ships; what is between them begins anew.
    skimmer, anew = load_average(student(vocabulary.size), SHIPPED), student(vocabulary.size).state_dict()
    skimmer.load_state_dict({name: x for name, x in anew.items() if not name.startswith((*STILL, "transition", "ends"))}, strict=False)
    model = Large(skimmer, None if args.alone else Beside(skimmer.config["width"]))
    if model.beside:
        known = [Read(folder, document) for document in labelled[:NORMALISED]]
        states = torch.from_numpy(np.concatenate([read.states for read in known]).astype(np.float32)).flatten(1)
        for name, states in (("line", torch.cat([read.lines for read in known])), ("question", states)):
            getattr(model.beside, f"{name}_mean").copy_(states.mean(0)), getattr(model.beside, f"{name}_scale").copy_(states.std(0) + 0.05)
    learns = [(name.removeprefix("skimmer."), p) for name, p in model.named_parameters() if not name.removeprefix("skimmer.").startswith(STILL)]
    is_matrix = lambda name: MATRIX.search(name) or name == "beside.lines.weight"
    biases = [p for name, p in learns if name in ("relation", "shared")]
    optimizers = [torch.optim.AdamW([{"params": [p for name, p in learns if not is_matrix(name) and name not in ("relation", "shared")], "base": RATE, "weight_decay": 0.03},
                                     {"params": biases, "base": 10 * RATE, "weight_decay": 0.0}], lr=RATE, betas=(0.9, 0.98), fused=True),
                  torch.optim.Muon([{"params": [p for name, p in learns if is_matrix(name)], "base": RATE}], weight_decay=0.03, adjust_lr_fn="match_rms_adamw")]
    average, rng = {name: p.detach().clone() for name, p in model.named_parameters()}, random.Random(1)

    def report(line):
        shadow = copy.deepcopy(model)
        for name, p in shadow.named_parameters():
            p.data.copy_(average[name])
        print(line, flush=True)
        figures(shadow, validation, vocabulary, folder)
        torch.save(shadow.state_dict(), args.work / ("large-alone.pt" if args.alone else "large.pt"))

    spent, step, running, reported = 0.0, 0, None, 0.0
    model.train()
    while spent < args.minutes * 60:
        began, progress = time.time(), spent / (args.minutes * 60)
        for group in (group for optimizer in optimizers for group in optimizer.param_groups):
            group["lr"] = group["base"] * of_peak(step, progress)
        model.zero_grad()
        roll = rng.random()
        kind = next((name for name, share in SHARES.items() if kinds[name] and (roll := roll - share) < 0), None)
        total = 0.0
        for _ in range(2):
            document, questions, label, read, start, end = sample(kinds[kind], vocabulary, folder, rng)
            emission, answer = judged(model, document, questions, vocabulary, read, start, end)
            loss = label_loss(model.skimmer, emission, answer, torch.from_numpy(label), WEIGHT_OF_ANSWER) / 2
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_([p for _, p in learns], 1.0)
        for optimizer in optimizers:
            optimizer.step()
        step += 1
        follow(average, dict(model.named_parameters()), AVERAGE, step)
        spent += min(time.time() - began, LONGEST_STEP)
        running = total if running is None else 0.98 * running + 0.02 * total
        if spent - reported > args.report * 60 or spent >= args.minutes * 60:
            reported = spent
            report(f"{spent / 60:.1f} min, step {step}, loss {running:.3f}")


if __name__ == "__main__":
    main()
