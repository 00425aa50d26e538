"""Where the program of a target can be started on this machine."""

import os
import platform
import subprocess
from contextlib import contextmanager

from .table import Skipped
from .using import run, tool

# What Debian's wine lacks and Rust's standard library asks for.
RANDOM = """
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL ProcessPrng(PBYTE data, SIZE_T length) { return SystemFunction036(data, (ULONG)length); }
"""


def is_own(target):
    machine = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine())
    return (target.system, target.machine) == (platform.system().lower(), machine)


def place(target):
    if is_own(target):
        return "this machine"
    return {"win32": "wine", "darwin": "a Mac"}.get(target.system, "qemu")


@contextmanager
def starting(target, program, scratch):
    """The command that starts `program`, and its environment."""
    if is_own(target):
        yield [program], {}
    elif "linux" in target.triple:
        qemu = tool("qemu-aarch64-static")
        yield [qemu, *([] if "musl" in target.triple else ["-L", "/usr/aarch64-linux-gnu"]), program], {}
    elif target.system == "win32":
        with wine(program, scratch) as environment:
            yield [tool("wine"), program], environment
    else:
        raise Skipped("this is no Mac")


@contextmanager
def wine(program, scratch):
    """The environment with a Windows of its own."""
    source = scratch / "random.c"
    source.write_text(RANDOM)
    run(tool("x86_64-w64-mingw32-gcc"), "-shared", "-o", program.parent / "bcryptprimitives.dll", source, "-ladvapi32")
    environment = {"WINEPREFIX": str(scratch / "wine"), "WINEDEBUG": "-all"}
    options = {"env": {**os.environ, **environment}, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": 300}
    # Its server holds the outputs of whoever starts it, so that a pipe would stay open.
    subprocess.run([tool("wine"), "wineboot", "-i"], check=True, **options)
    try:
        yield environment
    finally:
        subprocess.run([tool("wineserver"), "-k"], **options)
        subprocess.run([tool("wineserver"), "-w"], **options)
