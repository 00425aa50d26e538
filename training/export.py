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
from data import collate, cut, load_labels, Document
from model import Skimmer
from text import Vocabulary

GOLDEN_FILES = ("text.py", "data.py", "vocabulary.py")  # of this folder: real code that comes with the test
GOLDEN_QUESTIONS = ("Where are identifiers split into subtokens, and what happens to punctuation?",
                    "How is the validation split decided?")


def answer_threshold(scored):
    """The document threshold that gives up on at most 3 % of the answerable questions."""
    return float(np.quantile([s[4] for s in scored if s[1] != "absent"], 0.03))


def golden(model, vocabulary):
    """Scores of the first 300 lines of files of this folder."""
    cases = []
    for name in GOLDEN_FILES:
        lines = (pathlib.Path(__file__).parent / name).read_text().split("\n")[:300]
        document = Document(lines, vocabulary)
        for question in GOLDEN_QUESTIONS:
            document.ask(question, [], "absent", vocabulary)
            ids, label, _ = document.questions[-1]
            *inputs, _ = collate([cut(document, ids, label, vocabulary, 0, len(lines))])
            with torch.no_grad():
                emission, answer = model(*inputs)
            cases.append({"lines": lines, "question": question, "emission": [round(float(x), 6) for x in emission[0]],
                          "marginal": [round(float(x), 6) for x in model.marginals(emission[0])], "answer": round(float(answer[0]), 6)})
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
