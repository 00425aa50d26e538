#!/usr/bin/env python3
"""Makes every package of this platform from one source: an .mcpb bundle, two npm packages and a wheel; their version is Cargo.toml's.

    python3 packaging/release.py OUT

Needs cargo, npm and pip; npm fetches the bundle's own tool, which validates it, and pip fetches maturin.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
BUNDLER = "@anthropic-ai/mcpb@2.1.2"
SYSTEM = {"Linux": "linux", "Darwin": "darwin"}[platform.system()]
MACHINE = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
PROGRAM = "codeskim"


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run([str(part) for part in command], check=True, **options)


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")


def licences(folder):
    for path in REPOSITORY.glob("LICENSE-*"):
        shutil.copy(path, folder)


def package():
    """What Cargo.toml says, and the built program."""
    metadata = json.loads(run("cargo", "metadata", "--no-deps", "--format-version", "1", cwd=REPOSITORY, capture_output=True).stdout)
    run("cargo", "build", "--release", "--locked", cwd=REPOSITORY)
    return metadata["packages"][0], Path(metadata["target_directory"]) / "release" / PROGRAM


def bundle(about, program, out, scratch):
    """One file for Claude Desktop and others that take such bundles."""
    manifest = json.loads((HERE / "mcpb.json").read_text())
    manifest |= {"version": about["version"], "description": about["description"]}
    manifest["server"] |= {"entry_point": f"server/{PROGRAM}"}
    manifest["server"]["mcp_config"]["command"] = f"${{__dirname}}/server/{PROGRAM}"
    manifest["compatibility"]["platforms"] = [SYSTEM]
    schemas = [json.loads(path.read_text()) for path in sorted((REPOSITORY / "tool-schemas").glob("*.json"))]
    manifest["tools"] = [{"name": schema["name"], "description": schema["description"]} for schema in schemas]
    folder = scratch / "bundle"
    write(folder / "manifest.json", manifest)
    (folder / "server").mkdir()
    shutil.copy(program, folder / "server")
    licences(folder)
    run("npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", scratch / "bundler", BUNDLER)
    mcpb = scratch / "bundler/node_modules/.bin/mcpb"
    run(mcpb, "validate", folder / "manifest.json")
    run(mcpb, "pack", folder, out / f"codeskim-{about['version']}-{SYSTEM}-{MACHINE}.mcpb", stdout=subprocess.DEVNULL)


def npm(about, program, out, scratch):
    """The launcher, and the program of this platform."""
    common = {"version": about["version"], "description": about["description"], "license": about["license"]}
    own = f"codeskim-{SYSTEM}-{MACHINE}"
    folder = scratch / own
    write(folder / "package.json", {"name": own, **common, "os": [SYSTEM], "cpu": [MACHINE], "files": ["bin"]})
    (folder / "bin").mkdir()
    shutil.copy(program, folder / "bin")
    launcher = scratch / "codeskim"
    platforms = [f"codeskim-{system}-{machine}" for system in ("linux", "darwin") for machine in ("x64", "arm64")]
    write(launcher / "package.json", {
        "name": "codeskim", **common, "bin": {"codeskim": "codeskim.js"}, "files": ["codeskim.js"], "engines": {"node": ">=18"},
        "optionalDependencies": {name: about["version"] for name in platforms},
    })
    shutil.copy(HERE / "npm/codeskim.js", launcher)
    shutil.copy(REPOSITORY / "README.md", launcher)
    for path in (folder, launcher):
        licences(path)
        run("npm", "pack", "--silent", "--pack-destination", out, cwd=path)


def wheel(out, scratch):
    """A wheel with nothing but the program, built again by maturin from the same source."""
    run(sys.executable, "-m", "venv", scratch / "venv")
    binaries = scratch / "venv/bin"
    run(binaries / "pip", "install", "-q", "maturin>=1.9,<2")
    project = scratch / "python"  # with the licences beside it, where maturin wants them
    project.mkdir()
    licences(project)
    settings = (HERE / "python/pyproject.toml").read_text().replace("../../Cargo.toml", str(REPOSITORY / "Cargo.toml"))
    (project / "pyproject.toml").write_text(settings)
    path = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    run(binaries / "maturin", "build", "--release", "--locked", "--out", out, cwd=project, env={**os.environ, "PATH": path})


def main():
    out = Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    about, program = package()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        bundle(about, program, out, scratch)
        npm(about, program, out, scratch)
        wheel(out, scratch)
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size / 1e6:7.1f} MB  {path.name}")


if __name__ == "__main__":
    main()
