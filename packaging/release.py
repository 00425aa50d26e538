#!/usr/bin/env python3
"""Makes every package of a release: archives, npm packages, wheels, .mcpb bundles, and with --url what installs them from there.

    python3 packaging/release.py OUT [--target TRIPLE …] [--programs DIR] [--url BASE]

Their version is Cargo.toml's. Needs Python 3.11, cargo where programs are built, and npm, which fetches the tool that checks .mcpb manifests.
"""

import argparse
import hashlib
import re
import sys
import tempfile
from pathlib import Path

import build
from kinds import archive, homebrew, installers, mcpb, npm, scoop, wheel
from targets import TARGETS


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path, metavar="OUT", help="a folder that is new or empty")
    parser.add_argument("--target", action="append", choices=[target.triple for target in TARGETS], help="only this one; repeatable")
    parser.add_argument("--programs", type=Path, metavar="DIR", help="build nothing, take DIR/TRIPLE/codeskim, or codeskim.exe")
    parser.add_argument("--url", metavar="BASE", help="where the files of this release will be, for Homebrew, Scoop and the installers")
    options = parser.parse_args()
    if options.out.exists() and any(options.out.iterdir()):
        parser.error(f"{options.out} is not empty; name a new folder")
    if options.url and not re.fullmatch(r"https://[\w.~:/%@+-]+[^/]", options.url, re.ASCII):
        parser.error("--url is an https address without a slash at its end")
    return options


def program(target, programs):
    """The program's bytes."""
    if not programs:
        return build.build(target).read_bytes()
    path = programs / target.triple / target.program
    if not path.is_file():
        raise build.CannotBuild(f"there is no {path}")
    return path.read_bytes()


def packages(options, out):
    """The targets that there are packages of, and what there is no program for, with the reason."""
    made, missing = [], {}
    with tempfile.TemporaryDirectory() as scratch:
        bundler = mcpb.validator(scratch)
        for target in TARGETS:
            if options.target and target.triple not in options.target:
                continue
            try:
                content = program(target, options.programs)
            except build.CannotBuild as reason:
                missing[target.triple] = reason
                continue
            print(f"packing {target.triple}", flush=True)
            archive.make(target, content, out)
            if target.platform:
                npm.make(target, content, out)
                wheel.make(target, content, out)
                mcpb.make(target, content, out, bundler)
            made.append(target)
    return made, missing


def sums(out):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())}


def main():
    options = arguments()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    made, missing = packages(options, out)
    if made:
        npm.launcher([target for target in made if target.platform], out)
        if options.url:
            homebrew.make(made, sums(out), options.url, out)
            scoop.make(made, sums(out), options.url, out)
            installers.make(options.url, out)
        (out / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums(out).items()))
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size / 1e6:7.1f} MB  {path.name}")
    for triple, reason in missing.items():
        print(f"not made: {triple}: {reason}")
    if not options.url:
        print("not made: codeskim.rb, codeskim.json, install.sh, install.ps1: they need --url")
    if not made:
        sys.exit("release.py: there is no program to pack.")


if __name__ == "__main__":
    main()
