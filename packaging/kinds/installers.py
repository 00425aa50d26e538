"""Scripts that download the archive for a machine, check it and put the program in its place."""

from about import REPOSITORY, VERSION


def make(url, out):
    for name in ("install.sh", "install.ps1"):
        text = (REPOSITORY / "packaging/installers" / name).read_text()
        (out / name).write_text(text.replace("@VERSION@", VERSION).replace("@URL@", url))
    (out / "install.sh").chmod(0o755)
