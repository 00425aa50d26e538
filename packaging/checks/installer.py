"""install.sh, in homes of its own, with no tools but those named, against a server on this machine."""

import os
import shutil
import subprocess
import time

from about import VERSION

from . import places, programs
from .server import serving
from .table import Skipped
from .using import run, tool, use

# What it may need besides what downloads and what adds up.
TOOLS = ["sh", "uname", "mktemp", "awk", "cut", "tar", "gzip", "mkdir", "cp", "mv", "rm"]


class Installer:
    def __init__(self, script, url, scratch, tools, made_up):
        self.script, self.url = script, url
        self.home, self.temporary, self.tools = scratch / "home", scratch / "temporary", scratch / "tools"
        for folder in (self.home, self.temporary, self.tools):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for name, path in {**{tool: tool for tool in TOOLS if tool not in made_up}, **tools}.items():
            (self.tools / name).symlink_to(tool(path))
        for name, line in made_up.items():
            (self.tools / name).write_text(f"#!/bin/sh\n{line}\n")
            (self.tools / name).chmod(0o755)

    def run(self):
        environment = {"HOME": str(self.home), "PATH": str(self.tools), "TMPDIR": str(self.temporary), "CODESKIM_URL": self.url}
        return run(self.tools / "sh", self.script, env=environment, check=False)

    def installs(self):
        done = self.run()
        assert done.returncode == 0, done.stderr
        program = self.home / ".local/bin/codeskim"
        told = [f"codeskim {VERSION} is installed as {program}.", f"Add {program.parent} to PATH to start it by its name."]
        assert done.stdout.splitlines() == told, done.stdout
        assert not list(self.temporary.iterdir()) and list(program.parent.iterdir()) == [program], "something is left over"
        return program

    def refuses(self, words):
        done = self.run()
        left = [path for folder in (self.home, self.temporary) for path in folder.rglob("*") if path.is_file()]
        assert done.returncode == 1 and not done.stdout and not left, f"{done.stdout} {left}"
        [sentence] = done.stderr.splitlines()
        assert words in sentence, sentence
        return f"ok: {sentence.replace(self.url, 'BASE')}"

    def again(self):
        """A second time, while the program runs."""
        program = self.installs()
        quiet = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        server = subprocess.Popen([program, "--root", self.home], env={**os.environ, "CODESKIM_LEDGER": "off"}, **quiet)
        time.sleep(0.5)
        assert server.poll() is None, "the server did not stay"
        self.installs()
        server.stdin.close()
        server.wait(10)


def check(table, targets, out, scratch):
    script = out / "install.sh"
    own = [target for target in targets if places.is_own(target)]
    if not script.exists() or not own:
        def missing():
            raise Skipped("there is no program for this machine in it" if script.exists() else "it was not made")

        return table.row("install.sh", "here", "installed and used", missing)
    wrong = scratch / "wrong"
    wrong.mkdir()
    shutil.copy(out / "SHA256SUMS", wrong)
    (wrong / own[0].archive(VERSION)).write_bytes(programs.archive(own[0], out).read_bytes()[:-1] + b"!")
    curl = {"curl": "curl", "sha256sum": "sha256sum"}
    wget = {"wget": "wget", "shasum": "shasum"}
    box = {tool: "busybox" for tool in (*TOOLS, "wget", "sha256sum")}

    def row(place, done, act, url, tools=curl, **made_up):
        table.row("install.sh", place, done, lambda: act(Installer(script, url, scratch, tools, made_up)))

    def refused(words):
        return lambda installer: installer.refuses(words)

    with serving(out) as good, serving(wrong) as bad:
        row("sh, curl, sha256sum", "installed and used", lambda installer: use([installer.installs()]), good)
        row("sh, wget, shasum", "installed and used", lambda installer: use([installer.installs()]), good, wget)
        row("busybox alone", "installed and used", lambda installer: use([installer.installs()]), good, box)
        row("sh, curl", "installed again while it runs", Installer.again, good)
        row("sh, curl", "an archive with another sum", refused("is not what SHA256SUMS says"), bad)
        row("sh, curl", "no server", refused("cannot be downloaded"), "http://127.0.0.1:9")
        row("sh, wget", "no server", refused("cannot be downloaded"), "http://127.0.0.1:9", wget)
        row("sh", "nothing that downloads", refused("curl or wget is needed"), good, {})
        row("sh, curl", "nothing that adds up", refused("sha256sum or shasum is needed"), good, {"curl": "curl"})
        row("another processor", "refused", refused("no program for riscv64"), good, uname="echo riscv64")
        row("another system", "refused", refused("no program for FreeBSD"), good, uname="[ $1 = -s ] && echo FreeBSD || echo x86_64")
        row("a Mac with Rosetta", "the archive for Apple's processor, which does not start here", refused("aarch64-apple-darwin"), good,
            uname="[ $1 = -s ] && echo Darwin || echo x86_64", sysctl="echo 1")  # fmt: skip
