"""Training samples: labelled windows and mined questions, encoded once and cut into windows on the fly."""
import json
import pathlib
import random
import re

import numpy as np
import torch

import logs
from text import FEATURES, LEXICAL, LINE_TOKENS, QUESTION_TOKENS, lexical, line_features

LONGEST = 1600     # lines kept of a mined file
SEARCH_LINE = re.compile(r"^\d+[:-] ?")


# The split is by package, and listed, so that every language is in it and adding packages never moves it.
VALIDATION = frozenset(json.loads((pathlib.Path(__file__).parent / "labels" / "validation.json").read_text()))


class Document:
    """An encoded text: token ids [n, LINE_TOKENS], features [n, FEATURES], parents [n], and its questions.

    questions: [(question ids, label [n] int8: 1 keep, 0 drop, -1 unknown, kind)]
    """

    def __init__(self, lines, vocabulary):
        raw = [line.encode("utf-8", "replace") for line in lines]
        self.tokens = np.zeros((len(raw), LINE_TOKENS), dtype=np.uint16)
        for i, line in enumerate(raw):
            ids = vocabulary.ids(line, LINE_TOKENS)
            self.tokens[i, :len(ids)] = ids
        features, parent = line_features(raw)
        self.features, self.parent = features, parent.astype(np.uint16)
        self.questions = []

    def ask(self, question, keep, kind, vocabulary, unknown=()):
        label = np.zeros(len(self.tokens), dtype=np.int8)
        label[[i for i in keep if i < len(label)]] = 1
        label[self.features[:, 1] > 0] = -1  # blank lines are never scored
        label[list(unknown)] = -1
        ids = vocabulary.ids(question.encode(), QUESTION_TOKENS)
        if ids and (kind == "absent" or (label == 1).any()):
            self.questions.append((np.array(ids, dtype=np.uint16), label, kind))


def enclosing(parent, lines):
    """Every line that encloses one of `lines` by indentation."""
    out = set()
    for i in lines:
        for _ in range(12):
            up = int(parent[i])
            if up == i:
                break
            out.add(up)
            i = up
    return out - set(lines)


def as_skimmed(lines):
    """Search results are labelled as `12: text`; the skimmer gets the text without the number."""
    if lines and lines[0].startswith("== "):
        return [line if line.startswith("== ") else SEARCH_LINE.sub("", line) for line in lines]
    return lines


def load_labels(path, vocabulary):
    """(training documents, validation documents), each with .lang, .package and .search set."""
    train, validation, seen = [], [], {}
    for row in map(json.loads, open(path)):
        if row["id"] not in seen:
            document = Document(as_skimmed(row["lines"]), vocabulary)
            document.lang, document.package, document.search = row["lang"], row["package"], row["lines"][0].startswith("== ")
            seen[row["id"]] = document
            (validation if row["package"] in VALIDATION else train).append(document)
        seen[row["id"]].ask(row["question"], row["keep"], row["kind"], vocabulary)
    return train, validation


def load_mined(path, vocabulary, validation=False):
    """Files of training packages, or of validation packages. A header that encloses the answer may be kept or not."""
    out = []
    for row in map(json.loads, open(path)):
        if (row["package"] in VALIDATION) != validation:
            continue
        document = Document(row["lines"][:LONGEST], vocabulary)
        for question, keep in row["questions"]:
            keep = [i for i in keep if i < len(document.tokens)]
            if keep:
                document.ask(question, keep, "mined", vocabulary, enclosing(document.parent, keep))
        document.lang, document.package, document.search = row["lang"], row["package"], False
        if document.questions:
            out.append(document)
    return out


def cut(document, question, label, vocabulary, start, end):
    """One sample of the lines [start, end): lexical evidence is that of the whole text, as at inference."""
    lex, question_idf = lexical(document.tokens, question, vocabulary.stop)
    parent = document.parent[start:end].astype(np.int64)
    parent = np.where(parent < start, np.arange(end - start), parent - start)
    return (document.tokens[start:end], question, question_idf, document.features[start:end], lex[start:end], parent, label[start:end])


def place(document, label, width, rng):
    """A window of at most `width` lines, around an answer line when there is one."""
    n = len(document.tokens)
    if n <= width:
        return 0, n
    kept = np.flatnonzero(label == 1)
    anchor = int(rng.choice(list(kept))) if len(kept) else rng.randrange(n)
    start = max(0, min(n - width, anchor - rng.randrange(width)))
    return start, start + width


def mined_sample(documents, vocabulary, rng):
    document = rng.choice(documents)
    question, label, _ = rng.choice(document.questions)
    if rng.random() < 0.1:  # a question of another file: nothing answers it
        question = rng.choice(rng.choice(documents).questions)[0]
        label = np.where(label < 0, label, 0).astype(np.int8)
    start, end = place(document, label, rng.choice((128, 192, 256, 384)), rng)
    return cut(document, question, label, vocabulary, start, end)


def labelled_sample(documents, vocabulary, rng):
    document = rng.choice(documents)
    question, label, kind = rng.choice(document.questions)
    if rng.random() < 0.2:
        kept = question[np.random.rand(len(question)) > 0.15]
        question = kept if len(kept) else question
    n = len(document.tokens)
    start, end = place(document, label, rng.randrange(60, n) if n > 80 and rng.random() < 0.4 else 384, rng)
    return cut(document, question, label, vocabulary, start, end)


def log_sample(vocabulary, rng):
    lines, question, keep = logs.sample(rng)
    document = Document(lines, vocabulary)
    document.ask(question, keep, "log" if keep else "absent", vocabulary)
    ids, label, _ = document.questions[0]
    start, end = place(document, label, 384, rng)
    return cut(document, ids, label, vocabulary, start, end)


def collate(samples):
    """Pads samples to one batch of tensors, in the order that `Skimmer.forward` takes them, then labels and the line mask."""
    b, n = len(samples), max(len(s[0]) for s in samples)
    t = max(1, max(int((s[0] != 0).sum(1).max()) for s in samples))
    q = max(len(s[1]) for s in samples)
    tokens, question, question_idf = np.zeros((b, n, t), np.int64), np.zeros((b, q), np.int64), np.zeros((b, q), np.float32)
    features, parent = np.zeros((b, n, FEATURES + LEXICAL), np.float32), np.tile(np.arange(n), (b, 1))
    label, mask = np.full((b, n), -1, np.int64), np.zeros((b, n), bool)
    for i, (tok, ques, idf, feat, lex, par, lab) in enumerate(samples):
        m = len(tok)
        tokens[i, :m], question[i, :len(ques)], question_idf[i, :len(ques)] = tok[:, :t], ques, idf
        features[i, :m, :FEATURES], features[i, :m, FEATURES:] = feat, lex
        parent[i, :m], label[i, :m], mask[i, :m] = par, lab, True
    return [torch.from_numpy(x) for x in (tokens, question, question_idf, features, parent, mask, label)]
