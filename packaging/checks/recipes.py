"""What is made for other installers: read by their languages, and held against the archives."""

import hashlib
import json
import re

from about import VERSION

from .table import Skipped
from .using import run, tool


def there(path):
    if not path.exists():
        raise Skipped("it was not made")
    return path


def same(out, url, digest):
    assert hashlib.sha256((out / url.rpartition("/")[2]).read_bytes()).hexdigest() == digest, url


def formula(out):
    path = there(out / "codeskim.rb")
    for url, digest in re.findall(r'url "(.+)"\n +sha256 "(.+)"', path.read_text()):
        same(out, url, digest)
    return run(tool("ruby"), "-c", path).stdout.strip()


def scoop(out):
    manifest = json.loads(there(out / "codeskim.json").read_text())
    own = manifest["architecture"]["64bit"]
    same(out, own["url"], own["hash"])
    assert manifest["version"] == VERSION


def windows():
    raise Skipped("it needs Windows's PowerShell, and was only read")


def check(table, _targets, out, _scratch):
    table.row("codeskim.rb", "ruby -c", "syntax, and the sums of the archives", lambda: formula(out))
    table.row("codeskim.json", "here", "JSON, and the sum of the archive", lambda: scoop(out))
    table.row("install.sh", "shellcheck", "what it finds", lambda: run(tool("shellcheck"), there(out / "install.sh")).stdout)
    table.row("install.ps1", "Windows", "installed and used", windows)
