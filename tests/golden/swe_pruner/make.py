"""Writes the goldens that hold `codeskim::skim::swe_pruner` to the published implementation.

    python3.12 -m venv venv && venv/bin/pip install torch swe-pruner==0.1.1 'transformers<5'
    venv/bin/python tests/golden/swe_pruner/make.py

The checkpoint has the true architecture at a small width and weights that are drawn from their names, so that the test makes the same ones
instead of keeping them. The texts are files of the crates in Cargo.lock, found with `cargo metadata`, and some that are made up.
Everything is computed in float32: the published code asks for float16 on a CPU, which is switched off here.

    make.py --checkpoint DIR [crf|ffn|simple]    only writes a checkpoint, for a server
"""
import functools
import hashlib
import json
import pathlib
import subprocess
import sys

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config

HERE = pathlib.Path(__file__).parent
REPOSITORY = HERE.parents[2]
HEADS = ("crf", "ffn", "simple")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]
# How Qwen's tokenizer splits text before it looks for pairs.
SPLIT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BACKBONE = dict(hidden_size=64, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, head_dim=16, intermediate_size=96,
                rope_theta=1_000_000.0, rms_norm_eps=1e-6, max_position_embeddings=32768, tie_word_embeddings=True)
PRUNER = dict(bottleneck=32, num_fusion_layers=1, num_heads=8, use_multi_layer_fusion=True, early_layer_ratio=0.25, middle_layer_ratio=0.5)
# (crate, file, question): by language, and some that are asked in several ways.
FILES = [
    ("fnv", "README.md", "When is this hash a good choice?"),
    ("tree-sitter-go", "grammar.js", "Which operators bind tightest?"),
    ("either", "src/iterator.rs", "Which side does next come from?"),
    ("tree-sitter-go", "queries/highlights.scm", "What counts as a function call?"),
    ("tree-sitter-python", "src/scanner.c", "When does the scanner emit a dedent?"),
    ("tree-sitter-cpp", "src/scanner.c", "How long may the delimiter of a raw string be?"),
    ("tree-sitter-rust", "src/scanner.c", "Where are block comments read?"),
    ("tree-sitter-javascript", "src/scanner.c", "When is a semicolon inserted?"),
    ("tree-sitter-ruby", "src/tree_sitter/array.h", "How does an array grow?"),
    ("unicode_categories", "scripts/unicode.py", "Which categories are written out?"),
    ("same-file", "src/unix.rs", "What makes two files the same?"),
    ("zerocopy", "ci/check_versions.sh", "What is compared?"),
    ("rmcp", "tests/test_with_js/streamable_server.js", "Which port does it listen on?"),
    ("ignore", "src/overrides.rs", "What happens to a glob that begins with an exclamation mark?"),
    ("ignore", "Cargo.toml", "Which versions of globset will do?"),
    ("walkdir", "src/error.rs", "When is an error about a loop?"),
    ("heck", "src/snake.rs", "How are words joined?"),
    ("tokenizers", "src/utils/padding.rs", "On which side is padding added?"),
    ("clap", "README.md", "What is it for?"),
    ("tree-sitter-php", "queries/highlights.scm", "How are variables highlighted?"),
    ("cap-std", "src/lib.rs", "What does a capability give access to?"),
    ("strsim", "Cargo.toml", "Which licence is it under?"),
    ("rayon", "src/lib.rs", "How do I use it?"),
    ("rmcp", "tests/test_with_python/client.py", "Which tools does the client list?"),
    ("rmcp", "tests/test_with_js/client.js", "How does the client connect?"),
    ("candle-core", "tests/pth.py", "Which tensors are not contiguous?"),
    ("tree-sitter-typescript", "common/scanner.h", "When is a template string scanned?"),
    ("tree-sitter", "src/reusable_node.h", "How is the next node found?"),
    ("mimalloc", ".github/workflows/ci.yml", "On which systems are the tests run?"),
    ("ignore", "src/gitignore.rs", "How does a whitelist pattern override an ignore pattern?"),
]


def drawn(name, shape):
    """Uniform numbers from a tensor's name: splitmix64 over FNV-1a of it."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    uniform = (z >> np.uint64(40)).astype(np.float32) / np.float32(1 << 23) - np.float32(1)
    if len(shape) == 1:
        drawn = uniform * np.float32(0.1) if name.endswith("bias") or "transitions" in name else 1 + uniform * np.float32(0.25)
    else:
        drawn = uniform * np.float32(1 if "embed_tokens" in name else np.sqrt(np.float32(6 / shape[1])))
    return torch.from_numpy(drawn.astype(np.float32).reshape(shape))


def tokenizer():
    """A small byte-level BPE of Qwen's kind, trained on this repository."""
    bpe = Tokenizer(models.BPE())
    bpe.normalizer = normalizers.NFC()
    bpe.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=SPECIAL, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False)
    texts = [path.read_text() for path in sorted((REPOSITORY / "tests" / "fixtures").iterdir()) if path.is_file()]
    bpe.train_from_iterator([*texts, *["yes\nno\n"] * 500], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>", additional_special_tokens=SPECIAL[1:])


def write_checkpoint(directory, head):
    """config.json, tokenizer.json and model.safetensors, as the published checkpoint has them, and the backbone's config beside them."""
    directory.mkdir(parents=True, exist_ok=True)
    kept = HERE / "tokenizer.json"
    if kept.exists():
        words = PreTrainedTokenizerFast(tokenizer_file=str(kept), eos_token="<|im_end|>", pad_token="<|endoftext|>", additional_special_tokens=SPECIAL[1:])
    else:
        words = tokenizer()
        words.backend_tokenizer.save(str(kept), pretty=False)
    words.save_pretrained(directory)
    Qwen3Config(vocab_size=len(words), **BACKBONE).save_pretrained(directory / "backbone")
    config = {"model_type": "swepruner", "backbone_model_name_or_path": str(directory / "backbone"), "compression_head_type": head, **PRUNER}
    (directory / "config.json").write_text(json.dumps(config))
    from swe_pruner.prune_wrapper import SwePrunerForCodePruning
    from swe_pruner.configuration import SwePrunerConfig
    parsed = SwePrunerConfig.from_pretrained(str(directory))
    parsed._name_or_path = str(directory)
    names = {name: tuple(tensor.shape) for name, tensor in SwePrunerForCodePruning(parsed).state_dict().items()}
    save_file({name: drawn(name, shape) for name, shape in names.items()}, str(directory / "model.safetensors"), metadata={"format": "pt"})
    return names


def texts():
    """[(crate, file or None, question, code)]"""
    found = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"],
                           cwd=REPOSITORY, capture_output=True, check=True).stdout
    folders = {p["name"]: pathlib.Path(p["manifest_path"]).parent for p in json.loads(found)["packages"]}
    for crate, file, question in FILES:
        yield crate, file, question, (folders[crate] / file).read_bytes().decode()
    scanner = (folders["tree-sitter-python"] / "src/scanner.c").read_bytes().decode()
    for name, code in made_up(scanner):
        yield None, name, "What is written to the log, and when?", code


def made_up(scanner):
    """Texts on which offsets go wrong easily; `tests/it/swe_pruner.rs` makes the same."""
    yield "crlf", scanner[:6000].replace("\n", "\r\n")
    yield "astral", "".join(f"let größe_{i} = \"日本 🦀 {i}\";\n" for i in range(60))
    yield "separators", "".join(f"a{i} = {i}\u2028b\x0cc\x85d\x1ce\n\n" for i in range(40))
    yield "no newline at the end", "one\ntwo\n\n\n\nthree " * 30
    yield "empty", ""
    yield "one long line", "x = [" + ", ".join(str(i) for i in range(400)) + "]"


def main():
    import tempfile
    torch.set_num_threads(2)
    torch.amp.autocast = lambda *_, **__: torch.no_grad()  # float32 throughout
    from swe_pruner import prune_wrapper
    build = prune_wrapper.build_input_for_llm
    prune_wrapper.build_input_for_llm = lambda *args, **more: without_padding(build(*args, **more))
    goldens = {"tensors": {}, "cases": []}
    logits = bytearray()
    cases = list(texts())
    for head in HEADS:
        with tempfile.TemporaryDirectory() as directory:
            directory = pathlib.Path(directory)
            names = write_checkpoint(directory, head)
            goldens["tensors"][head] = {name: list(shape) for name, shape in names.items()}
            model = prune_wrapper.SwePrunerForCodePruning.from_pretrained(str(directory))
        assert all(p.dtype == torch.float32 for p in model.parameters())
        model._process_single_chunk = functools.cache(functools.partial(process, type(model)._process_single_chunk, model))
        ask = lambda query, code, **more: model.prune(prune_wrapper.PruneRequest(query=query, code=code, **more))
        # Answers that are a mixture of kept and left out: the threshold is the median of the file's scores.
        for i, (crate, file, question, code) in enumerate(cases):
            scores = [score for _, score in ask(question, code).token_scores]
            threshold = round(float(np.median(scores)), 3) if scores else 0.5
            more = {"threshold": threshold, "always_keep_first_frags": i % 3 == 0, "chunk_overlap_tokens": 50 if i % 2 else 20}
            answer = ask(question, code, **more)
            token_logits = [float(np.log(s / (1 - s))) for _, s in answer.token_scores]
            goldens["cases"].append({"head": head, "crate": crate, "file": file, "query": question, **more, **summary(answer), "logits": len(token_logits)})
            logits += np.round(np.clip(token_logits, -32, 32) * 1000).astype("<i2").tobytes()
            print(head, crate, file, len(token_logits), answer.score, len(answer.kept_frags), flush=True)
        query = "Why? " * 4000
        answer = ask(query, cases[0][3])
        goldens["cases"].append({"head": head, "crate": cases[0][0], "file": cases[0][1], "query": "Why? *4000", "threshold": 0.5,
                                 "always_keep_first_frags": False, "chunk_overlap_tokens": 50, **summary(answer), "logits": 0})
    (HERE / "goldens.json").write_text(json.dumps(goldens))
    (HERE / "logits.bin").write_bytes(logits)


def without_padding(inputs):
    """Masked tokens at the end change nothing and cost a hundred times the time."""
    length = int(inputs["attention_mask"].sum())
    return {**inputs, "input_ids": inputs["input_ids"][:, :length], "attention_mask": inputs["attention_mask"][:, :length]}


def process(method, model, query, code, _, max_length=8192, instruction=None):
    return method(model, query, code, model.tokenizer, max_length=max_length, instruction=instruction)


def summary(answer):
    """All of an answer but its token scores."""
    return {"score": answer.score, "kept_frags": ranges(answer.kept_frags), "pruned_code": hashlib.sha256(answer.pruned_code.encode()).hexdigest(),
            "origin_token_cnt": answer.origin_token_cnt, "left_token_cnt": answer.left_token_cnt,
            "model_input_token_cnt": answer.model_input_token_cnt, "error_msg": answer.error_msg}


def ranges(numbers):
    """[1, 2, 3, 7] -> [[1, 3], [7, 7]]"""
    out = []
    for number in numbers:
        if out and out[-1][1] == number - 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return out


if __name__ == "__main__":
    if sys.argv[1:2] == ["--checkpoint"]:
        write_checkpoint(pathlib.Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "crf")
    else:
        main()
