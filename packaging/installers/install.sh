#!/bin/sh
# Installs codeskim @VERSION@ for this user alone: downloads the archive for this machine, checks it, and puts the program in a folder.
#   CODESKIM_URL  where the files of the release are
#   CODESKIM_BIN  the folder for the program, ~/.local/bin if unset
set -eu

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# The Linux programs are static: which C library there is makes no difference.
target() {
  case "$(uname -m)" in
    x86_64 | amd64) cpu=x86_64 ;;
    aarch64 | arm64) cpu=aarch64 ;;
    *) fail "there is no program for $(uname -m); build codeskim from its source." ;;
  esac
  case "$(uname -s)" in
    Linux) echo "$cpu-unknown-linux-musl" ;;
    Darwin)
      # Under Rosetta a Mac with Apple's processor says x86_64.
      if [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then cpu=aarch64; fi
      echo "$cpu-apple-darwin"
      ;;
    *) fail "there is no program for $(uname -s) here; on Windows use install.ps1." ;;
  esac
}

download() {
  if has curl; then
    reason=$(curl -fsSL -o "$2" "$1" 2>&1) || fail "$1 cannot be downloaded${reason:+ ($reason)}."
  elif has wget; then
    wget -q -O "$2" "$1" || fail "$1 cannot be downloaded."
  else
    fail "curl or wget is needed."
  fi
}

sum() {
  if has sha256sum; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif has shasum; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    fail "sha256sum or shasum is needed."
  fi
}

main() {
  url=${CODESKIM_URL:-@URL@}
  bin=${CODESKIM_BIN:-${HOME:?install.sh: HOME is not set.}/.local/bin}
  name=codeskim-@VERSION@-$(target)
  work=$(mktemp -d)
  trap 'rm -rf "$work" "$bin/.codeskim.$$"' EXIT
  trap 'exit 1' HUP INT TERM

  download "$url/SHA256SUMS" "$work/SHA256SUMS"
  expected=$(awk -v name="$name.tar.gz" '$2 == name { print $1 }' "$work/SHA256SUMS")
  [ -n "$expected" ] || fail "this release has no $name.tar.gz."
  download "$url/$name.tar.gz" "$work/archive"
  found=$(sum "$work/archive")
  [ "$found" = "$expected" ] || fail "$name.tar.gz is not what SHA256SUMS says it is; nothing was installed."

  tar -xzf "$work/archive" -C "$work" || fail "$name.tar.gz cannot be unpacked."
  mkdir -p "$bin" || fail "$bin cannot be made."
  # Beside its place, then renamed into it: a program that runs can be replaced, and there is never half of one.
  cp "$work/$name/codeskim" "$bin/.codeskim.$$" || fail "$bin cannot be written to."
  version=$("$bin/.codeskim.$$" --version 2>&1) || fail "the program in $name.tar.gz does not start here ($version); nothing was installed."
  mv -f "$bin/.codeskim.$$" "$bin/codeskim"
  echo "$version is installed as $bin/codeskim."
  case ":$PATH:" in
    *":$bin:"*) ;;
    *) echo "Add $bin to PATH to start it by its name." ;;
  esac
}

main
