"""Wheels, as pip picks and installs them."""

import shutil
import sys

from about import VERSION

from . import places
from .table import Skipped
from .using import run, use


def installed(out, scratch):
    run(sys.executable, "-m", "venv", scratch / "venv")
    run(scratch / "venv/bin/pip", "install", "--no-index", "--find-links", out, f"codeskim=={VERSION}")
    return use([scratch / "venv/bin/codeskim"])


def picked(tag, out, scratch):
    folder = scratch / tag
    options = ["--no-index", "--find-links", out, "--no-deps", "--only-binary=:all:", "--platform", tag, "-d", folder]
    run(sys.executable, "-m", "pip", "download", *options, f"codeskim=={VERSION}")
    [path] = folder.iterdir()
    assert tag in path.name, path.name
    shutil.rmtree(folder)


def twine(paths, scratch):
    run(sys.executable, "-m", "venv", scratch / "twine")
    run(scratch / "twine/bin/pip", "install", "twine")
    run(scratch / "twine/bin/twine", "check", "--strict", *paths)


def check(table, targets, out, scratch):
    def used():
        if not any(map(places.is_own, targets)):
            raise Skipped("there is no wheel for this machine")
        return installed(out, scratch)

    table.row("wheels, all", "twine check --strict", "what the registry asks for", lambda: twine(sorted(out.glob("*.whl")), scratch))
    table.row("wheel", "pip, a new venv", "installed and used", used)
    for target in targets:
        for tag in target.wheel.split(".") if target.wheel else []:
            table.row("wheel", f"as if on {tag}", "which wheel pip picks", lambda: picked(tag, out, scratch))
