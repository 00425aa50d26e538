"""Questions mined from code: a comment or docstring is taken out of its file and asks for the block it described.

    python3 mine.py CACHE OUT.jsonl      (CACHE: filled by fetch.py --all-packages)

One JSON object per file: {"package", "lang", "lines": [text], "questions": [[question, [line index, ...]], ...]}.
"""
import json
import os
import pathlib
import random
import re
import sys

LANGUAGE = {".py": "python", ".rs": "rust", ".ts": "typescript", ".tsx": "typescript", ".js": "javascript", ".mjs": "javascript",
            ".cjs": "javascript", ".go": "go", ".java": "java", ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp",
            ".rb": "ruby", ".php": "php"}
COMMENT = {"python": "#", "ruby": "#"}  # the rest: //
SKIP = re.compile(r"(^|/)(tests?|testing|__tests__|testdata|vendor|vendored|_vendor|third_party|node_modules|dist|build|umd|esm|bundles"
                  r"|examples?|docs?|locale|migrations|benches|fuzz|generated|gen|\.github|data)(/|$)|\.min\.js$|_pb2|\.pb\.go$|zz_generated"
                  r"|bindings\.rs$|\.d\.ts$", re.I)
FILES_PER_PACKAGE = 400
QUESTIONS_PER_FILE = 16
LONGEST_ANSWER = 60


def source_files(root):
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            language = LANGUAGE.get(os.path.splitext(name)[1])
            if language and not SKIP.search(path):
                yield path, language


def indent(line):
    return len(line) - len(line.lstrip())


def first_sentence(text):
    """The first sentence of a comment, if it is prose of a useful length."""
    text = re.sub(r"\s+", " ", text).strip()
    found = re.match(r"(.{20,260}?[.!?])(\s|$)", text)
    text = (found[1] if found else text)[:260]
    return text if len(text) >= 20 and len(text.split()) >= 4 and re.search("[a-z]{3}", text) else None


def block_after(lines, i, level, comment):
    """Line indices of the statements that a comment at indentation `level` ending before line i describes."""
    out = []
    if i >= len(lines) or not lines[i].strip() or indent(lines[i]) < level:
        return out
    for j in range(i, min(len(lines), i + LONGEST_ANSWER)):
        line = lines[j]
        if not line.strip():
            following = next((x for x in lines[j + 1:j + 4] if x.strip()), "")
            if following and indent(following) > level:
                continue
            break
        if indent(line) < level or (j > i and indent(line) == level and line.strip().startswith((comment, "/*", "*", '"""', "'''"))):
            break
        out.append(j)
    return out


def docstring(lines, i):
    """(lines of the docstring under the def or class header at i, header lines), or None."""
    j = i
    while j < len(lines) - 1 and not re.search(r":\s*(#.*)?$", lines[j]) and j - i < 12:
        j += 1
    k = j + 1
    found = k < len(lines) and re.match(r"\s*[rubRUB]?(\"\"\"|''')", lines[k])
    if not found:
        return None
    end = k
    if lines[k].count(found[1]) < 2:
        end = next((x for x in range(k + 1, len(lines)) if found[1] in lines[x]), None)
        if end is None:
            return None
    return list(range(k, end + 1)), list(range(i, j + 1))


def mine(lines, language):
    """[(question, answer line indices)], and the set of lines to take out."""
    comment = COMMENT.get(language, "//")
    items, removed, i = [], set(), 0
    while i < len(lines):
        text = lines[i].strip()
        if language == "python" and re.match(r"(async\s+)?def |class ", text) and (found := docstring(lines, i)):
            doc, header = found
            question = first_sentence(re.sub(r"\"\"\"|'''", " ", " ".join(lines[x] for x in doc)).strip(" rub"))
            level, j, body = indent(lines[i]), doc[-1] + 1, []
            while j < len(lines) and (not lines[j].strip() or indent(lines[j]) > level):
                body.append(j)
                j += 1
            body = [x for x in body if lines[x].strip()]
            if question and not text.startswith("class") and 1 <= len(body) <= LONGEST_ANSWER:
                items.append((question, header + body))
                removed |= set(doc)
            i = doc[-1] + 1
            continue
        if language != "python" and text.startswith("/*"):
            end = next((x for x in range(i, len(lines)) if "*/" in lines[x]), len(lines) - 1)
            doc = list(range(i, end + 1))
            prose = re.split(r"@\w+", re.sub(r"[/*]+", " ", " ".join(lines[x] for x in doc)))[0]
        elif text.startswith(comment) and not text.startswith("#!"):
            end = i
            while end + 1 < len(lines) and lines[end + 1].strip().startswith(comment):
                end += 1
            doc = list(range(i, end + 1))
            if sum(bool(re.search(r"[;{}=()]\s*$", lines[x])) for x in doc) > len(doc) / 2:  # code that was commented out
                i = end + 1
                continue
            prose = " ".join(re.sub(r"^[/#!*\s]+", "", lines[x]) for x in doc)
        else:
            i += 1
            continue
        question = first_sentence(prose)
        answer = block_after(lines, end + 1, indent(lines[i]), comment)
        if question and answer and not re.search("copyright|licen[sc]e", prose, re.I):
            items.append((question, answer))
            removed |= set(doc)
        i = end + 1
    return items, removed


def main():
    cache, out = sys.argv[1], open(sys.argv[2], "w")
    rng, total = random.Random(5), 0
    packages = json.loads((pathlib.Path(__file__).parent / "labels" / "packages.json").read_text())
    for registry, versions in packages.items():
        for package, version in sorted(versions.items()):
            root = f"{cache}/{registry}/{package}-{version}"
            files = sorted(source_files(root))
            rng.shuffle(files)
            taken = 0
            for path, language in files:
                if taken >= FILES_PER_PACKAGE:
                    break
                try:
                    text = open(f"{root}/{path}", encoding="utf-8").read()
                except (OSError, UnicodeDecodeError):
                    continue
                lines = text.split("\n")
                if not 1500 <= len(text) <= 200_000 or max(map(len, lines)) > 400:
                    continue
                taken += 1
                items, removed = mine(lines, language)
                rng.shuffle(items)
                kept = [i for i in range(len(lines)) if i not in removed]
                place = {i: a for a, i in enumerate(kept)}
                questions = [[q, sorted(place[x] for x in answer if x in place)] for q, answer in items[:QUESTIONS_PER_FILE]]
                questions = [x for x in questions if x[1]]
                if questions:
                    out.write(json.dumps({"package": package, "lang": language, "lines": [lines[i] for i in kept], "questions": questions}) + "\n")
                    total += len(questions)
    print(f"{total} questions")


if __name__ == "__main__":
    main()
