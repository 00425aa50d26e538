"""Archives, unpacked by hand as people and Homebrew do."""

import shutil

from about import VERSION

from . import installer, places, programs
from .using import use


def by_hand(target, out, scratch):
    folder = scratch / target.triple
    shutil.unpack_archive(programs.archive(target, out), folder)
    program = folder / target.folder(VERSION) / target.program
    program.chmod(0o755)  # which Python forgets of a zip
    with places.starting(target, program, scratch) as (command, environment):
        return use(command, environment)


def check(table, targets, out, scratch):
    for target in targets:
        table.row(f"archive, {target.triple}", places.place(target), "unpacked and used", lambda: by_hand(target, out, scratch))
    installer.check(table, targets, out, scratch)
