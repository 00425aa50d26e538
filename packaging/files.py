"""Archives that are the same, byte for byte, whenever and by whomever they are made from the same files."""

import gzip
import io
import os
import tarfile
import time
import zipfile
from dataclasses import dataclass

# The earliest time that a zip can hold.
TIME = int(os.environ.get("SOURCE_DATE_EPOCH", 315532800))


@dataclass(frozen=True)
class File:
    name: str
    content: bytes
    runs: bool = False

    @property
    def mode(self):
        return 0o755 if self.runs else 0o644


def beneath(folder, files):
    return [File(f"{folder}/{file.name}", file.content, file.runs) for file in files]


def tar_gz(path, files):
    with path.open("wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=TIME) as packed, tarfile.open(None, "w", packed, format=tarfile.USTAR_FORMAT) as archive:
        for file in sorted(files, key=lambda file: file.name):
            entry = tarfile.TarInfo(file.name)
            entry.size, entry.mode, entry.mtime = len(file.content), file.mode, TIME
            archive.addfile(entry, io.BytesIO(file.content))


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.name, time.gmtime(TIME)[:6])
            entry.create_system = 3  # Unix, so that the mode is read
            entry.external_attr = (0o100000 | file.mode) << 16
            archive.writestr(entry, file.content, zipfile.ZIP_DEFLATED)
