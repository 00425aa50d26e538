"""Whether every package of a target has the same program, and that is a program for it."""

import hashlib
import stat
import struct
import tarfile
import zipfile

from about import VERSION
from files import File

ELF = {"x86_64": 62, "aarch64": 183}
MACH_O = {"x86_64": 0x1000007, "aarch64": 0x100000C}


def archive(target, out):
    return out / target.archive(VERSION)


def packages(target, out):
    """The paths of a target's packages."""
    own = [f"codeskim-{VERSION}-{target.platform}.mcpb", f"codeskim-{target.platform}-{VERSION}.tgz", f"codeskim-{VERSION}-py3-none-{target.wheel}.whl"]
    return [archive(target, out), *[out / name for name in own if target.platform]]


def unpacked(path):
    if path.name.endswith("gz"):
        with tarfile.open(path) as packed:
            assert all((entry.uid, entry.gid, entry.uname, entry.gname) == (0, 0, "", "") for entry in packed), "it names its maker"
            return [File(entry.name, packed.extractfile(entry).read(), bool(entry.mode & 0o111)) for entry in packed]
    with zipfile.ZipFile(path) as packed:
        return [File(entry.filename, packed.read(entry), bool(entry.external_attr >> 16 & stat.S_IXUSR)) for entry in packed.infolist()]


def program(target, out):
    found = set()
    for path in packages(target, out):
        files = {file.name: file for file in unpacked(path)}
        assert sum("LICENSE-" in name for name in files) == 2, f"{path.name} has no licences"
        [own] = [file for name, file in files.items() if name.rpartition("/")[2] == target.program]
        assert own.runs, f"{own.name} in {path.name} is not executable"
        found.add(own.content)
    [content] = found
    return content


def kind(content):
    """What a program's head says: processor, kind, and what matters of the rest."""
    if content[:4] == b"\x7fELF":
        machine, segments, size, count = struct.unpack_from("<18xH12xQ14xHH", content)
        asks_for_loader = any(struct.unpack_from("<I", content, segments + at * size)[0] == 3 for at in range(count))
        return machine, "dynamic" if asks_for_loader else "static"
    if content[:2] == b"MZ":
        head = struct.unpack_from("<I", content, 60)[0]
        assert content[head : head + 4] == b"PE\0\0"
        return struct.unpack_from("<H", content, head + 4)[0], "PE"
    magic, machine, _, _, count = struct.unpack_from("<5I", content)
    assert magic == 0xFEEDFACF, "it is no program"
    at, commands = 32, set()
    for _ in range(count):
        command, size = struct.unpack_from("<II", content, at)
        commands.add(command)
        at += size
    return machine, "signed" if 0x1D in commands else "unsigned"


def expected(target):
    machine = target.triple.partition("-")[0]
    if "windows" in target.triple:
        return 0x8664, ["PE"]
    if "apple" in target.triple:  # Apple's processors start nothing that is unsigned
        return MACH_O[machine], ["signed"] if machine == "aarch64" else ["signed", "unsigned"]
    return ELF[machine], ["static"] if "musl" in target.triple else ["dynamic"]


def check(table, targets, out, _scratch):
    def same(target):
        machine, found = kind(program(target, out))
        wanted, kinds = expected(target)
        assert machine == wanted, f"it is for another processor ({machine:#x})"
        assert found in kinds, f"it is {found}"
        return f"ok, {found}"

    def listed():
        for line in (out / "SHA256SUMS").read_text().splitlines():
            digest, name = line.split("  ")
            assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest, name

    table.row("SHA256SUMS", "here", "each sum", listed)
    for target in targets:
        done = "the same program, for it, and licences in each package"
        table.row(target.triple, "here", done, lambda: same(target))
