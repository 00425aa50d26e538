"""The machines that codeskim is released for, and what each kind of package calls them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    triple: str
    # What `cargo` is asked to do, and the programs that this needs.
    build: str
    needs: tuple[str, ...]
    # Node's names, which .mcpb bundles share. None: there is an archive and no other package.
    system: str | None = None
    machine: str | None = None
    wheel: str | None = None

    @property
    def program(self):
        return "codeskim.exe" if "windows" in self.triple else "codeskim"

    @property
    def platform(self):
        return self.system and f"{self.system}-{self.machine}"

    def folder(self, version):
        return f"codeskim-{version}-{self.triple}"

    def archive(self, version):
        return self.folder(version) + (".zip" if "windows" in self.triple else ".tar.gz")


def linux(machine):
    """A static program runs whichever C library is there, so that one wheel is for all of Linux."""
    return f"manylinux_2_17_{machine}.manylinux2014_{machine}.musllinux_1_1_{machine}"


# x86_64-unknown-linux-gnu is not here: the static program serves glibc's systems too, as mimalloc takes the place of musl's slow allocator.
TARGETS = [
    Target("x86_64-unknown-linux-musl", "build", ("musl-gcc",), "linux", "x64", linux("x86_64")),
    Target("aarch64-unknown-linux-musl", "zigbuild", ("cargo-zigbuild",), "linux", "arm64", linux("aarch64")),
    Target("aarch64-unknown-linux-gnu", "build", ("aarch64-linux-gnu-gcc",)),
    Target("x86_64-pc-windows-gnu", "build", ("x86_64-w64-mingw32-gcc",), "win32", "x64", "win_amd64"),
    # The oldest systems that Rust's standard library supports: `rustc --print deployment-target`.
    Target("aarch64-apple-darwin", "zigbuild", ("cargo-zigbuild",), "darwin", "arm64", "macosx_11_0_arm64"),
    Target("x86_64-apple-darwin", "zigbuild", ("cargo-zigbuild",), "darwin", "x64", "macosx_10_12_x86_64"),
]
