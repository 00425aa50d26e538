"""Writes a checkpoint as the files that are built into the binary, and golden outputs for the Rust test.

    python3 export.py WORK CHECKPOINT.pt OUT_DIR GOLDEN.json

OUT_DIR gets model.safetensors (float16), config.json (with the thresholds that are best on validation windows) and vocab.txt.
"""
import json
import pathlib
import shutil
import sys

import numpy as np
import torch
from safetensors.torch import save_file

import evaluate
from data import Document, load_labels
from model import Skimmer
from text import Vocabulary

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
    """The document threshold that gives up on at most 3 % of the answerable questions."""
    return float(np.quantile([s[4] for s in scored if s[1] != "absent"], 0.03))


def golden(model, vocabulary):
    """Inputs and outputs for tests/it/golden.rs."""
    cases = []
    for lines in golden_texts():
        document = Document(lines, vocabulary)
        for question in GOLDEN_QUESTIONS:
            document.ask(question, [], "absent", vocabulary)
        for (ids, label, _), question, (emission, answer) in zip(document.questions, GOLDEN_QUESTIONS, evaluate.raw(model, document, vocabulary, "cpu")):
            cases.append({"lines": lines, "question": question, "emission": [round(float(x), 6) for x in emission],
                          "marginal": [round(float(x), 6) for x in model.marginals(emission.double())], "answer": round(answer, 6)})
    return cases


def main():
    work, checkpoint, out, golden_path = map(pathlib.Path, sys.argv[1:5])
    vocabulary = Vocabulary([w.encode() for w in (work / "vocab.txt").read_text().split()])
    saved = torch.load(checkpoint, map_location="cpu", weights_only=False)
    model = Skimmer(vocabulary.size)
    half = {name: tensor.half() for name, tensor in saved["model"].items()}
    model.load_state_dict({name: tensor.float() for name, tensor in half.items()})
    model.eval()
    _, validation = load_labels(work / "labelled.jsonl", vocabulary)
    scored = evaluate.score(model, validation, vocabulary, "cpu")
    figures = evaluate.report(scored)
    evaluate.show(figures)
    model.eval()
    out.mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.contiguous() for name, tensor in half.items()}, out / "model.safetensors")
    thresholds = {"keep": figures["threshold"], "answer": round(answer_threshold(scored), 4)}
    (out / "config.json").write_text(json.dumps({**saved["config"], "thresholds": thresholds}, indent=2) + "\n")
    shutil.copy(work / "vocab.txt", out / "vocab.txt")
    golden_path.parent.mkdir(parents=True, exist_ok=True)
    golden_path.write_text(json.dumps(golden(model, vocabulary)) + "\n")
    print(json.dumps(thresholds))


if __name__ == "__main__":
    main()
