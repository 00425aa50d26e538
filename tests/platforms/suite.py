#!/usr/bin/env python3
"""Builds the test suite for another platform and runs it here, under an emulator. What follows the target is handed to the tests.

    python3 tests/platforms/suite.py windows          # x86_64-pc-windows-gnu under wine
    python3 tests/platforms/suite.py arm64            # aarch64-unknown-linux-gnu under qemu
    python3 tests/platforms/suite.py instructions     # this machine's, with AVX2 only and with neither, under qemu
    python3 tests/platforms/suite.py program FILE     # the suite of this machine with another build of the program: a static one, one for arm64

Needs, of Debian: gcc-mingw-w64-x86-64, g++-mingw-w64-x86-64 and wine64; or gcc-aarch64-linux-gnu, g++-aarch64-linux-gnu, qemu-user-static and
libc6:arm64; and `rustup target add TARGET`. The tests start the program, so that for arm64 the kernel has to hand programs to qemu (binfmt_misc).
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# Old versions of wine lack a function that the standard library asks for random bytes; newer ones and Windows have it.
STAND_IN = """#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) { return SystemFunction036(data, length); }
"""
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


def suite(target, environment, arguments):
    return subprocess.run(["cargo", "test", "--no-fail-fast", "--target", target, *arguments], cwd=REPOSITORY, env=environment, check=False).returncode


def windows(arguments):
    with tempfile.TemporaryDirectory() as place:
        environment = wine(pathlib.Path(place))
        try:
            return suite("x86_64-pc-windows-gnu", {**environment, "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER": "wine"}, arguments)
        finally:
            subprocess.run(["wineserver", "-k"], env=environment, check=False)


def arm64(arguments):
    linker = "aarch64-linux-gnu-gcc"
    return suite("aarch64-unknown-linux-gnu", {**os.environ, "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": linker}, arguments)


def built():
    """The test programs of this machine: of the library, and those that start the program."""
    said = subprocess.run(["cargo", "test", "--no-run"], cwd=REPOSITORY, check=True, capture_output=True, text=True).stderr
    lines = [line for line in said.splitlines() if "Executable" in line]
    return [next(line.split("(")[-1].rstrip(")") for line in lines if of in line) for of in ("src/lib.rs", "tests/it")]


def program(arguments):
    """Puts a program in the place of the one that the tests start, and that one back."""
    tests, place = built()[1], REPOSITORY / "target/debug/codeskim"
    own = place.with_name("codeskim-of-this-machine")
    place.rename(own)
    try:
        shutil.copy(arguments[0], place)
        return subprocess.run([tests, *arguments[1:]], cwd=REPOSITORY, check=False).returncode
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
