"""Writes a checkpoint as the files that are built into the binary, and golden outputs for the Rust test.

    python3 export.py WORK CHECKPOINT.pt OUT_DIR GOLDEN.json

WORK holds refine.pt, the document head, what guessed words say after it, and the refiner that refine.py fitted after the same checkpoint.

OUT_DIR gets model.safetensors (bytes with float32 steps, and float16), config.json (with the thresholds that are best on validation windows, asked in both wordings and with words) and vocab.txt, with the word that each is a form of behind it.
"""
import json
import pathlib
import re
import sys

import numpy as np
import torch
from safetensors.torch import save_file

import evaluate
from data import Document, load_labels
from model import Guessed, Refiner, student
from text import Vocabulary

BYTES = re.compile(r"^(blocks\.\d+\.(qkv|out|cross_q|cross_kv|cross_out|up|down)|reader\.(q|kv|found)|input|question|match|encoder\.conv2?)\.weight$")
FLOATS = re.compile(r"^(emission|reader\.weight|answer|guessed\.weigh|refine\.(up|down))\.weight$")
EMBEDDING = "encoder.embedding.weight"
ZERO = 128                # what stands for 0
LARGEST_OF_ROW = 127
LARGEST_OF_COLUMN = 63    # two products of a byte with it fit 16 bits: see src/skim/embedded/product.rs
PLATEAU = 0.001  # F1 lower by so much is as good
GIVEN_UP = 0.02  # of the answerable questions, for which nothing is said to answer: that costs more than a needless view
DOUBTED = 0.1    # for which the view is said to be in doubt
GOLDEN_QUESTIONS = ("Where are identifiers split into subtokens, and what happens to punctuation?",
                    "How is the validation split decided? (holdout, package, frozenset, unheard-of)",
                    "HTTPServer2 naïve_läuft? " + "Which of these settings decides how long a word may be before it is cut? " * 4 + "(limit, most (), LINE_TOKENS) \n")


def golden_texts():
    """Real code of this folder, also longer than one window, and lines of every odd kind."""
    here = pathlib.Path(__file__).parent
    read = lambda *names: "".join((here / name).read_text() for name in names).split("\n")
    odd = ["== src/a.c", "#include <stdio.h>", "\tif (x) {\r", "\t\treturn HTTPServer2(naïve, 42);\r", "\t}\r", "", "   ", "});", "@decorator", "#[test]", "# a comment",
           "== b.py", "from x import y", "-- sql", "word " * 60, "ÄÖÜ_läuft = 1", "();{}[]", "else: pass", "\t \tmixed = indent"]
    return (read("text.py"), read("data.py")[:200], odd, ["", "  ", ""], read("text.py", "data.py", "model.py", "train.py", "mine.py", "evaluate.py")[:900])


def document_threshold(scored, share):
    """The document threshold that a share of the answerable questions is below."""
    return round(float(np.quantile([s[4] for s in scored if s[1] != "absent"], share)), 4)


def as_multiplied(tensors):
    """The weights of linear maps as rows are multiplied with them, (in, out); a convolution's three parts side by side. Turned twice they are as they were."""
    out = dict(tensors)
    for name, weight in tensors.items():
        if not BYTES.search(name) and not FLOATS.search(name):
            continue
        thirds = 3 if name.startswith("encoder.conv") else 1
        out[name] = weight.view(len(weight), thirds, -1).permute(2, 1, 0).reshape(weight.shape[1] // thirds, -1)
    return out


def stored(tensors):
    """What the file holds, of weights as they are multiplied: float16, and large ones in bytes, 128 more than whole steps of a column's or row's own size, in float32."""
    out = {}
    for name, tensor in tensors.items():
        largest = LARGEST_OF_ROW if name == EMBEDDING else LARGEST_OF_COLUMN
        if name == EMBEDDING or BYTES.search(name):
            step = (tensor.abs().amax(1 if name == EMBEDDING else 0, keepdim=True) / largest).clamp(min=1e-30)
            out[name], out[f"{name.removesuffix('weight')}step"] = ((tensor / step).round() + ZERO).to(torch.uint8), step.flatten()
        else:
            out[name] = tensor.half()
    return out


def restored(file):
    """The weights, as they are multiplied, that the file of `stored` stands for."""
    assert file[EMBEDDING].dtype == torch.uint8, "weights of an older form"
    out = {}
    for name, tensor in file.items():
        if tensor.dtype == torch.uint8:
            step = file[f"{name.removesuffix('weight')}step"]
            out[name] = (tensor.float() - ZERO) * (step.unsqueeze(1) if name == EMBEDDING else step)
        elif not name.endswith(".step"):
            out[name] = tensor.float()
    return out


def golden(model, guessed, refiner, vocabulary):
    """Inputs and outputs for tests/it/golden.rs."""
    cases = []
    for lines in golden_texts():
        document = Document(lines, vocabulary)
        for question in GOLDEN_QUESTIONS:
            document.ask(question, [], "absent", vocabulary)
        for asked, question, (emission, answer) in zip(document.questions, GOLDEN_QUESTIONS, evaluate.raw(model, document, vocabulary)):
            log_odds = evaluate.refined(model, refiner, document, asked.ids, emission, answer, vocabulary)
            weighed = evaluate.weighed(guessed, document, asked, answer, vocabulary)
            cases.append({"lines": lines, "question": question, "emission": [round(float(x), 6) for x in emission],
                          "marginal": [round(float(x), 6) for x in 1 / (1 + np.exp(-log_odds))], "answer": round(answer, 6), "weighed": round(weighed, 6)})
    return cases


def main():
    work, checkpoint, out, golden_path = map(pathlib.Path, sys.argv[1:5])
    vocabulary = Vocabulary.read(work / "vocab.txt")
    saved = torch.load(checkpoint, map_location="cpu", weights_only=False)
    model = student(vocabulary.size)
    fitted = torch.load(work / "refine.pt", weights_only=True)
    file = stored(as_multiplied({name: tensor.float() for name, tensor in (saved["average"] | fitted).items()}))
    weights = as_multiplied(restored(file))
    refiner, guessed = Refiner(), Guessed()
    for part, name in ((refiner, "refine."), (guessed, "guessed.")):
        part.load_state_dict({key.removeprefix(name): weights.pop(key) for key in fitted if key.startswith(name)})
    model.load_state_dict(weights)
    model.eval()
    _, validation = load_labels(work / "labelled.jsonl", vocabulary)
    scored = []  # the thresholds are for all three wordings
    for documents in (validation, [document.natural for document in validation], [document.worded for document in validation]):
        wording = evaluate.score(model, [document for document in documents if document.questions], vocabulary, refiner, guessed)
        evaluate.show(evaluate.report(wording))
        scored += wording
    out.mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.contiguous() for name, tensor in file.items()}, out / "model.safetensors")
    strict, balanced, generous = (evaluate.best_threshold(scored, beta, within=PLATEAU) for beta in (0.5, 1, 2))
    thresholds = {"strict": strict, "balanced": balanced, "generous": generous, "answer": document_threshold(scored, GIVEN_UP), "doubt": document_threshold(scored, DOUBTED)}
    (out / "config.json").write_text(json.dumps({**saved["config"], "thresholds": thresholds}, indent=2) + "\n")
    words = list(vocabulary.words)
    rows = ((word, words[vocabulary.stems[i] - 1]) for word, i in vocabulary.words.items())
    (out / "vocab.txt").write_bytes(b"".join(word + (b" " + stem if stem != word else b"") + b"\n" for word, stem in rows))
    golden_path.parent.mkdir(parents=True, exist_ok=True)
    golden_path.write_text(json.dumps(golden(model, guessed, refiner, vocabulary)) + "\n")
    print(json.dumps(thresholds))


if __name__ == "__main__":
    main()
