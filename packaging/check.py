#!/usr/bin/env python3
"""Installs what release.py has made, each package in a clean place, uses it there, and prints what came of it.

    python3 packaging/check.py OUT

Needs npm and pip, which fetch the tools of their registries. Programs for Windows run under wine and those for ARM under qemu, where they are;
what these need is in tests/platforms/suite.py.
"""

import sys
import tempfile
from pathlib import Path

from checks import archives, bundles, npm, programs, recipes, wheels
from checks.table import Table
from targets import TARGETS


def main():
    out = Path(sys.argv[1]).resolve()
    targets = [target for target in TARGETS if programs.archive(target, out).exists()]
    table = Table()
    for kind in (programs, archives, npm, wheels, bundles, recipes):
        with tempfile.TemporaryDirectory() as scratch:
            kind.check(table, targets, out, Path(scratch))
    table.show()
    sys.exit(table.failed)


if __name__ == "__main__":
    main()
