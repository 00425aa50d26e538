"""What Cargo.toml says of the package, and the texts that go with the program."""

import tomllib
from pathlib import Path

from files import File

REPOSITORY = Path(__file__).resolve().parent.parent
ABOUT = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["package"]
VERSION = ABOUT["version"]


def licences():
    return [File(path.name, path.read_bytes()) for path in sorted(REPOSITORY.glob("LICENSE-*"))]


def readme():
    return File("README.md", (REPOSITORY / "README.md").read_bytes())
