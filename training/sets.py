"""The validation packages' questions as files for `codeskim eval`.

    python3 sets.py WORK CACHE OUT_DIR      (WORK: with mined.jsonl; CACHE: filled by fetch.py)

windows.jsonl      the labelled windows
natural.jsonl      their questions in the plain words that programmers type; the style, drawn by lot, does not tell whether there is an answer
fresh.jsonl        questions asked of whole files of packages that are nowhere else in training or validation, in plain words, by people who knew
                   nothing of the skimmer; a quarter has no answer. For measuring only: no weights or thresholds are chosen on it
close.jsonl        windows of packages that are nowhere else either, each with seven questions whose kind and form were drawn by lot before it was read: three of
                   them have no answer, and nearly do. For measuring only, too
parts.jsonl        questions about one part of a file in plain words, asked of another part of it; two people judged each, and where they did not agree
                   whether it is answered there, it was left out
search.jsonl       labelled search results, more than the few among those windows; nothing was tuned on them
whole-files.jsonl  the windows' questions asked of their whole file; lines outside the window count as not answering
whole.jsonl        whole files, each with twelve questions in forms drawn by lot, four of them without an answer, of which every line was judged; weights were
                   compared on it
comments.jsonl     300 doc comments cut out of files, asking for the block they described; headers that enclose it do not count
comments-by-language.jsonl   up to 60 others of each language, as the first have 11 of C++ and 110 of Python
names.jsonl        the blocks of doc comments asked for by the function's name, with four openings in turn
documents.jsonl    READMEs, guides, design notes and lists of changes, most of them with long lines
outputs.jsonl      what compilers, test runners, package managers and servers printed
configuration.jsonl   settings, build files, pipelines, schemas and markup
languages.jsonl    code in other languages than those that most labels are in
elsewhere.jsonl    each window's answerable questions, and as many that a window of another package answers. The labelled questions without an
                   answer are known by their words alone, without any code (AUC 0.93); these are in the style of the others.
NAME-words.jsonl   those of windows, natural, fresh, close, parts, search, whole and elsewhere with what the tools ask for after a question: words that its code may
                   use. Whoever guessed them saw the question alone, without its kind or any code, and was to use no name that belongs to the project
"""
import collections
import json
import pathlib
import random
import re
import sys

from data import VALIDATION, enclosing
from fetch import HERE, LABELS, numbers, package_dir, read_checked, window_lines
from mine import MEASURED
from text import line_features

COMMENTS, OF_A_LANGUAGE, NAMES = 300, 60, 300
NAME = re.compile(r"([A-Za-z_]\w{5,})\s*\(")
PARTS = ("windows", "natural", "close", "parts")  # of files, and not files as good as whole
OPENINGS = ("What does {} do?", "How does {} work?", "Where is {}?", "Explain {}.")
SHORTEST, LONGEST = 100, 4000  # lines of a file


def labelled(files, cache, packages):
    """(row, its lines, index of each line's number, lines of its whole file or none) of some packages; of all if there are none."""
    for row in (row for path in files for row in map(json.loads, path.open()) if not packages or row["package"] in packages):
        try:
            root = None if "text" in row else package_dir(cache, row["registry"], row["package"], row["version"])
            lines = window_lines(row, root)
            text = read_checked(root / row["path"], row["sha256"]) if "path" in row else []
        except (RuntimeError, OSError, StopIteration) as error:
            print(f"skipped {row['id']}: {error}", file=sys.stderr)
            continue
        yield row, [line for _, line in lines], {number: i for i, (number, _) in enumerate(lines)}, text


def record(row, question, lines, keep, **more):
    return {"id": row["id"], "package": row["package"], "lang": row["lang"], "kind": question["kind"], "question": question["question"],
            "lines": lines, "keep": keep, **more}


def add_window(sets, name, row, lines, index, text, wording="question"):
    """Adds the questions of a window to those of NAME.jsonl, and with their words, where there are some, to those of NAME-words.jsonl. `text`: the
    lines of its whole file."""
    part = {"part": True} if name in PARTS and len(lines) < len(text) else {}
    for question in row["questions"]:
        if wording in question:
            asked = {name: question[wording]}
            if "words" in question:
                asked[f"{name}-words"] = f"{question[wording]} ({question['words']})"
            for of, text in asked.items():
                sets[of].append(record(row, {**question, "question": text}, lines, [index[n] for n in numbers(question["keep"])], **part))


def write_comments(path, rows):
    with path.open("w") as file:
        for i, row in rows:
            question, keep = row["questions"][0]
            _, parent = line_features([line.encode("utf-8", "replace") for line in row["lines"]])
            row["id"] = f"comment-{i}"
            asked = {"kind": "comment", "question": question}
            file.write(json.dumps(record(row, asked, row["lines"], keep, either=sorted(enclosing(parent, keep)))) + "\n")


def write_names(path, rows):
    """Asks for functions whose name is on few lines, so that the answer is clear."""
    with path.open("w") as file:
        written = 0
        for row in rows:
            keep = row["questions"][0][1]
            name = next((found[1] for i in keep if (found := NAME.search(row["lines"][i]))), None)
            if name and written < NAMES and sum(name in line for line in row["lines"]) <= 3:
                asked = {"kind": "name", "question": OPENINGS[written % len(OPENINGS)].format(name)}
                file.write(json.dumps(record({**row, "id": f"name-{written}"}, asked, row["lines"], keep)) + "\n")
                written += 1


def write_elsewhere(path, windows):
    answered = [row for row in map(json.loads, windows.open()) if row["keep"] and not row["lines"][0].startswith("== ")]
    rng = random.Random(1)
    with path.open("w") as file:
        for row in answered:
            others = [other for other in answered if other["lang"] == row["lang"] and other["package"] != row["package"]]
            file.write(json.dumps(row) + "\n")
            if others:
                file.write(json.dumps({**row, "kind": "absent", "question": rng.choice(others)["question"], "keep": []}) + "\n")


def main():
    work, cache, out = map(pathlib.Path, sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    sets = collections.defaultdict(list)
    with (out / "whole-files.jsonl").open("w") as whole:
        for row, lines, index, text in labelled(LABELS, cache, VALIDATION | MEASURED):
            add_window(sets, "windows", row, lines, index, text)
            add_window(sets, "natural", row, lines, index, text, "natural")
            if SHORTEST <= len(text) <= LONGEST:
                for question in row["questions"]:
                    if question["keep"]:
                        whole.write(json.dumps(record(row, question, text, [n - 1 for n in numbers(question["keep"])])) + "\n")
    for name in ("fresh", "close", "parts", "search", "whole"):
        for row, lines, index, text in labelled([HERE / "labels" / f"{name}.jsonl"], cache, VALIDATION | MEASURED):
            add_window(sets, name, row, lines, index, text)
    for name in ("documents", "outputs", "configuration", "languages"):  # whose packages' code may be trained on
        for row, lines, index, text in labelled([HERE / "labels" / f"{name}.jsonl"], cache, None):
            add_window(sets, name, row, lines, index, text)
    for name, records in sets.items():
        (out / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    rows = [row for row in map(json.loads, (work / "mined.jsonl").open())
            if row["package"] in VALIDATION and SHORTEST <= len(row["lines"]) <= LONGEST and row["kinds"][0] == "comment"]
    random.Random(1).shuffle(rows)
    write_comments(out / "comments.jsonl", enumerate(rows[:COMMENTS]))
    for words in ("", "-words"):
        write_elsewhere(out / f"elsewhere{words}.jsonl", out / f"windows{words}.jsonl")
    write_names(out / "names.jsonl", rows)
    of_language = collections.defaultdict(list)
    for i, row in enumerate(rows[COMMENTS:], COMMENTS):
        of_language[row["lang"]].append((i, row))
    write_comments(out / "comments-by-language.jsonl", [pair for pairs in of_language.values() for pair in pairs[:OF_A_LANGUAGE]])


if __name__ == "__main__":
    main()
