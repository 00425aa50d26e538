"""A server on this machine that stands for a release's address and for npm's registry."""

import base64
import functools
import hashlib
import http.server
import json
import threading
from contextlib import contextmanager

from .programs import unpacked


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def serving(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def registry(paths, url, folder):
    """What npm is told of each package."""
    for path in paths:
        [manifest] = [json.loads(file.content) for file in unpacked(path) if file.name == "package/package.json"]
        digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
        version = {**manifest, "dist": {"tarball": f"{url}/{path.name}", "integrity": f"sha512-{digest}"}}
        about = {"name": manifest["name"], "dist-tags": {"latest": manifest["version"]}, "versions": {manifest["version"]: version}}
        (folder / manifest["name"]).write_text(json.dumps(about))
