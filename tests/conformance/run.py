#!/usr/bin/env python3
"""The protocol's own conformance suite against `codeskim serve --http`, for both eras of the protocol.

    python3 tests/conformance/run.py target/release/codeskim [--work DIR]

The suite comes from npm, into DIR (with Node, as it needs 22). What is expected to fail is in 2025-11-25.yml and 2026-07-28.yml, with the reason in
front of each; a scenario that fails and is not there, or is there and passes, fails the run.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
ERAS = ["2025-11-25", "2026-07-28"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("codeskim", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--work", type=lambda path: Path(path).resolve(), default=REPOSITORY / "target/conformance")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if not (options.work / "node_modules/.bin/conformance").exists():
        shutil.copy(HERE / "package.json", options.work)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=options.work, check=True)
    binaries = options.work / "node_modules/.bin"
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
    said = options.work / "server.log"
    with said.open("w") as log:
        server = subprocess.Popen([options.codeskim, "--root", str(REPOSITORY), "serve", "--http", "0"], stderr=log)
    try:
        patience = time.monotonic() + 30
        while not (url := re.search(r"http://\S+/mcp", said.read_text())):
            if server.poll() is not None or time.monotonic() > patience:
                sys.exit(f"the server did not start: {said.read_text()}")
            time.sleep(0.05)
        url = url[0]
        failed = False
        for era in ERAS:
            print(f"== {era}", flush=True)
            command = ["conformance", "server", "--url", url, "--suite", "all", "--spec-version", era,
                       "--expected-failures", str(HERE / f"{era}.yml"), "-o", str(options.work / f"results-{era}")]
            failed |= subprocess.run(command, env=environment, cwd=options.work).returncode != 0
        sys.exit(failed)
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
