""".mcpb bundles, unpacked by their own tool and started as their manifests say."""

import json
from pathlib import Path

from about import VERSION
from kinds import mcpb

from . import places
from .using import run, use


def started(target, path, bundler, scratch):
    folder = scratch / target.platform
    run(bundler, "unpack", path, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    server = manifest["server"]["mcp_config"]
    program = Path(server["command"].replace("${__dirname}", str(folder)))
    assert program == folder / manifest["server"]["entry_point"], program
    options = [option.replace("${user_config.root}", ".") for option in server["args"]]
    with places.starting(target, program, scratch) as (command, environment):
        return use(command, environment, options)


def check(table, targets, out, scratch):
    bundler = mcpb.validator(scratch / "bundler")
    for target in targets:
        if target.platform:
            path = out / f"codeskim-{VERSION}-{target.platform}.mcpb"
            table.row(f".mcpb, {target.platform}", places.place(target), "unpacked, used as its manifest says", lambda: started(target, path, bundler, scratch))
