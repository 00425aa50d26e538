"""A manifest for Scoop, which installs the archive for Windows."""

import json

from about import ABOUT, VERSION


def make(targets, sums, url, out):
    for target in targets:
        if target.system == "win32":
            archive = target.archive(VERSION)
            about = {"version": VERSION, "description": ABOUT["description"], "license": ABOUT["license"].replace(" OR ", "|")}
            about |= {"homepage": ABOUT["repository"]} if "repository" in ABOUT else {}
            own = {"url": f"{url}/{archive}", "hash": sums[archive], "extract_dir": target.folder(VERSION)}
            about |= {"architecture": {"64bit": own}, "bin": target.program}
            (out / "codeskim.json").write_text(json.dumps(about, indent=4) + "\n")
