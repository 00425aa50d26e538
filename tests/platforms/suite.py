#!/usr/bin/env python3
"""Builds the test suite for another platform and runs it here, under an emulator. What follows chooses tests by parts of their names.

    python3 tests/platforms/suite.py windows          # x86_64-pc-windows-gnu under wine
    python3 tests/platforms/suite.py arm64            # aarch64-unknown-linux-gnu under qemu
    python3 tests/platforms/suite.py instructions     # this machine's, with AVX2 only and with neither, under qemu
    python3 tests/platforms/suite.py program FILE     # the suite of this machine with another build of the program: a static one, one for arm64

Needs, of Debian: gcc-mingw-w64-x86-64, g++-mingw-w64-x86-64 and wine64; or gcc-aarch64-linux-gnu, g++-aarch64-linux-gnu, qemu-user-static and
libc6:arm64; and `rustup target add TARGET`. The tests start the program, so that for arm64 the kernel has to hand programs to qemu (binfmt_misc).
"""

import collections
import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# Old versions of wine lack a function that the standard library asks for random bytes; newer ones and Windows have it.
STAND_IN = """#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) { return SystemFunction036(data, length); }
"""
# Seconds after which a child that still begins is ended. A process that is ended while it begins stays under old versions of wine, with its pipes.
LONGEST_BEGIN = 8
# Seconds that a test may take.
LIMIT = 300
# Tests that wine cannot pass: its links of files are said to be made and are not, and no Linux program's output can be read.
BEYOND_WINE = ("a_model_is_fetched_and", "a_model_that_cannot_be_fetched", "answers_are_those_of_the_published")
# Processors of x86-64 by what they have: no AVX-512, and no AVX at all.
PROCESSORS = {"AVX2": "Haswell", "SSE": "Nehalem"}


def wine(prefix):
    """The environment of a wine of its own, whose server stays, so that each start is fast."""
    environment = {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": str(prefix)}
    quiet = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False}
    subprocess.run(["wineboot", "-i"], **quiet)
    source = prefix / "stand-in.c"
    source.write_text(STAND_IN)
    library = prefix / "drive_c/windows/system32/bcryptprimitives.dll"
    if not library.exists():
        subprocess.run(["x86_64-w64-mingw32-gcc", "-shared", "-o", str(library), str(source), "-ladvapi32"], check=True)
    subprocess.run(["wineserver", "-p"], **quiet)
    return environment


def end_children_that_begin():
    """Ends children that read syntax and have been beginning for long."""
    seen = {}
    while True:
        now = time.monotonic()
        seen = {child: seen.get(child, now) for child in pathlib.Path("/proc").glob("[0-9]*") if is_beginning(child)}
        for child in (child for child, since in seen.items() if now - since > LONGEST_BEGIN):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child.name), signal.SIGKILL)
        time.sleep(1)


def is_beginning(process):
    """Whether it is such a child and has one thread: one that reads has more."""
    try:
        program, *arguments = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        return program.endswith(b"codeskim.exe") and b"read-syntax" in arguments and len(list((process / "task").iterdir())) == 1
    except OSError:
        return False


def built(target=None, environment=None):
    """The test programs, of the library and those that start the program, for a target or for this machine."""
    command = ["cargo", "test", "--no-run", *(["--target", target] if target else [])]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, check=False, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    lines = [line for line in done.stderr.splitlines() if "Executable" in line]
    return [next(line.split("(")[-1].rstrip(")") for line in lines if of in line) for of in ("src/lib.rs", "tests/it")]


def suite(programs, chosen, environment=None, emulator=(), skipped=()):
    """Runs each test in a process of its own, so that one that hangs under an emulator holds up no other. Says whether any failed."""
    outcomes = collections.Counter()
    for program in programs:
        listed = subprocess.run([*emulator, program, "--list"], cwd=REPOSITORY, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        names = [line.strip().removesuffix(": test") for line in listed.splitlines() if line.strip().endswith(": test")]
        names = [name for name in names if any(part in name for part in chosen or [""]) and not any(part in name for part in skipped)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            ended = pool.map(lambda name: test([*emulator, program, name, "--exact"], environment), names)
            for name, (outcome, said) in zip(names, ended):
                outcomes[outcome] += 1
                print(f"{outcome:8} {name}", flush=True)
                if outcome == "failed":
                    print(said, flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    return int(outcomes["failed"] + outcomes["time up"] > 0)


def test(command, environment):
    """How a test ended, and what it said."""
    with tempfile.TemporaryFile("w+", errors="replace") as out:  # no pipe: what a test leaves behind would hold it
        with subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=out, stderr=out, start_new_session=True) as process:
            try:
                status = process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with the programs that it has started
                return "time up", ""
        out.seek(0)
        said = out.read()
        return "failed" if status else "ignored" if "1 ignored" in said else "passed", said


def windows(chosen):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        environment = wine(pathlib.Path(place))
        threading.Thread(target=end_children_that_begin, daemon=True).start()
        try:
            return suite(built("x86_64-pc-windows-gnu", environment), chosen, environment, ["wine"], BEYOND_WINE)
        finally:
            subprocess.run(["wineserver", "-k"], env=environment, check=False)


def arm64(chosen):
    linker = {"CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": "aarch64-linux-gnu-gcc"}
    return suite(built("aarch64-unknown-linux-gnu", {**os.environ, **linker}), chosen)


def program(arguments):
    """Puts a program in the place of the one that the tests start, and that one back."""
    other, *chosen = arguments
    tests, place = built()[1], REPOSITORY / "target/debug/codeskim"
    own = place.with_name("codeskim-of-this-machine")
    place.rename(own)
    try:
        shutil.copy(other, place)
        return suite([tests], chosen)
    finally:
        own.rename(place)


def instructions(arguments):
    """The figures of the skimmer that the trainer's own code gave, and the products that they are made of, on other processors."""
    failed = 0
    for name, processor in PROCESSORS.items():
        for program in built():
            print(f"{name}: {program}", flush=True)
            tests = arguments or ["scores_equal_the_trainers", "skim::"]
            failed |= subprocess.run(["qemu-x86_64-static", "-cpu", processor, program, *tests], cwd=REPOSITORY, check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit({"windows": windows, "arm64": arm64, "instructions": instructions, "program": program}[sys.argv[1]](sys.argv[2:]))
