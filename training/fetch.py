#!/usr/bin/env python3
"""Fetch the labelled sources from the package registries and write the labels with their text.

    python3 fetch.py [--labels labels/train.jsonl labels/more.jsonl labels/near.jsonl labels/lots.jsonl labels/prose.jsonl labels/logs.jsonl labels/configs.jsonl labels/further.jsonl] [--cache DIR] [--out labelled.jsonl] [--all-packages]

The labels hold no third-party text: each window names a package at a version, a file and its SHA-256; only what programs printed is there as it is. This script downloads
the packages with the registries' ordinary clients (pip, cargo, npm, apt-get source) into the cache, checks every
file's hash, and writes one JSON object per question:

    {"id", "package", "lang", "kind", "question", "natural": the question in a programmer's plain words, or none,
     "words": some that the code may use, or none, "paths", "lines": [text, ...], "keep": [0-based indices into lines]}

files.jsonl beside it gets the whole file of each window: {"id", "start": index of the window's first line, "lines": [text, ...]}.

`--all-packages` also downloads every package of packages.json (about 3 GB unpacked), the corpus for pretraining.
Needs pip, cargo, npm and, for the `deb` registry (Go, C, C++, Java, PHP sources), apt-get on a Debian system.
"""
import argparse, hashlib, json, os, pathlib, shutil, subprocess, sys, tarfile, zipfile

HERE = pathlib.Path(__file__).resolve().parent
LABELS = [HERE / "labels" / f"{name}.jsonl" for name in ("train", "more", "near", "lots", "prose", "logs", "configs", "further")]
APT_SOURCE = "Types: deb-src\nURIs: {uri}\nSuites: bookworm bookworm-updates\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"


def run(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip().splitlines()[-1:] or done.returncode}")


def unpack(archive, target):
    target.mkdir(parents=True, exist_ok=True)
    if archive.suffix in (".whl", ".zip"):
        zipfile.ZipFile(archive).extractall(target)
    else:
        with tarfile.open(archive) as tar:
            tar.extractall(target, filter=inside)


def inside(member, target):
    """A member of an archive, but for those that lead out of the folder."""
    try:
        return tarfile.data_filter(member, target)
    except tarfile.FilterError:
        return None


def fetch_pypi(name, version, target):
    raw = target.with_suffix(".raw")
    try:
        run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(raw), f"{name}=={version}")
    except RuntimeError:
        run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary=:all:", "-d", str(raw), f"{name}=={version}")
    unpack(next(raw.iterdir()), target)


def fetch_npm(name, version, target):
    raw = target.with_suffix(".raw")
    raw.mkdir(parents=True, exist_ok=True)
    scoped = {"trpc-server": "@trpc/server", "tanstack-query-core": "@tanstack/query-core", "reduxjs-toolkit": "@reduxjs/toolkit", "apollo-client": "@apollo/client"}
    run("npm", "pack", "--silent", f"{scoped.get(name, name)}@{version}", cwd=raw)
    unpack(next(raw.glob("*.tgz")), target)


def fetch_crates(name, version, target):
    work = target.with_suffix(".work")
    work.mkdir(parents=True, exist_ok=True)
    (work / "x.rs").write_text("")
    (work / "Cargo.toml").write_text(f'[package]\nname="x"\nversion="0.1.0"\nedition="2021"\n[lib]\npath="x.rs"\n[dependencies]\n{name} = "={version}"\n')
    run("cargo", "vendor", "-q", "--versioned-dirs", "v", cwd=work)
    (work / "v" / f"{name}-{version}").rename(target)


def fetch_deb(name, version, target):
    apt = target.parent / ".apt"
    (apt / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    options = ["-o", f"Dir::State::Lists={apt / 'lists'}", "-o", f"Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={apt / 'sources'}"]
    if not (apt / "sources").exists():
        (apt / "sources").mkdir()
        uri = next(l.split(":", 1)[1].strip() for f in pathlib.Path("/etc/apt/sources.list.d").glob("*.sources") for l in f.read_text().splitlines() if l.startswith("URIs:"))
        (apt / "sources" / "src.sources").write_text(APT_SOURCE.format(uri=uri))
        run("apt-get", *options, "update", "-qq")
    raw = target.with_suffix(".raw")
    raw.mkdir(parents=True, exist_ok=True)
    try:
        run("apt-get", *options, "source", "--download-only", "-qq", name, cwd=raw)
    except RuntimeError:  # a missing Debian patch tarball does not matter: the upstream archive does
        if not any(raw.glob("*.orig*.tar.*")):
            raise
    for archive in raw.glob("*.orig*.tar.*"):
        if archive.suffix != ".asc":
            unpack(archive, target)


FETCH = {"pypi": fetch_pypi, "npm": fetch_npm, "crates": fetch_crates, "deb": fetch_deb}


def package_dir(cache, registry, name, version):
    target = cache.resolve() / registry / f"{name}-{version}".replace("/", "-")
    if not target.exists():
        partial = target.with_name(target.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)  # of a run that was cut off
        target.parent.mkdir(parents=True, exist_ok=True)
        FETCH[registry](name, version, partial)
        partial.rename(target)
    return target


def read_checked(path, sha256):
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise RuntimeError(f"{path.name}: not the labelled version (SHA-256 differs)")
    return data.decode("utf-8").split("\n")


def window_lines(window, root):
    """(label number, text) of each line the labels of this window may name."""
    if "text" in window:
        return list(enumerate(window["text"], 1))
    if "path" in window:
        lines = read_checked(root / window["path"], window["sha256"])
        return [(n, lines[n - 1]) for n in range(window["start"], window["end"] + 1)]
    out = []
    for path, sha256, ranges in window["segments"]:
        lines = read_checked(root / path, sha256)
        out.append(f"== {path}")
        out += [f"{n}: {lines[n - 1]}" for a, b in ranges for n in range(a, b + 1)]
    return list(enumerate(out, 1))


def numbers(ranges):
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=pathlib.Path, nargs="+", default=LABELS)
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "codeskim-training")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("labelled.jsonl"))
    parser.add_argument("--all-packages", action="store_true")
    parser.add_argument("--allow-missing", action="store_true", help="go on where packages cannot be fetched")
    args = parser.parse_args()
    failed, questions = set(), 0
    if args.all_packages:
        for registry, packages in json.loads((HERE / "labels" / "packages.json").read_text()).items():
            for name, version in packages.items():
                try:
                    package_dir(args.cache, registry, name, version)
                except (RuntimeError, OSError, StopIteration) as error:
                    print(f"skipped {registry} {name} {version}: {error}", file=sys.stderr)
    partial = args.out.with_suffix(".partial")
    with partial.open("w") as out, args.out.with_name("files.jsonl").open("w") as files:
        for row in (json.loads(line) for labels in args.labels for line in labels.open()):
            key = row.get("registry"), row["package"], row.get("version")
            if key in failed:
                continue
            try:
                lines = window_lines(row, None if "text" in row else package_dir(args.cache, *key))
            except (RuntimeError, OSError, StopIteration) as error:
                print(f"skipped {row['id']} ({' '.join(key)}): {error}", file=sys.stderr)
                if not isinstance(error, RuntimeError) or "SHA" not in str(error):
                    failed.add(key)
                continue
            if "path" in row:
                text = read_checked(package_dir(args.cache, *key) / row["path"], row["sha256"])
                files.write(json.dumps({"id": row["id"], "start": row["start"] - 1, "lines": text}, ensure_ascii=False) + "\n")
            index = {number: i for i, (number, _) in enumerate(lines)}
            for q in row["questions"]:
                out.write(json.dumps({"id": row["id"], "package": row["package"], "lang": row["lang"], "kind": q["kind"], "question": q["question"], "natural": q.get("natural"), "words": q.get("words"),
                                      "paths": [row["path"]] if "path" in row else [path for path, *_ in row.get("segments", ())], "lines": [text for _, text in lines], "keep": [index[n] for n in numbers(q["keep"])]}, ensure_ascii=False) + "\n")
                questions += 1
    if not failed or args.allow_missing:
        partial.rename(args.out)
    print(f"{questions} questions in {args.out}; {len(failed)} packages could not be fetched", file=sys.stderr)
    if failed and not args.allow_missing:
        sys.exit("Run it again, as packages that are there are not fetched once more, or with --allow-missing.")


if __name__ == "__main__":
    main()
