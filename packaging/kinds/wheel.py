"""A wheel with nothing but the program, which pip puts among the scripts."""

import base64
import hashlib

from about import ABOUT, VERSION, licences, readme
from files import File, beneath, zipped


def metadata():
    lines = [
        "Metadata-Version: 2.4",
        "Name: codeskim",
        f"Version: {VERSION}",
        f"Summary: {ABOUT['description']}",
        f"License-Expression: {ABOUT['license']}",
        *[f"License-File: {licence.name}" for licence in licences()],
        "Requires-Python: >=3.8",
        *([f"Project-URL: Repository, {ABOUT['repository']}"] if "repository" in ABOUT else []),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines).encode() + b"\n\n" + readme().content


def make(target, program, out):
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in target.wheel.split("."))
    about = f"Wheel-Version: 1.0\nGenerator: codeskim ({VERSION})\nRoot-Is-Purelib: false\n{tags}"
    own = f"codeskim-{VERSION}"
    files = [
        File(f"{own}.data/scripts/{target.program}", program, runs=True),
        *beneath(f"{own}.dist-info/licenses", licences()),
        File(f"{own}.dist-info/METADATA", metadata()),
        File(f"{own}.dist-info/WHEEL", about.encode()),
    ]
    record = File(f"{own}.dist-info/RECORD", "".join([*map(line, files), f"{own}.dist-info/RECORD,,\n"]).encode())
    zipped(out / f"{own}-py3-none-{target.wheel}.whl", [*files, record])


def line(file):
    digest = base64.urlsafe_b64encode(hashlib.sha256(file.content).digest()).rstrip(b"=").decode()
    return f"{file.name},sha256={digest},{len(file.content)}\n"
