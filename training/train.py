"""Trains the embedded skimmer; read from top to bottom.

    python3 train.py WORK pretrain --minutes 30      mined questions only
    python3 train.py WORK finetune --minutes 20      labelled windows, with mined questions mixed in

WORK holds mined.jsonl, labelled.jsonl, vocab.txt and init.npz; checkpoints go there too (pretrain.pt, finetune.pt). A stage that was cut off
goes on from its checkpoint: minutes are those of the whole stage, and time spent paused does not count. A GPU is used when there is one.
"""
import argparse
import json
import os
import pathlib
import random
import time

# Large blocks go back to the system at every step by default; page faults then take half the time.
if os.environ.get("MALLOC_TRIM_THRESHOLD_") is None:
    os.environ.update(MALLOC_TRIM_THRESHOLD_="100000000000", MALLOC_MMAP_THRESHOLD_="100000000000")
    os.execv(os.sys.executable, [os.sys.executable, *os.sys.argv])

import numpy as np
import torch
import torch.nn.functional as F

import evaluate
from data import collate, labelled_sample, load_labels, load_mined, log_sample, mined_sample
from model import Skimmer
from text import Vocabulary

arguments = argparse.ArgumentParser()
arguments.add_argument("work", type=pathlib.Path)
arguments.add_argument("stage", choices=("pretrain", "finetune"))
arguments.add_argument("--minutes", type=float, required=True, help="computing time of the whole stage")
arguments.add_argument("--labels", type=float, default=0.7, help="share of labelled samples when fine-tuning")
arguments.add_argument("--logs", type=float, default=0.05, help="share of made-up logs when fine-tuning")
arguments.add_argument("--batch", type=int, default=8, help="samples a step")
arguments.add_argument("--rate", type=float, default=None, help="peak learning rate; default 6e-4 for pretraining, 4e-4 for fine-tuning")

RATE = {"pretrain": 6e-4, "finetune": 4e-4}
EMBEDDING_RATE = 0.5   # of the peak rate: the embeddings start from a sentence encoder, and most get few updates
WARM_UP = 200          # steps
LONGEST_STEP = 5.0     # seconds counted at most for one step: a paused process does not use up its minutes
REPORT_EVERY = 240     # seconds


def loss_of(model, batch):
    """CRF likelihood of the known labels, a line-wise term that lifts short answers, and the document head."""
    *inputs, label = batch
    mask = inputs[-1]
    emission, answer = model(*inputs)
    known, positive = (label >= 0).float(), (label == 1).float()
    lift = ((known - positive).sum(1) / (positive.sum(1) + 1)).clamp(1, 8).sqrt().unsqueeze(1)
    weight = torch.where(label == 1, lift, torch.ones_like(lift)) * known
    line = F.binary_cross_entropy_with_logits(emission, positive, reduction="none") * weight
    line = line.sum(1) / (weight.sum(1) + 1e-3)
    document = F.binary_cross_entropy_with_logits(answer, (positive.sum(1) > 0).float())
    return (model.crf_loss(emission, mask, label) + 0.5 * line).mean() + 0.1 * document


def parameter_groups(model, rate):
    embedding = [model.embedding.weight]
    plain = [p for n, p in model.named_parameters() if n != "embedding.weight" and p.dim() < 2 or n in ("position", "distance", "transition", "ends")]
    weights = [p for n, p in model.named_parameters() if all(p is not q for q in embedding + plain)]
    return [{"params": embedding, "weight_decay": 0.0, "base": rate * EMBEDDING_RATE}, {"params": plain, "weight_decay": 0.0, "base": rate},
            {"params": weights, "weight_decay": 0.03, "base": rate}]


def draw(args, train, mined, vocabulary, rng):
    roll = rng.random()
    if args.stage == "pretrain" or roll > args.labels + args.logs:
        return mined_sample(mined, vocabulary, rng)
    return labelled_sample(train, vocabulary, rng) if roll < args.labels else log_sample(vocabulary, rng)


def main():
    args = arguments.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(os.cpu_count())
    torch.manual_seed(1), np.random.seed(1)
    rng = random.Random(1)
    rate = args.rate or RATE[args.stage]

    # --- data
    vocabulary = Vocabulary([w.encode() for w in (args.work / "vocab.txt").read_text().split()])
    train, validation = load_labels(args.work / "labelled.jsonl", vocabulary)
    mined = load_mined(args.work / "mined.jsonl", vocabulary)
    print(f"{len(mined)} mined files with {sum(len(d.questions) for d in mined)} questions; labelled windows: {len(train)} to train, {len(validation)} to validate; {device}", flush=True)

    # --- model and state
    model = Skimmer(vocabulary.size).to(device)
    optimizer = torch.optim.AdamW(parameter_groups(model, rate), lr=rate, betas=(0.9, 0.98), fused=True)
    state = {"step": 0, "spent": 0.0, "log": []}
    checkpoint, before = args.work / f"{args.stage}.pt", args.work / "pretrain.pt"
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device, weights_only=False)
        model.load_state_dict(saved["model"]), optimizer.load_state_dict(saved["optimizer"])
        state = saved["state"]
        print(f"resumed at step {state['step']}, {state['spent'] / 60:.1f} minutes", flush=True)
    elif args.stage == "finetune":
        model.load_state_dict(torch.load(before, map_location=device, weights_only=False)["model"])
    else:
        init = np.load(args.work / "init.npz")
        with torch.no_grad():
            model.idf.copy_(torch.from_numpy(init["idf"]))
            model.embedding.weight[1:1 + len(init["embedding"])] = torch.from_numpy(init["embedding"])
    rng.seed(1000 + state["step"]), np.random.seed(1000 + state["step"])

    def save():
        partial = checkpoint.with_suffix(".partial")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "config": model.config, "state": state, "args": vars(args)}, partial)
        partial.rename(checkpoint)

    # --- loop
    reported, running = state["spent"], None
    while state["spent"] < args.minutes * 60:
        began = time.time()
        progress = state["spent"] / (args.minutes * 60)
        schedule = min(1, (state["step"] + 1) / WARM_UP) * max(0.02, 0.5 * (1 + np.cos(np.pi * progress)))
        for group in optimizer.param_groups:
            group["lr"] = group["base"] * schedule
        samples = [draw(args, train, mined, vocabulary, rng) for _ in range(args.batch)]
        loss = loss_of(model, [x.to(device) for x in collate(samples)])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        state["step"] += 1
        state["spent"] += min(time.time() - began, LONGEST_STEP)
        running = loss.item() if running is None else 0.98 * running + 0.02 * loss.item()
        if state["spent"] - reported > REPORT_EVERY or state["spent"] >= args.minutes * 60:
            reported = state["spent"]
            figures = evaluate.report(evaluate.score(model, validation, vocabulary, device))
            print(f"{args.stage} {state['spent'] / 60:.1f} min, step {state['step']}, loss {running:.4f}", flush=True)
            evaluate.show(figures)
            state["log"].append({"minutes": state["spent"] / 60, "step": state["step"], "loss": running, **figures})
            save()
    save()
    (args.work / f"{args.stage}.json").write_text(json.dumps(state["log"], indent=1))


if __name__ == "__main__":
    main()
