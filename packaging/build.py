"""Builds the program for a target, or says what this machine lacks for it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from about import REPOSITORY


class CannotBuild(Exception):
    pass


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=REPOSITORY).stdout.strip()


def way(target):
    """What cargo is asked to do, and what it needs: a Mac builds for Macs with its own tools."""
    if "apple" in target.triple and sys.platform == "darwin":
        return "build", ()
    return target.build, target.needs


def build(target):
    """The path of the built program."""
    task, needs = way(target)
    if not (Path(output("rustc", "--print", "sysroot")) / "lib/rustlib" / target.triple).exists():
        raise CannotBuild(f"Rust's library for it is missing: rustup target add {target.triple}")
    if missing := [need for need in needs if not shutil.which(need)]:
        raise CannotBuild(f"{' and '.join(missing)} is missing" if len(missing) == 1 else f"{' and '.join(missing)} are missing")
    environment = dict(os.environ)
    if target.triple == "aarch64-unknown-linux-gnu":  # the one whose linker cargo does not guess
        environment["CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER"] = "aarch64-linux-gnu-gcc"
    if "apple" in target.triple and task == "zigbuild":  # what a linker has to know of a Mac's frameworks
        environment[f"CARGO_TARGET_{target.triple.upper().replace('-', '_')}_RUSTFLAGS"] = f"-C link-arg=-F{Path(__file__).parent / 'macos'}"
    command = ["cargo", task, "--release", "--locked", "--target", target.triple]
    print("+", *command, flush=True)
    if subprocess.run(command, cwd=REPOSITORY, env=environment).returncode:
        raise CannotBuild("cargo failed, with the messages above")
    about = json.loads(output("cargo", "metadata", "--no-deps", "--format-version", "1"))
    return Path(about["target_directory"]) / target.triple / "release" / target.program
