"""A formula that installs the archives of a release."""

from about import ABOUT, VERSION

SYSTEMS = {"darwin": "on_macos", "linux": "on_linux"}
MACHINES = {"arm64": "on_arm", "x64": "on_intel"}


def make(targets, sums, url, out):
    lines = ["class Codeskim < Formula", f'  desc "{ABOUT["description"]}"']
    lines += [f'  homepage "{ABOUT["repository"]}"'] if "repository" in ABOUT else []
    lines += [f'  version "{VERSION}"', "  license any_of: [" + ", ".join(f'"{name}"' for name in ABOUT["license"].split(" OR ")) + "]"]
    for system, block in SYSTEMS.items():
        own = [target for target in targets if target.system == system]
        if not own:
            continue
        lines += ["", f"  {block} do"]
        for target in own:
            archive = target.archive(VERSION)
            lines += [f"    {MACHINES[target.machine]} do", f'      url "{url}/{archive}"', f'      sha256 "{sums[archive]}"', "    end"]
        lines += ["  end"]
    lines += ["", "  def install", '    bin.install "codeskim"', "  end"]
    lines += ["", "  test do", '    assert_match version.to_s, shell_output("#{bin}/codeskim --version")', "  end", "end"]
    (out / "codeskim.rb").write_text("\n".join(lines) + "\n")
