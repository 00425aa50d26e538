"""One file for Claude Desktop and others that take such bundles."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from about import ABOUT, REPOSITORY, VERSION, licences
from files import File, zipped

BUNDLER = "@anthropic-ai/mcpb@2.1.2"


def validator(scratch):
    """The bundles' own tool, which checks manifests. It packs them with the time of day, so that packing is done here."""
    npm = shutil.which("npm")
    if not npm:
        raise SystemExit("release.py needs npm, for the tool that checks .mcpb manifests.")
    subprocess.run([npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", scratch, BUNDLER], check=True)
    return Path(scratch) / "node_modules/.bin/mcpb"


def manifest(target):
    about = json.loads((REPOSITORY / "packaging/mcpb.json").read_text())
    about |= {"version": VERSION, "description": ABOUT["description"]}
    about["server"] |= {"entry_point": f"server/{target.program}"}
    about["server"]["mcp_config"]["command"] = f"${{__dirname}}/server/{target.program}"
    about["compatibility"]["platforms"] = [target.system]
    schemas = [json.loads(path.read_text()) for path in sorted((REPOSITORY / "tool-schemas").glob("*.json"))]
    about["tools"] = [{"name": schema["name"], "description": schema["description"]} for schema in schemas]
    return (json.dumps(about, indent=2) + "\n").encode()


def make(target, program, out, mcpb):
    text = manifest(target)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "manifest.json"
        path.write_bytes(text)
        subprocess.run([mcpb, "validate", path], check=True, stdout=subprocess.DEVNULL)
    files = [File("manifest.json", text), *licences(), File(f"server/{target.program}", program, runs=True)]
    zipped(out / f"codeskim-{VERSION}-{target.platform}.mcpb", files)
