"""Where the program of a target can be started on this machine."""

import platform
import subprocess
import sys
from contextlib import contextmanager

from about import REPOSITORY

from .table import Skipped
from .using import tool

sys.path.append(str(REPOSITORY / "tests/platforms"))  # where programs for Windows are tested
import suite


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
        yield [tool("qemu-aarch64-static"), program], {}
    elif target.system == "win32":
        wine, _ = tool("wine"), tool("x86_64-w64-mingw32-gcc")
        prefix = scratch / "wine"
        prefix.mkdir()
        environment = suite.wine(prefix)
        try:
            yield [wine, program], environment
        finally:
            for option in ("-k", "-w"):
                subprocess.run([tool("wineserver"), option], env=environment, check=False)
    else:
        raise Skipped("this is no Mac")
