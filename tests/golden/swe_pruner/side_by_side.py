"""The published service and `codeskim serve --http` with the same small checkpoint, asked the same: a table of their answers.

    cargo build --release && venv/bin/python tests/golden/swe_pruner/side_by_side.py target/release/codeskim

`make.py` says what venv needs, and fastapi, uvicorn and typer come with the package. The published service computes in float16 on a CPU, so its
scores are compared within 0.02. Then codeskim reads a file with the published service as its remote skimmer.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import make

OFFICIAL, OURS = 8711, 8712
TOLERANCE = 0.02


def post(port, request):
    call = urllib.request.Request(f"http://127.0.0.1:{port}/prune", json.dumps(request).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(call, timeout=600) as response:
        return json.load(response)


def wait(port):
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as response:
                if json.load(response)["model_loaded"]:
                    return
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.2)
    sys.exit(f"nothing healthy on port {port}")


def compare(request):
    """A row of the table: what differs."""
    theirs, ours = post(OFFICIAL, request), post(OURS, request)
    apart = max((abs(a[1] - b[1]) for a, b in zip(theirs["token_scores"], ours["token_scores"])), default=0)
    same_tokens = [a[0] for a in theirs["token_scores"]] == [b[0] for b in ours["token_scores"]]
    counts = all(theirs[name] == ours[name] for name in ("origin_token_cnt", "model_input_token_cnt", "error_msg"))
    lines = set(theirs["kept_frags"]) ^ set(ours["kept_frags"])
    return {"tokens": len(theirs["token_scores"]), "same tokens": same_tokens, "same counts": counts, "apart": apart,
            "score apart": abs(theirs["score"] - ours["score"]), "kept": len(theirs["kept_frags"]), "kept by one": len(lines),
            "same code": theirs["pruned_code"] == ours["pruned_code"], "fields": sorted(theirs) == sorted(ours)}


def main():
    binary = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        make.write_checkpoint(pathlib.Path(directory), "crf")
        official = subprocess.Popen([sys.executable, "-c", "from swe_pruner.online_serving import main; main()", "--host", "127.0.0.1",
                                     "--port", str(OFFICIAL), "--model-path", directory], stderr=subprocess.DEVNULL)
        ours = subprocess.Popen([binary, "serve", "--http", str(OURS), "--model", directory])
        try:
            wait(OFFICIAL), wait(OURS)
            worst = 0
            print("| text | tokens | same tokens and counts | scores apart | relevance apart | kept lines | kept by one only | same code |\n|---|---|---|---|---|---|---|---|")
            for i, (crate, file, question, code) in enumerate(make.texts()):
                request = {"query": question, "code": code[:12000], "threshold": (0.3, 0.5, 0.62)[i % 3], "always_keep_first_frags": i % 4 == 0}
                row = compare(request)
                worst = max(worst, row["apart"], row["score apart"])
                print(f"| {crate or 'made up'} {file} | {row['tokens']} | {row['same tokens'] and row['same counts'] and row['fields']} | {row['apart']:.4f} | "
                      f"{row['score apart']:.4f} | {row['kept']} | {row['kept by one']} | {row['same code']} |", flush=True)
            read = [binary, "read", "src/skim/mod.rs", "--focus", "What may a skimmer fail with?", "--remote-timeout", "600"]
            read = subprocess.run([*read, "--remote", f"http://127.0.0.1:{OFFICIAL}", "--keep", "strict"], cwd=make.REPOSITORY, capture_output=True, text=True)
            print("with the published service as remote skimmer:", read.stdout.splitlines()[0])
            sys.exit(0 if worst <= TOLERANCE else f"scores are {worst} apart")
        finally:
            official.kill(), ours.kill()


if __name__ == "__main__":
    main()
