"""Writes a checkpoint as the files that are built into the binary, and golden outputs for the Rust test.

    python3 export.py WORK CHECKPOINT.pt OUT_DIR GOLDEN.json

WORK holds refine.pt, which refine.py made of the same checkpoint.

OUT_DIR gets model.safetensors (float16), config.json (with the thresholds that are best on validation windows, asked in both wordings) and vocab.txt.
"""
import json
import pathlib
import shutil
import sys

import numpy as np
import torch
import torch.nn as nn
from safetensors.torch import save_file

import evaluate
from data import Document, load_labels
from model import Refiner, student
from text import Vocabulary

PLATEAU = 0.001  # F1 lower by so much is as good
GOLDEN_QUESTIONS = ("Where are identifiers split into subtokens, and what happens to punctuation?",
                    "How is the validation split decided?",
                    "HTTPServer2 naïve_läuft? " + "Which of these settings decides how long a word may be before it is cut? " * 4)


def golden_texts():
    """Real code of this folder, also longer than one window, and lines of every odd kind."""
    here = pathlib.Path(__file__).parent
    read = lambda *names: "".join((here / name).read_text() for name in names).split("\n")
    odd = ["== src/a.c", "#include <stdio.h>", "\tif (x) {\r", "\t\treturn HTTPServer2(naïve, 42);\r", "\t}\r", "", "   ", "});", "@decorator", "#[test]", "# a comment",
           "== b.py", "from x import y", "-- sql", "word " * 60, "ÄÖÜ_läuft = 1", "();{}[]", "else: pass", "\t \tmixed = indent"]
    return (read("text.py"), read("data.py")[:200], odd, ["", "  ", ""], read("text.py", "data.py", "model.py", "train.py", "mine.py", "evaluate.py")[:900])


def answer_threshold(scored):
    """The document threshold that gives up on at most 2 % of the answerable questions: a wrong "nothing" costs more than a needless view."""
    return float(np.quantile([s[4] for s in scored if s[1] != "absent"], 0.02))


def as_shipped(model, tensors):
    """The weights behind the encoder in the order (in, out), in which the program multiplies."""
    out = dict(tensors)
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear) and not name.startswith(("encoder", "match", "pool")):
            out[f"{name}.weight"] = out[f"{name}.weight"].t()
    return out


def golden(model, refiner, vocabulary):
    """Inputs and outputs for tests/it/golden.rs."""
    cases = []
    for lines in golden_texts():
        document = Document(lines, vocabulary)
        for question in GOLDEN_QUESTIONS:
            document.ask(question, [], "absent", vocabulary)
        for (ids, label, _), question, (emission, answer) in zip(document.questions, GOLDEN_QUESTIONS, evaluate.raw(model, document, vocabulary)):
            log_odds = evaluate.refined(model, refiner, document, ids, emission, answer)
            cases.append({"lines": lines, "question": question, "emission": [round(float(x), 6) for x in emission],
                          "marginal": [round(float(x), 6) for x in 1 / (1 + np.exp(-log_odds))], "answer": round(answer, 6)})
    return cases


def main():
    work, checkpoint, out, golden_path = map(pathlib.Path, sys.argv[1:5])
    vocabulary = Vocabulary([w.encode() for w in (work / "vocab.txt").read_text().split()])
    saved = torch.load(checkpoint, map_location="cpu", weights_only=False)
    model = student(vocabulary.size)
    half = {name: tensor.half() for name, tensor in saved["average"].items()}
    model.load_state_dict({name: tensor.float() for name, tensor in half.items()})
    model.eval()
    refine = {name: tensor.half() for name, tensor in torch.load(work / "refine.pt", weights_only=True).items()}
    refiner = Refiner()
    refiner.load_state_dict({name: tensor.float() for name, tensor in refine.items()})
    _, validation = load_labels(work / "labelled.jsonl", vocabulary)
    scored = evaluate.score(model, validation, vocabulary, refiner)
    natural = evaluate.score(model, [document.natural for document in validation if document.natural.questions], vocabulary, refiner)
    for wording in (scored, natural):
        evaluate.show(evaluate.report(wording))
    scored += natural  # the thresholds are for both
    out.mkdir(parents=True, exist_ok=True)
    shipped = {**as_shipped(model, half), **{f"refine.{name}": tensor for name, tensor in as_shipped(refiner, refine).items()}}
    save_file({name: tensor.contiguous() for name, tensor in shipped.items()}, out / "model.safetensors")
    strict, balanced, generous = (evaluate.best_threshold(scored, beta, within=PLATEAU) for beta in (0.5, 1, 2))
    thresholds = {"strict": strict, "balanced": balanced, "generous": generous, "answer": round(answer_threshold(scored), 4)}
    (out / "config.json").write_text(json.dumps({**saved["config"], "thresholds": thresholds}, indent=2) + "\n")
    shutil.copy(work / "vocab.txt", out / "vocab.txt")
    golden_path.parent.mkdir(parents=True, exist_ok=True)
    golden_path.write_text(json.dumps(golden(model, refiner, vocabulary)) + "\n")
    print(json.dumps(thresholds))


if __name__ == "__main__":
    main()
