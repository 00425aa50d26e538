"""One package with the program for each platform, and the launcher that everybody installs, of which npm picks the platform's."""

import json

from about import ABOUT, REPOSITORY, VERSION, licences, readme
from files import File, beneath, tar_gz

COMMON = {key: ABOUT[key] for key in ("version", "description", "license", "repository") if key in ABOUT}


def package(out, about, files):
    manifest = File("package.json", (json.dumps({**about, **COMMON}, indent=2) + "\n").encode())
    tar_gz(out / f"{about['name']}-{VERSION}.tgz", beneath("package", [manifest, *licences(), *files]))


def make(target, program, out):
    name = f"codeskim-{target.platform}"
    # Windows on ARM runs programs for x64.
    machines = ["x64", "arm64"] if target.system == "win32" else [target.machine]
    about = {"name": name, "os": [target.system], "cpu": machines, "preferUnplugged": True}
    text = f"# {name}\n\nThe program of codeskim for {target.system} on {target.machine}. Install `codeskim`, which brings it along.\n"
    package(out, about, [File(f"bin/{target.program}", program, runs=True), File("README.md", text.encode())])


def launcher(targets, out):
    """Names only the packages of this release: anyone could take a name that nobody has published."""
    about = {
        "name": "codeskim",
        "bin": {"codeskim": "codeskim.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {f"codeskim-{target.platform}": VERSION for target in targets},
    }
    package(out, about, [File("codeskim.js", (REPOSITORY / "packaging/npm/codeskim.js").read_bytes(), runs=True), readme()])
