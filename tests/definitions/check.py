#!/usr/bin/env python3
"""Compares `read --symbol` and the labels of `grep` with what other parsers say is defined where.

    python3 tests/definitions/check.py PROGRAM WORK_DIR [--seed N] [--languages NAME…] [--checks abc]

README.md beside this file tells what it needs and how to read what it prints.
"""
import argparse, collections, os, pathlib, random, re, shutil, statistics, subprocess, sys, time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import lists

HEADING = re.compile(rb"^(\xe2\x8b\xae(?:\xe2\x8b\xae)*) (.+) (\d+)(?:-(\d+))? of (\d+): ([^;]+)(?:;.*)?$")
OUTLINED = re.compile(rb"^\d+(?:-\d+)?:")
LABEL = re.compile(r"^in (.+) (\d+)(?:-(\d+))?$")
MATCH = re.compile(r"^(\d+):(.*)$", re.S)
CONTEXT = re.compile(r"^(\d+)-(.*)$", re.S)
LONG = 80
CUT = 20_000
MOST_MATCHES = 60
BIG = 40_000


def answer(program, root, *arguments):
    done = subprocess.run([program, "--no-ledger", "--root", str(root), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    return done.stdout, done.stderr


# Check A


def headings(output):
    """(path, first, last, lines of the file, name, index of the line behind it) of each heading, and the lines."""
    lines, found, marker = output.split(b"\n"), [], None
    for i, line in enumerate(lines):
        if (heading := HEADING.match(line)) and marker in (None, heading.group(1)):
            marker, path, first, last, total, name = heading.groups()
            found.append((path.decode("utf-8", "surrogateescape"), int(first), int(last or first), int(total), name.decode("utf-8", "replace"), i + 1))
    return found, lines


def belongs(language, lines):
    """Whether lines right before a definition can be its own: comments, decorators, attributes, modifiers, types."""
    text = "\n".join(lines)
    if language in ("python", "ruby", "php"):
        text = re.sub(r"^=begin\b.*?^=end\b", "", text, flags=re.M | re.S)
        text = re.sub(r"^\s*#(?!\[).*$", "", text, flags=re.M)
    if language != "python":
        text = re.sub(r"^\s*//.*$", "", re.sub(r"/\*.*?\*/", "", text, flags=re.S), flags=re.M)
    if language == "python":
        return not text.strip() or text.lstrip().startswith("@")
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    while (shorter := re.sub(r"\([^()]*\)|\{[^{}]*\}(?=[^{}]*\))", "", text)) != text:
        text = shorter
    return not re.search(r"[;{}]", text)


def last_part(name):
    return re.split(r"::|[.#\\]", name)[-1] if re.search(r"\w$", name) else re.split(r"::|\.", name)[-1]


def query_of(d):
    return f"{d['owner']}.{d['name']}" if d["owner"] else d["name"]


def candidates(package, role):
    """Definitions that a query names alone: nothing else in the package, of any kind, answers to it."""
    full = collections.Counter((d["owner"], d["name"]) for d in package.definitions)
    plain = collections.Counter(d["name"] for d in package.definitions)
    word = r"\w{3,}[?!]?" if package.language == "ruby" else r"\w{3,}"
    return [
        d for d in package.named(role)
        if re.fullmatch(word, d["name"], re.A) and (full[d["owner"], d["name"]] == 1 if d["owner"] else plain[d["name"]] == 1) and d["kind"] not in ("impl", "macro")
    ]  # fmt: skip


def compared(package, d, output):
    """What is wrong with the first heading, or nothing; and how its lines are shown."""
    found, shown = headings(output)
    if not found:
        return "no heading: " + repr(output[:200].decode("utf-8", "replace")), None
    path, first, last, total, name, at = found[0]
    ours = f"{path} {first}-{last} of {total}: {name}"
    lines = package.lines(d["path"])
    length = len(lines) - (lines[-1] == "")
    wrong = []
    if path != d["path"]:
        return f"{ours} (another file)", None
    if last != d["last"]:
        wrong.append("last line")
    if not first <= d["first"] <= last:
        wrong.append("first line")
    elif not belongs(package.language, lines[first - 1 : d["first"] - 1]):
        wrong.append("what is above the definition")
    if last_part(name) != d["name"]:
        wrong.append("name")
    if total != length:
        wrong.append(f"the file has {length} lines")
    want = [line.encode("utf-8", "surrogateescape") for line in lines[first - 1 : last]]
    got = shown[at : at + len(want)]
    if got == want:
        bytes_are = "same"
    elif at < len(shown) and OUTLINED.match(shown[at]) and last - first + 1 > LONG:
        bytes_are = "outlined"
    elif [line.rstrip(b"\r") for line in got] == [line.rstrip(b"\r") for line in want]:
        bytes_are = "only CR differs"
    elif len(output) >= CUT - 2000 and got[: len(got) // 2] == want[: len(got) // 2]:
        bytes_are = "cut"
    else:
        i = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
        bytes_are = f"differ at line {first + i}: {got[i] if i < len(got) else None!r}, not {want[i] if i < len(want) else None!r}"
    return (f"{ours} ({', '.join(wrong)})" if wrong else None), bytes_are


def check_a(program, packages, rng):
    print("\nCheck A: the first heading of `read --symbol QUERY PATH`")
    print(f"{'language':<11} {'package':<28} {'in list':>7} {'drawn':>5} {'same':>5} {'differ':>6} {'bytes same':>10} {'outlined':>8} {'bytes differ':>12} {'no path: same':>13}")
    by_language = collections.defaultdict(list)
    for package in packages:
        by_language[package.language].append(package)
    differences, sums = [], collections.Counter()
    for role, many in (("definition", 20), ("soft", 10)):
        if role == "soft":
            print("functions and types that are values (`const f = () =>`, `x.f = function`), aliases, definitions in blocks:")
        for language, group in by_language.items():
            pools = [candidates(package, role) for package in group]
            # Half from each package, as a large one would leave nothing of a small one.
            share = [many // len(group) + (i < many % len(group)) for i in range(len(group))]
            spare = 0
            for i, pool in enumerate(pools):
                spare += max(0, share[i] - len(pool))
                share[i] = min(share[i], len(pool))
            for i, pool in enumerate(pools):
                more = min(spare, len(pool) - share[i])
                share[i], spare = share[i] + more, spare - more
            for package, pool, count in zip(group, pools, share):
                told = collections.Counter()
                for d in rng.sample(pool, count):
                    query = query_of(d)
                    out, err = answer(program, package.root, "read", "--symbol", query, d["path"])
                    wrong, bytes_are = compared(package, d, out or err)
                    told["differ" if wrong else "same"] += 1
                    told["bytes", bytes_are if bytes_are in ("same", "outlined", None) else "differ"] += 1
                    where = f"{package.name}: {query}: list: {d['path']} {d['first']}-{d['last']} ({d['kind']})"
                    if wrong:
                        differences.append(f"{where}; ours: {wrong}")
                    if bytes_are not in ("same", "outlined", None):
                        differences.append(f"{where}; bytes: {bytes_are}")
                    out, err = answer(program, package.root, "read", "--symbol", query)
                    elsewhere, _ = compared(package, d, out or err)
                    told["no path"] += not elsewhere
                    if elsewhere and not wrong:
                        differences.append(f"{where}; without PATH: {elsewhere}")
                if count:
                    sums.update({f"{role} {k}": told[k] for k in ("same", "differ", "no path")})
                    print(f"{language:<11} {package.name:<28} {len(package.named(role)):>7} {count:>5} {told['same']:>5} {told['differ']:>6} "
                          f"{told['bytes', 'same']:>10} {told['bytes', 'outlined']:>8} {told['bytes', 'differ']:>12} {told['no path']:>13}")  # fmt: skip
    print("differences:" if differences else "no differences")
    for line in differences:
        print("  " + line)
    print(f"definitions: {sums['definition same']} same, {sums['definition differ']} differ, {sums['definition no path']} same without PATH; "
          f"values and aliases: {sums['soft same']} same, {sums['soft differ']} differ")  # fmt: skip


# Check B


def labelled(output, is_file):
    """(path, line number, text, label) of each match; a label is (name, first, last) or None."""
    path = label = None
    fresh = True
    for line in output.split("\n"):
        if not line:
            fresh = True
            continue
        if fresh and is_file(line):
            path, label = line, None
        elif found := LABEL.match(line):
            label = found.group(1), int(found.group(2)), int(found.group(3) or found.group(2))
        elif found := MATCH.match(line):
            number = int(found.group(1))
            if label and not label[1] <= number <= label[2]:
                label = None
            if path:
                yield path, number, found.group(2), label
        elif found := CONTEXT.match(line):
            pass
        fresh = False


def allowed(package, path, line):
    """The definitions that a label may name, innermost first, and whether there may be none; and the nested ones around."""
    around = [d for d in package.by_path.get(path, ()) if d["first"] <= line <= d["last"] and d["role"] != "proto"]
    around.sort(key=lambda d: (d["last"] - d["first"], -d["first"]))
    may, nested = [], []
    for d in around:
        if line <= d["body"]:
            continue
        if d["role"] == "nested":
            nested.append(d)
            continue
        may.append(d)
        if d["role"] == "definition" and line >= d["inner"]:
            return may, False, nested
    return may, True, nested


def fits(label, d):
    name = label[0]
    same_name = last_part(name) == d["name"] or d["kind"] == "impl" and re.search(rf"\b{re.escape(d['name'])}\b", name) or not d["name"]
    return bool(same_name) and label[2] == d["last"]


def told(d):
    return f"{query_of(d)} {d['first']}-{d['last']} ({d['kind']}, {d['role']})"


def check_b(program, packages, rng, total=500):
    print("\nCheck B: the label in force at a match of `grep -w -F NAME`")
    results, examples, firsts = collections.defaultdict(collections.Counter), collections.defaultdict(list), []
    quota = collections.Counter({package.name: total // len(packages) for package in packages})
    for package in rng.sample(packages, total % len(packages)):
        quota[package.name] += 1
    for package in packages:
        words = {path: re.findall(r"\b[A-Za-z_]\w{2,}", text, re.A) for path, text in package.texts.items()}
        counts = collections.Counter(word for found in words.values() for word in found)
        paths = [path for path, found in words.items() if found and path in package.by_path]
        # Long files have their share of the draws.
        weights = [len(words[path]) for path in paths]
        seen, tries = set(), 0
        while quota[package.name] > 0 and tries < 400:
            tries += 1
            word = rng.choice(words[rng.choices(paths, weights)[0]])
            if word in seen or counts[word] > MOST_MATCHES:
                continue
            seen.add(word)
            out, _ = answer(program, package.root, "grep", "-w", "-F", word)
            if len(out) > CUT - 500:
                continue
            matches = list(labelled(out.decode("utf-8", "surrogateescape"), lambda name: (package.root / name).is_file()))
            matches = [match for match in matches if match[0] in package.by_path]
            if len(matches) > MOST_MATCHES:
                continue
            if not matches:
                results[package.language]["no match read"] += 1
                examples[package.language].append(f"{package.name}: grep {word}: no match could be read from {out[:200]!r}")
                continue
            for path, number, text, label in rng.sample(matches, min(2, len(matches), quota[package.name])):
                quota[package.name] -= 1
                count = results[package.language]
                count["checked"] += 1
                lines = package.lines(path)
                if number > len(lines) or word not in lines[number - 1]:
                    count["differ"] += 1
                    examples[package.language].append(f"{package.name}: grep {word}: {path}:{number} is not a line with that word")
                    continue
                may, none, nested = allowed(package, path, number)
                fitting = next((d for d in may if label and fits(label, d)), None)
                if fitting or label is None and none:
                    count["same"] += 1
                    count["where more than one answer is right"] += len(may) + none > 1
                    if fitting and label[1] != fitting["first"]:
                        firsts.append(f"{package.name}: {path}:{number}: label {label[0]} {label[1]}-{label[2]}, list {told(fitting)}")
                    continue
                count["differ"] += 1
                kind = "no label" if label is None else "a label at the top level" if not may else "another label"
                count[kind] += 1
                wanted = " or ".join([told(d) for d in may] + ["none"] * none)
                note = f"; nested there: {', '.join(told(d) for d in nested)}" if nested else ""
                examples[package.language].append(f"{package.name}: grep {word}: {path}:{number}: label {'none' if label is None else f'{label[0]} {label[1]}-{label[2]}'}, list {wanted}{note}")
    print(f"{'language':<11} {'checked':>7} {'same':>5} {'differ':>6}   of which")
    for language, count in results.items():
        rest = ", ".join(f"{n} {k}" for k, n in count.items() if k not in ("checked", "same", "differ") and n)
        print(f"{language:<11} {count['checked']:>7} {count['same']:>5} {count['differ']:>6}   {rest}")
    everything = sum(results.values(), collections.Counter())
    print(f"{'all':<11} {everything['checked']:>7} {everything['same']:>5} {everything['differ']:>6}")
    for language, lines in examples.items():
        for line in lines[:15]:
            print(f"  {language}: {line}")
        if len(lines) > 15:
            print(f"  {language}: and {len(lines) - 15} more")
    if firsts:
        print(f"the last line and the name are the same, but not the first line, in {len(firsts)} (a return type or an attribute on a line of its own):")
        for line in firsts[:10]:
            print("  " + line)


# Check C


def check_c(program, packages, work):
    print("\nCheck C: time of `read --symbol NAME` on a large tree")
    big = work / "big"
    ready = work / "big.ready"
    if not ready.exists():
        shutil.rmtree(big, ignore_errors=True)
        files = [(package.name, path) for package in packages for path in package.root.rglob("*")]
        files = [(name, path, root) for (name, path), root in ((f, next(p.root for p in packages if p.name == f[0])) for f in files)
                 if path.is_file() and not path.is_symlink() and not any(part.startswith(".") for part in path.relative_to(root).parts)]  # fmt: skip
        made = number = 0
        while made < BIG:
            for name, path, root in files:
                target = big / f"{number:04}" / name / path.relative_to(root)
                target.parent.mkdir(parents=True, exist_ok=True)
                os.link(path, target)
                made += 1
            number += 1
        (big / "once.py").write_text("class Once:\n    def stands_only_here_once(self):\n        return 1\n")
        ready.write_text(str(made + 1))
    print(f"{ready.read_text()} files")
    for what, name in (("rare", "stands_only_here_once"), ("common", "get"), ("absent", "no_such_name_anywhere_here")):
        times = []
        for _ in range(5):
            start = time.monotonic()
            out, err = answer(program, big, "read", "--symbol", name)
            times.append(time.monotonic() - start)
        found, _ = headings(out)
        said = (out or err).decode("utf-8", "replace").strip().splitlines()
        print(f"{what:<7} {name:<28} median {statistics.median(times):6.2f} s, from {min(times):.2f} to {max(times):.2f}, first {times[0]:.2f}; {len(found)} headings, {len(out)} bytes: {said[0][:100] if said else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program, or - to make the lists only")
    parser.add_argument("work_dir", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--languages", nargs="+", choices=sorted(lists.LIST))
    parser.add_argument("--checks", default="abc")
    parser.add_argument("--matches", type=int, default=500, help="how many of check B")
    args = parser.parse_args()
    work = args.work_dir.resolve()
    work.mkdir(parents=True, exist_ok=True)
    packages = lists.load(work, args.languages)
    print(f"{'language':<11} {'package':<28} {'files':>5} {'listed':>6} {'bodiless':>8} {'values, aliases':>15} {'nested':>6} {'modules':>7} {'dropped':>7}")
    for p in packages:
        roles = collections.Counter(d["role"] for d in p.definitions)
        print(f"{p.language:<11} {p.name:<28} {len(p.texts):>5} {roles['definition']:>6} {roles['proto']:>8} {roles['soft']:>15} {roles['nested']:>6} {roles['module']:>7} {p.dropped:>7}")
    if args.program == "-":
        return
    program = str(pathlib.Path(args.program).resolve())
    # Each check draws by itself, so that leaving one out does not change the others.
    if "a" in args.checks:
        check_a(program, packages, random.Random(args.seed))
    if "b" in args.checks:
        check_b(program, packages, random.Random(args.seed + 1), args.matches)
    if "c" in args.checks:
        check_c(program, packages, work)


if __name__ == "__main__":
    main()
