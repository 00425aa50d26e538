"""Trains the teacher and the student; read from top to bottom.

    python3 train.py WORK teacher-pretrain --minutes 8     mined questions
    python3 train.py WORK teacher --minutes 30             labelled questions, some mined ones mixed in
    python3 train.py WORK student --minutes 45             the same, and what the teacher says of every window
    python3 train.py WORK student --minutes 76 --name alone --start WORK/student.pt --no-teacher     labels alone, from there

WORK holds mined.jsonl, labelled.jsonl, vocab.txt and init.npz; checkpoints go there too. A stage that was cut off goes on from its checkpoint:
minutes are those of the whole stage, and time spent paused does not count. A GPU is used when there is one.
"""
import argparse
import copy
import json
import os
import pathlib
import random
import re
import time

# Large blocks go back to the system at every step by default; page faults then take half the time.
if os.environ.get("MALLOC_TRIM_THRESHOLD_") is None:
    os.environ.update(MALLOC_TRIM_THRESHOLD_="100000000000", MALLOC_MMAP_THRESHOLD_="100000000000")
    os.execv(os.sys.executable, [os.sys.executable, *os.sys.argv])

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

import evaluate
from data import APART, by_package, labelled_sample, load_labels, load_mined, log_sample, mined_sample, tensors
from export import as_multiplied, restored
from model import places, student
from teacher import teacher
from text import FEATURES, LEXICAL, Vocabulary

arguments = argparse.ArgumentParser()
arguments.add_argument("work", type=pathlib.Path)
arguments.add_argument("stage", choices=("teacher-pretrain", "teacher", "student"))
arguments.add_argument("--minutes", type=float, required=True, help="computing time of the whole stage")
arguments.add_argument("--rate", type=float, default=5e-4, help="peak learning rate")
arguments.add_argument("--encoder-rate", type=float, default=None, help="that of the encoder; default 6e-5 for the teacher's, 3e-4 for the student's")
arguments.add_argument("--mined", type=float, default=None, help="share of mined windows; default MINED")
arguments.add_argument("--logs", type=float, default=0.05, help="share of made-up logs in the student's training")
arguments.add_argument("--texts", type=int, default=2, help="windows a step, each with up to eight questions")
arguments.add_argument("--labels", type=float, default=1.0, help="share of the labelled training windows used, for the learning curve")
arguments.add_argument("--near", type=float, default=0.0, help="share of labelled windows that are asked what was asked of another part of their file or package")
arguments.add_argument("--start", type=pathlib.Path, help="checkpoint, or folder of shipped weights of the same vocabulary, that the student goes on from")
arguments.add_argument("--worded", type=float, default=0.0, help="share, of the labelled windows that are not --near, of those whose questions also come with words that the code may use")
arguments.add_argument("--lot", type=float, default=0.0, help="share, of the labelled windows that are neither, of those in labels/lots.jsonl")
arguments.add_argument("--other", type=float, default=0.0, help="share of labelled windows that are no code in the usual languages: documents, configuration, what programs printed, further languages")
arguments.add_argument("--first", type=float, default=0.4, help="share, at the end, of labelled windows that are of the first labels, whose kinds of questions are mixed as in validation")
arguments.add_argument("--document", type=float, default=0.2, help="weight of \"something here answers\"")
arguments.add_argument("--no-teacher", action="store_true", help="train the student on labels alone, for the ablation")
arguments.add_argument("--without", nargs="+", default=[], choices=("pretraining", "initialisation", "crf", "structure", "lexical"), help="parts to leave out, for the ablation")
arguments.add_argument("--dropout", type=float, default=0.0, help="in the transformer over lines, the same for all lines of a text")
arguments.add_argument("--renamed", type=float, default=0.0, help="share of a text's subtokens that become others, in its questions too")
arguments.add_argument("--average", type=float, default=0.995, help="of the weights that are evaluated and shipped, a step")
arguments.add_argument("--name", default=None, help="name of the checkpoint; default that of the stage")
arguments.add_argument("--report", type=float, default=8, help="minutes between figures")

MINED = {"teacher-pretrain": 1.0, "teacher": 0.12, "student": 0.1}
START_MINED = {"teacher-pretrain": 1.0, "teacher": 0.12, "student": 0.3}  # until half of the time has passed, less and less
FILES = {"teacher-pretrain": 8000, "teacher": 3000, "student": 14000}
WARM_UP = 100          # steps
LONGEST_STEP = 5.0     # seconds counted at most for one step: a paused process does not use up its minutes
HARD = 0.5             # weight of the labels where there is a teacher
PER_DRAW = 64          # lines: a text of --lot is listed 1 + lines // PER_DRAW times among those that are drawn from, as long ones have more to learn from
PRINTED = 2            # times that what a program printed is listed among --other, as such lines look most alike
LEAST_TAUGHT = 0.3     # share of labelled windows that the teacher is asked about at the end; all at the start, as it costs more than the student
LIKENESS = 0.5         # weight at the start of being like the teacher before the transformer over lines
MATRIX = re.compile(r"^(blocks\..*\.(qkv|out|cross_q|cross_kv|cross_out|up|down)|reader\.(q|kv|found))\.weight$")  # those for Muon, which learns more from a step
RAMP = 0.1             # share of the time over which what is the teacher's begins to learn


def label_loss(model, emission, answer, label, weight_of_answer):
    """CRF likelihood of the known labels, a line-wise term that lifts short answers, and the document head."""
    known, positive = (label >= 0).float(), (label == 1).float()
    lift = ((known - positive).sum(1) / (positive.sum(1) + 1)).clamp(1, 8).sqrt().unsqueeze(1)
    weight = torch.where(label == 1, lift, torch.ones_like(lift)) * known
    line = F.binary_cross_entropy_with_logits(emission, positive, reduction="none") * weight
    line = line.sum(1) / (weight.sum(1) + 1e-3)
    document = F.binary_cross_entropy_with_logits(answer, (positive.sum(1) > 0).float())
    return (model.crf_loss(emission, label) + 0.5 * line).mean() + weight_of_answer * document


def teacher_loss(emission, answer, wanted, wanted_answer, weight_of_answer):
    """The teacher's emissions, as probabilities and, so that ranks far from the threshold count too, as they are."""
    soft = F.binary_cross_entropy_with_logits(emission, wanted.sigmoid(), reduction="none")
    far = F.smooth_l1_loss(emission, wanted.clamp(-8, 8), reduction="none")
    return (soft + 0.1 * far).mean() + 2 * weight_of_answer * F.binary_cross_entropy_with_logits(answer, wanted_answer.sigmoid())


def likeness_loss(own, theirs):
    """How far the student's lines and questions, as its transformer gets them, are from the teacher's, in parts of the teacher's spread."""
    return sum(F.mse_loss(a, b) / b.var() for a, b in zip(own, theirs))


def inherit(model, guide):
    """All that does not depend on the encoder's width starts as the teacher's: the transformer over lines, the heads, the CRF. Their names."""
    own, theirs = model.state_dict(), guide.state_dict()
    same = {name: x for name, x in theirs.items() if not name.startswith("encoder.") and x.shape == own[name].shape}
    model.load_state_dict(same, strict=False)
    given = model.input.weight.shape[1] - 4 * model.encoder.d  # kernels, cosines, features: the same for both
    with torch.no_grad():
        model.input.weight[:, -given:] = guide.input.weight[:, -given:]
    return set(same)


def renamed(tokens, questions, share, vocabulary_size):
    """Some of the subtokens of a text become others, wherever they are, also in what is asked: what a text does matters, not its names."""
    distinct = torch.cat([tokens.flatten(), questions.flatten()]).unique()
    distinct = distinct[(distinct != 0) & (torch.rand(len(distinct)) < share)]
    other = torch.arange(vocabulary_size)
    other[distinct] = torch.randint(1, vocabulary_size, (len(distinct),))
    return other[tokens], other[questions]


def leave_out(model, parts):
    """Parts of the model that learn nothing, for the ablation."""
    first = model.input.weight.shape[1] - FEATURES - LEXICAL
    columns = {"structure": slice(first, first + FEATURES), "lexical": slice(first + FEATURES, None)}
    for part in set(parts) & columns.keys():
        with torch.no_grad():
            model.input.weight[:, columns[part]] = 0
        model.input.weight.register_hook(lambda gradient, part=part: gradient.index_fill(1, torch.arange(gradient.shape[1], device=gradient.device)[columns[part]], 0))
    if "crf" in parts:  # every line for itself
        for weights in (model.transition, model.ends):
            torch.nn.init.zeros_(weights).requires_grad_(False)


def of_peak(step, progress):
    """Share of the peak learning rate: up over the first steps, then down as a cosine."""
    return min(1, (step + 1) / WARM_UP) * max(0.02, 0.5 * (1 + np.cos(np.pi * progress)))


@torch.no_grad()
def follow(average, now, decay, step):
    """Moves the averaged weights towards those of now, faster in the first steps."""
    floats = [name for name in average if now[name].is_floating_point()]
    torch._foreach_lerp_([average[name] for name in floats], [now[name] for name in floats], 1 - min(decay, (1 + step) / (10 + step)))


def load_average(model, path):
    """The averaged weights of a checkpoint, or those of a folder that export.py wrote, without what comes after them."""
    if path.is_dir():
        weights = as_multiplied(restored(load_file(path / "model.safetensors")))
        weights = {name: tensor for name, tensor in weights.items() if not name.startswith(("refine.", "guessed."))}
    else:
        weights = torch.load(path, map_location="cpu", weights_only=False)["average"]
    model.load_state_dict(weights)
    return model


def main():
    args = arguments.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(os.cpu_count())
    torch.manual_seed(1)
    is_student = args.stage == "student"
    mined_share, first_share = (MINED[args.stage], START_MINED[args.stage]) if args.mined is None else (args.mined, args.mined)

    # --- data
    vocabulary = Vocabulary.read(args.work / "vocab.txt")
    labelled, validation = load_labels(args.work / "labelled.jsonl", vocabulary, [name for name in APART if getattr(args, name) > 0])
    near, lots, others, labelled = ([document for document in labelled if document.apart == apart] for apart in (*APART, None))
    if args.near and not near or args.lot and not lots or args.other and not others:
        raise SystemExit("labelled.jsonl lacks the labels that --near, --lot or --other wants; fetch them")
    random.Random(2).shuffle(labelled)
    labelled = labelled[:round(args.labels * len(labelled))]
    first = [document for document in labelled if document.first]
    worded = [document for document in labelled + lots if document.worded.questions]
    mined = load_mined(args.work / "mined.jsonl", vocabulary, FILES[args.stage]) if mined_share else []
    labelled_packages, mined_packages = by_package(labelled + near + lots + others), by_package(mined)
    other_draws = [document for document in others for _ in range(PRINTED if document.lang == "log" else 1)]
    lot_draws = [document for document in lots for _ in range(1 + len(document.tokens) // PER_DRAW)]
    count = lambda documents: f"{len(documents)} with {sum(len(d.questions) for d in documents)} questions"
    print(f"labelled windows: {count(labelled)}; mined files: {count(mined)}; {device}", flush=True)

    # --- model and state
    init = np.load(args.work / "init.npz")
    if is_student:
        model = student(vocabulary.size)
        with torch.no_grad():
            model.encoder.embedding.weight.normal_(std=0.1)
            model.encoder.embedding.weight[0] = 0
            if "initialisation" not in args.without:
                model.encoder.embedding.weight[1:1 + len(init["embedding"])] = torch.from_numpy(init["embedding"])
    else:
        model = teacher(vocabulary)
    model.idf.copy_(torch.from_numpy(init["idf"]))
    guide, inherited = None, set()
    if is_student and not args.no_teacher:
        guide = load_average(teacher(vocabulary), args.work / "teacher.pt").to(device).train().requires_grad_(False)  # in bfloat16
        inherited = inherit(model, guide)
    if args.stage == "teacher" and "pretraining" not in args.without and (args.work / "teacher-pretrain.pt").exists():
        load_average(model, args.work / "teacher-pretrain.pt")
    if args.start:
        load_average(model, args.start)
    leave_out(model, args.without)
    for block in model.blocks:
        block.dropout = args.dropout
    model.to(device)
    encoder = list(model.encoder.parameters())
    biases = [model.relation, model.shared]  # added to attention as they are, so they have further to go than weights
    old = [p for n, p in model.named_parameters() if n in inherited and n not in ("relation", "shared")]
    rest = [(n, p) for n, p in model.named_parameters() if n not in inherited | {"relation", "shared"} and not n.startswith("encoder.")]
    matrices = [p for n, p in rest if MATRIX.search(n)]
    rest = [p for n, p in rest if not MATRIX.search(n)]
    encoder_rate = args.encoder_rate or (3e-4 if is_student else 6e-5) * (1 if guide is None else 2)
    groups = [{"params": encoder, "base": encoder_rate, "weight_decay": 0.01}, {"params": rest, "base": args.rate, "weight_decay": 0.03},
              {"params": biases, "base": 10 * args.rate, "weight_decay": 0.0},
              {"params": old, "base": args.rate / 2, "weight_decay": 0.03, "ramp": RAMP}]
    optimizers = [torch.optim.AdamW([group for group in groups if group["params"]], lr=args.rate, betas=(0.9, 0.98), fused=True)]
    if matrices:
        optimizers.append(torch.optim.Muon([{"params": matrices, "base": args.rate}], weight_decay=0.03, adjust_lr_fn="match_rms_adamw"))
    asked = {name: str(value) for name, value in vars(args).items() if name not in ("work", "minutes", "report")}
    state, average = {"step": 0, "spent": 0.0, "log": [], "asked": asked}, None
    checkpoint = args.work / f"{args.name or args.stage}.pt"
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device, weights_only=False)
        model.load_state_dict(saved["model"])
        for optimizer, its in zip(optimizers, saved["optimizers"], strict=True):
            optimizer.load_state_dict(its)
        state, average = saved["state"], saved["average"]
        if state.get("asked", asked) != asked:
            raise SystemExit(f"{checkpoint} was made with other options ({state['asked']}); give another --name, or remove it")
        print(f"resumed at step {state['step']}, {state['spent'] / 60:.1f} minutes", flush=True)
    average = average or {n: p.clone() for n, p in model.state_dict().items()}
    rng = random.Random(1000 + state["step"])
    random.seed(1000 + state["step"]), np.random.seed(1000 + state["step"]), torch.manual_seed(1000 + state["step"])

    def report(running):
        shadow = copy.deepcopy(model)
        shadow.load_state_dict(average)
        figures = evaluate.report(evaluate.score(shadow, validation, vocabulary))
        print(f"{args.stage} {state['spent'] / 60:.1f} min, step {state['step']}, loss {running:.4f}", flush=True)
        evaluate.show(figures)
        state["log"].append({"minutes": state["spent"] / 60, "step": state["step"], "loss": running, **figures})
        partial = checkpoint.with_suffix(".partial")
        torch.save({"model": model.state_dict(), "average": average, "optimizers": [o.state_dict() for o in optimizers], "config": model.config, "state": state}, partial)
        partial.rename(checkpoint)
        checkpoint.with_suffix(".json").write_text(json.dumps(state["log"], indent=1))

    # --- loop
    reported, running = state["spent"], None
    model.train()
    while state["spent"] < args.minutes * 60:
        began = time.time()
        progress = state["spent"] / (args.minutes * 60)
        schedule = of_peak(state["step"], progress)
        for group in (group for optimizer in optimizers for group in optimizer.param_groups):
            group["lr"] = group["base"] * schedule * min(1, progress / group["ramp"] if "ramp" in group else 1)
        model.zero_grad()
        total = 0.0
        for _ in range(args.texts):
            roll, share = rng.random(), mined_share + (first_share - mined_share) * max(0, 1 - 2 * progress)
            is_mined, is_log = roll < share, is_student and share <= roll < share + args.logs
            if is_mined:
                document, questions, label, start, end = mined_sample(mined, mined_packages, rng)
            elif is_log:
                document, questions, label, start, end = log_sample(vocabulary, rng)
            else:
                windows = (other_draws if rng.random() < args.other else near if rng.random() < args.near else worded if rng.random() < args.worded else lot_draws if rng.random() < args.lot
                           else first if rng.random() < args.first * progress else labelled)
                document, questions, label, start, end = labelled_sample(windows, labelled_packages, rng)
            inputs = tensors(document, questions, vocabulary, start, end)
            if args.renamed:
                inputs[:2] = renamed(*inputs[:2], args.renamed, vocabulary.size)
            inputs = [x.to(device) for x in inputs]
            met, label = model.meet(*inputs), torch.from_numpy(label).to(device)
            known = places(inputs[0], inputs[4])
            emission, answer = model.judge(*met, inputs[1] != 0, model.bias(known))
            taught = guide is not None and not is_log and (is_mined or rng.random() < max(LEAST_TAUGHT, 1 - progress))
            if not taught:
                loss = label_loss(model, emission, answer, label, args.document)
            else:
                with torch.no_grad():
                    wanted = guide.meet(*inputs)
                    judged = guide.judge(*wanted, inputs[1] != 0, guide.bias(known))
                loss = teacher_loss(emission, answer, *judged, args.document)
                if not is_mined:
                    loss = (1 - HARD) * loss + HARD * label_loss(model, emission, answer, label, args.document)
                loss = loss + LIKENESS * (1 - progress) * likeness_loss(met, wanted)
            (loss / args.texts).backward()
            total += loss.item() / args.texts
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        state["step"] += 1
        follow(average, model.state_dict(), args.average, state["step"])
        state["spent"] += min(time.time() - began, LONGEST_STEP)
        running = total if running is None else 0.98 * running + 0.02 * total
        if state["spent"] - reported > args.report * 60 or state["spent"] >= args.minutes * 60:
            reported = state["spent"]
            report(running)


if __name__ == "__main__":
    main()
