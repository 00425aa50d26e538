"""The program with its texts, for whoever unpacks it by hand and for Homebrew, Scoop, cargo binstall and the installers."""

from about import VERSION, licences, readme
from files import File, beneath, tar_gz, zipped


def make(target, program, out):
    name = target.archive(VERSION)
    pack = zipped if name.endswith(".zip") else tar_gz
    pack(out / name, beneath(target.folder(VERSION), [File(target.program, program, runs=True), readme(), *licences()]))
