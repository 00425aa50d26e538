"""The launcher and the platforms' packages, as npm installs them from a registry that stands on this machine."""

import os
import shutil
import signal
import subprocess
import time

from about import REPOSITORY, VERSION

from . import places
from .server import registry, serving
from .table import Skipped
from .using import run, use


class Npm:
    def __init__(self, url, scratch):
        own = {"registry": url, "cache": scratch / "cache", "userconfig": os.devnull, "update_notifier": "false", "audit": "false", "fund": "false"}
        self.environment = {**os.environ, **{f"npm_config_{name}": str(value) for name, value in own.items()}}
        self.scratch = scratch

    def install(self, *options):
        """The folder of the installed packages."""
        folder = self.scratch / "installed"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "package.json").write_text("{}")
        run("npm", "install", *options, f"codeskim@{VERSION}", cwd=folder, env=self.environment)
        return folder / "node_modules"

    def picks(self, expected, system, machine, *more):
        modules = self.install("--os", system, "--cpu", machine, *more)
        found = sorted(path.name for path in modules.iterdir() if not path.name.startswith("."))
        assert found == ["codeskim", *expected], found


def publishable(npm, paths):
    for path in paths:
        done = run("npm", "publish", "--dry-run", path, env=npm.environment)
        assert "auto-corrected" not in done.stderr, done.stderr


def without_platform(npm):
    modules = npm.install("--omit=optional")
    done = run(modules / ".bin/codeskim", "--version", check=False)
    assert done.returncode == 2 and "is missing; install codeskim again" in done.stderr, done.stderr
    return f"ok: {done.stderr.strip()}"


def ended(npm):
    """What ends the launcher ends the program, and both as the signal says."""
    launcher = npm.install() / ".bin/codeskim"
    quiet = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([launcher], cwd=REPOSITORY, env={**os.environ, "CODESKIM_LEDGER": "off"}, **quiet)
    time.sleep(1)
    [child] = run("pgrep", "-P", server.pid).stdout.split()
    server.send_signal(signal.SIGTERM)
    status = server.wait(10)
    assert not os.path.exists(f"/proc/{child}"), "the program goes on"
    return f"ok, status {status}"


def check(table, targets, out, scratch):
    paths = sorted(out.glob("codeskim*.tgz"))
    offered = [target for target in targets if target.platform]
    folder = scratch / "registry"
    folder.mkdir()
    with serving(out) as files, serving(folder) as url:
        registry(paths, files, folder)
        npm = Npm(url, scratch)

        def used():
            if not any(map(places.is_own, targets)):
                raise Skipped("there is no package for this machine")
            return use(["npx", "-y", f"codeskim@{VERSION}"], npm.environment)

        table.row("npm, all packages", "npm publish --dry-run", "is anything to be corrected?", lambda: publishable(Npm(files, scratch), paths))
        table.row("npm, codeskim", "npx, an empty cache", "installed and used", used)
        table.row("npm, codeskim", "npm install --omit=optional", "the launcher says what is missing", lambda: without_platform(npm))
        table.row("npm, codeskim", "the server, ended by SIGTERM", "the program ends too", lambda: ended(npm))
        for target in offered:
            own = [f"codeskim-{target.platform}"]
            table.row("npm, codeskim", f"as if on {target.platform}", "which packages npm picks", lambda: npm.picks(own, target.system, target.machine))
            if target.system == "linux":
                table.row("npm, codeskim", f"as if on {target.platform}, musl", "which packages npm picks",
                          lambda: npm.picks(own, target.system, target.machine, "--libc", "musl"))  # fmt: skip
            if target.system == "win32":
                table.row("npm, codeskim", "as if on win32-arm64", "which packages npm picks", lambda: npm.picks(own, "win32", "arm64"))
        table.row("npm, codeskim", "as if on freebsd-x64", "which packages npm picks", lambda: npm.picks([], "freebsd", "x64"))
