"""Training samples: labelled windows and mined questions, encoded once and cut into windows on the fly."""
import copy
import hashlib
import json
import pathlib
import random
import re
import typing

import numpy as np
import torch

import logs
from mine import FORBIDDEN
from text import FEATURES, LEXICAL, LINE_TOKENS, lexical, line_features

LONGEST = 1600       # lines kept of a mined file
LONGEST_FILE = 4000  # lines of a file around a labelled window
MOST = 8             # questions asked of a window at once
WIDEST = 384         # lines of a window
FOREIGN = 2          # questions at most, of those answered elsewhere, that a window is asked too
CUT = 0.25           # share of labelled windows that lose the lines that answer one of their questions
LARGEST_CUT = 0.3    # share of the lines
CODE_TOKENS = 24     # subtokens read of a line of code in training: hardly any has more, and all of a window are padded to the longest
COPIED = 0.3         # share of a text's telling lines that may be in validation files
APART = ("near", "lot", "other")  # labels that not every stage learns from
SEARCH_LINE = re.compile(r"^\d+[:-] ?")


# The split is by package, and listed, so that every language is in it and adding packages never moves it.
VALIDATION = frozenset(json.loads((pathlib.Path(__file__).parent / "labels" / "validation.json").read_text()))


class Question(typing.NamedTuple):
    """What a text is asked."""
    ids: np.ndarray
    label: np.ndarray    # [n] int8: 1 keep, 0 drop, -1 unknown
    kind: str
    guessed: np.ndarray  # ids of the words that the code may use, where some come with the question
    said: str            # as it was asked


class Document:
    """An encoded text: token ids [n, width], features [n, FEATURES], parents [n], and its questions."""

    def __init__(self, lines, vocabulary, width=LINE_TOKENS):
        raw = [line.encode("utf-8", "replace") for line in lines]
        self.tokens = np.zeros((len(raw), width), dtype=np.uint16)
        for i, line in enumerate(raw):
            ids = vocabulary.ids(line, width)
            self.tokens[i, :len(ids)] = ids
        features, parent = line_features(raw)
        self.features, self.parent = features, parent.astype(np.uint16)
        self.questions = []

    def with_questions(self, questions):
        """The same text, asked other questions."""
        out = copy.copy(self)
        out.questions = questions
        return out

    def ask(self, question, keep, kind, vocabulary, unknown=()):
        label = np.zeros(len(self.tokens), dtype=np.int8)
        label[[i for i in keep if i < len(label)]] = 1
        label[self.features[:, 1] > 0] = -1  # blank lines are never scored
        label[list(unknown)] = -1
        ids = vocabulary.question_ids(question.encode())
        if ids and (kind == "absent" or (label == 1).any()):
            guessed = np.array(vocabulary.guess_ids(question.encode()), dtype=np.uint16)
            self.questions.append(Question(np.array(ids, dtype=np.uint16), label, kind, guessed, question))


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


def worded(row):
    """A labelled question followed by words that the code may use, if it comes with some."""
    return f"{row['natural'] or row['question']} ({row['words']})" if row["words"] else None


def name_of(lines):
    """A text's name, by what it says."""
    return hashlib.sha1("\n".join(lines).encode("utf-8", "replace")).hexdigest()[:20]


def telling(lines):
    """Lines long enough to be known again."""
    return {line.strip() for line in lines if len(line.strip()) >= 40}


def validation_lines(path):
    """The telling lines of the files that validation windows are from: packages carry copies of each other's files."""
    windows = {row["id"] for row in map(json.loads, open(path)) if row["package"] in VALIDATION}
    return {line for row in map(json.loads, open(path.with_name("files.jsonl"))) if row["id"] in windows for line in telling(row["lines"])}


def is_copy(lines, known):
    own = telling(lines)
    return len(own & known) > COPIED * len(own)


def load_labels(path, vocabulary, also=()):
    """(training documents, validation documents), each with .lang, .package, .paths, .search, .first (of the first labels) and .apart set: "near" where
    it is asked what was asked of another part of its file or package, "lot" where forms of questions were drawn by lot, "other" where it is a document,
    configuration, what a program printed, or code in further languages, or none. Those with one
    are left out unless it is in `also`.

    Those for training have their questions in plain words, and those followed by words that the code may use, among the others; those for validation
    have them apart, in .natural and .worded. (.worded is filled for both.) Those for training that are part of a file also have .whole: a document
    of the file, whose questions know nothing of the other lines, and .span, where in it they are.
    """
    train, validation, seen, known = [], [], {}, validation_lines(path)
    for row in map(json.loads, open(path)):
        apart = next((name for name in APART if row["id"].startswith(f"{name}-")), None)
        if row["package"] in FORBIDDEN or row["package"] not in VALIDATION and is_copy(row["lines"], known) or apart and apart not in also:
            continue
        if row["id"] not in seen:
            lines = as_skimmed(row["lines"])
            document = Document(lines, vocabulary, LINE_TOKENS if apart == "other" else CODE_TOKENS)
            document.name, document.lang, document.package, document.search = name_of(lines), row["lang"], row["package"], row["lines"][0].startswith("== ")
            document.paths, document.whole, document.first = frozenset(row["paths"]), None, row["id"].startswith("train-")
            document.apart = apart
            document.natural, document.worded = document.with_questions([]), document.with_questions([])
            seen[row["id"]] = document
            (validation if row["package"] in VALIDATION else train).append(document)
        document = seen[row["id"]]
        document.ask(row["question"], row["keep"], row["kind"], vocabulary)
        if row["natural"]:
            asked = document.natural if document.package in VALIDATION else document
            asked.ask(row["natural"], row["keep"], row["kind"], vocabulary)
        if row["words"]:
            for asked in [document.worded] if document.package in VALIDATION else [document.worded, document]:
                asked.ask(worded(row), row["keep"], row["kind"], vocabulary)
    for row in map(json.loads, open(path.with_name("files.jsonl"))):
        document = seen.get(row["id"])
        if document is None or document.package in VALIDATION or len(row["lines"]) > LONGEST_FILE:
            continue
        start = row["start"]
        if start == 0 and len(document.tokens) >= len(row["lines"]) - 1:
            continue  # the window is the file, but for a last line at most, which is empty in most
        document.whole = Document(row["lines"], vocabulary, CODE_TOKENS)
        document.span = (start, start + len(document.tokens))
        for question in document.questions:
            everywhere = np.full(len(row["lines"]), -1, dtype=np.int8)
            everywhere[slice(*document.span)] = question.label
            document.whole.questions.append(question._replace(label=everywhere))
    return train, validation


def load_mined(path, vocabulary, most):
    """`most` files of training packages, taken evenly from all. A header that encloses the answer may be kept or not."""
    known = validation_lines(path.with_name("labelled.jsonl"))
    with open(path) as file:
        share, out = min(1, most / sum(1 for _ in file)), []
    with open(path) as file:
        for i, line in enumerate(file):
            if int(i * share) == int((i - 1) * share):
                continue
            row = json.loads(line)
            if row["package"] in VALIDATION or row["package"] in FORBIDDEN or is_copy(row["lines"], known):
                continue
            document = Document(row["lines"][:LONGEST], vocabulary, CODE_TOKENS)
            for question, keep in row["questions"]:
                keep = [i for i in keep if i < len(document.tokens)]
                if keep:
                    document.ask(question, keep, "mined", vocabulary, enclosing(document.parent, keep))
            document.lang, document.package, document.search, document.paths = row["lang"], row["package"], False, frozenset()
            if document.questions:
                out.append(document)
    return out


def place(document, label, width, rng):
    """A window of at most `width` lines, around an answer line when there is one."""
    n = len(document.tokens)
    if n <= width:
        return 0, n
    kept = np.flatnonzero(label == 1)
    anchor = int(rng.choice(list(kept))) if len(kept) else rng.randrange(n)
    start = max(0, min(n - width, anchor - rng.randrange(width)))
    return start, start + width


def by_package(documents):
    out = {}
    for document in documents:
        out.setdefault(document.package, []).append(document)
    return out


def foreign(document, documents, packages, rng):
    """Questions that are answered in other documents, of the same package or of any: the labelled ones without an answer are known by their style."""
    out = []
    for _ in range(rng.randint(0, FOREIGN)):
        other = rng.choice(packages[document.package] if rng.random() < 0.5 else documents)
        answered = [question.ids for question in other.questions if question.kind != "absent"]
        if answered and other is not document and not (other.paths & document.paths):  # one that shares a file might be answered here
            out.append(rng.choice(answered))
    return out


def without_answer(document, question):
    """The document without the lines that answer a question, which is now one that the text nearly answers; others that these lines answered
    in part are left out.
    """
    stays = question.label != 1
    number = np.cumsum(stays) - 1
    lines, above = np.arange(len(stays)), document.parent.astype(np.int64)
    parent = above
    while (gone := stays & ~stays[parent]).any():  # of a line that went, the one that enclosed it; at the top the line itself
        parent = np.where(gone, np.where(above[parent] == parent, lines, above[parent]), parent)
    out = document.with_questions([])
    out.tokens, out.features, out.parent = document.tokens[stays], document.features[stays], number[parent[stays]].astype(np.uint16)
    for asked in document.questions:
        left, before = (asked.label[stays] == 1).sum(), (asked.label == 1).sum()
        if left == before or left == 0:
            out.questions.append(asked._replace(label=asked.label[stays], kind=asked.kind if left else "absent"))
    return out


def asked_window(document, width, rng):
    """A window of a document and what it is asked: a question that chose the place, others of whose answer it has half at least, and labelled ones of
    whose answer it has nothing, be it that the rest of the document has: (start, end, questions).
    """
    first = rng.choice(document.questions)
    start, end = place(document, first.label, width, rng)
    chosen = [first]
    for other in rng.sample(document.questions, len(document.questions)):
        kept, inside = (other.label == 1).sum(), (other.label[start:end] == 1).sum()
        fits = 2 * inside >= kept if inside else other.kind != "mined"  # a mined question may be answered in other places, too
        if len(chosen) < MOST and other is not first and fits:
            chosen.append(other)
    return start, end, chosen


def draw(documents, packages, width, rng, document=None):
    """A window of a document and its questions, perhaps some of other documents among them: (document, [question ids], labels [b, lines] int64, start, end)."""
    document = document or rng.choice(documents)
    start, end, chosen = asked_window(document, width, rng)
    ids, labels = [], []
    for question in chosen:
        read = question.ids
        if rng.random() < 0.2:
            fewer = read[np.random.rand(len(read)) > 0.15]
            read = fewer if len(fewer) else read
        ids.append(read), labels.append(question.label[start:end])
    for question in foreign(document, documents, packages, rng):
        ids.append(question), labels.append(np.where(chosen[0].label[start:end] < 0, -1, 0).astype(np.int8))
    return document, ids, np.stack(labels).astype(np.int64), start, end


def mined_sample(documents, packages, rng):
    return draw(documents, packages, rng.choice((96, 128, 192, 256)), rng)


def some_width(rng):
    return rng.randrange(60, 300) if rng.random() < 0.4 else WIDEST


def labelled_sample(documents, packages, rng):
    """A labelled window as a text of its own, also with an answer cut out, or as a part of its file: then with the evidence of the file, and
    perhaps lines around it.
    """
    document = rng.choice(documents)
    if rng.random() < CUT:
        question = rng.choice(document.questions)
        if 0 < (question.label == 1).sum() < LARGEST_CUT * len(document.tokens):
            return draw(documents, packages, WIDEST, rng, without_answer(document, question))
    if document.whole is None or len(document.tokens) > WIDEST or rng.random() < 0.5:
        return draw(documents, packages, some_width(rng), rng, document)
    (start, end), whole = document.span, document.whole
    extra = WIDEST - (end - start) if rng.random() < 0.6 else 0
    before = min(start, rng.randint(0, extra))
    start, end = start - before, min(len(whole.tokens), end + extra - before)
    known = [q for q in whole.questions if q.kind != "absent" or not extra]  # what the window lacks may be around it
    chosen = rng.sample(known, min(MOST, len(known)))
    if not chosen:
        return labelled_sample(documents, packages, rng)
    ids, labels = [question.ids for question in chosen], [question.label[start:end] for question in chosen]
    for question in foreign(document, documents, packages, rng):
        ids.append(question), labels.append(np.where(whole.features[start:end, 1] > 0, -1, 0).astype(np.int8))
    return whole, ids, np.stack(labels).astype(np.int64), start, end


def log_sample(vocabulary, rng):
    lines, question, keep = logs.sample(rng)
    document = Document(lines, vocabulary)
    document.ask(question, keep, "log" if keep else "absent", vocabulary)
    if not document.questions:
        return log_sample(vocabulary, rng)
    question = document.questions[0]
    start, end = place(document, question.label, WIDEST, rng)
    return document, [question.ids], question.label[None, start:end].astype(np.int64), start, end


def tensors(document, questions, vocabulary, start, end):
    """Inputs of `Skimmer.forward` for the lines [start, end): lexical evidence is that of the whole text, as at inference."""
    tokens = document.tokens[start:end].astype(np.int64)
    t, q = max(1, int((tokens != 0).sum(1).max())), max(map(len, questions))
    ids, idf = np.zeros((len(questions), q), np.int64), np.zeros((len(questions), q), np.float32)
    features = np.zeros((len(questions), end - start, FEATURES + LEXICAL), np.float32)
    features[:, :, :FEATURES] = document.features[start:end]
    for i, question in enumerate(questions):
        lex, question_idf = lexical(document.tokens, question, vocabulary)
        ids[i, :len(question)], idf[i, :len(question)], features[i, :, FEATURES:] = question, question_idf, lex[start:end]
    parent = document.parent[start:end].astype(np.int64)
    parent = np.where(parent < start, np.arange(end - start), parent - start)
    return [torch.from_numpy(x) for x in (tokens[:, :t], ids, idf, features, parent)]
