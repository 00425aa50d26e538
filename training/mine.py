"""Questions mined from code, of four kinds.

    comment   a comment or docstring is taken out of its file and asks for the block it described
    error     the text of an error asks for the statement that reports it and the condition it stands under
    test      the name of a test asks for the test
    call      a call asks, in words, for the function it calls

    python3 mine.py CACHE OUT.jsonl      (CACHE: filled by fetch.py --all-packages)

One JSON object per file: {"package", "lang", "lines": [text], "questions": [[question, [line index, ...]], ...], "kinds": [kind, ...]}.
"""
import collections
import json
import multiprocessing
import os
import pathlib
import random
import re
import sys

LABELS = pathlib.Path(__file__).parent / "labels"
LANGUAGE = {".py": "python", ".rs": "rust", ".ts": "typescript", ".tsx": "typescript", ".js": "javascript", ".mjs": "javascript",
            ".cjs": "javascript", ".go": "go", ".java": "java", ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp",
            ".rb": "ruby", ".php": "php"}
COMMENT = {"python": "#", "ruby": "#"}  # the rest: //
SKIP = re.compile(r"(^|/)(tests?|testing|__tests__|testdata|vendor|vendored|_vendor|third_party|node_modules|dist|build|umd|esm|bundles"
                  r"|examples?|docs?|locale|migrations|benches|fuzz|generated|gen|\.github|data)(/|$)|\.min\.js$|_pb2|\.pb\.go$|zz_generated"
                  r"|bindings\.rs$|\.d\.ts$", re.I)
TEST = re.compile(r"(^|/)(tests?|testing|__tests__|spec)(/|$)|[._-](test|spec)\.|(^|/)test_|_test\.", re.I)
FILES_PER_PACKAGE = 500
QUESTIONS_PER_FILE = {"comment": 16, "error": 6, "test": 8, "call": 8}
LONGEST_ANSWER = 60
# What is for measuring only.
MEASURED = frozenset(json.loads(line)["package"] for name in ("fresh", "close") for line in (LABELS / f"{name}.jsonl").open())
# Kept for measuring by others: neither their code nor questions about it may be trained on. With them what holds copies of it (RocksDB that
# of leveldb) and, on the last line, close relatives of validation packages.
FORBIDDEN = MEASURED | frozenset("""astropy beets dask django keras phpunit pylint pytest reflex requests restic sphinx sqlfluff streamlink conan svelte
sympy syncthing tokio tokio-macros tmux undici xarray zstd zstd-sys zstd-safe jackson-databind leveldb leveldb-sys librocksdb-sys junit5 zookeeper gh dayjs
ponyc mobx effect fastify @trpc/server trpc-server sled redb actix-http quinn-proto rdkafka rdkafka-sys datafusion
libz-sys""".split())
FORBIDDEN_PATH = re.compile(r"(^|/)(cm)?(zstd|leveldb|requests|pytest)(-[\d.]+)?/", re.I)  # copies of them in other packages


def source_files(root, tests=False):
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            language = LANGUAGE.get(os.path.splitext(name)[1])
            if language and not FORBIDDEN_PATH.search(path) and (tests or not SKIP.search(path)):
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


ERROR = re.compile(r"""\b(raise|throw|throws?|panic!?|bail!|anyhow!|ensure!|Err|expect|errors\.New|Errorf|Fatalf?|fatal|error|abort|die|trigger_error|reject|warn)\b[^"'`]{0,60}(?P<quote>["'`])(?P<text>[^"'`]{18,200})(?P=quote)""")
PLACEHOLDER = re.compile(r"%[-+0-9.*]*[a-zA-Z]|\$?\{[^}]*\}|\\[ntr\"']")
ERROR_FORMS = ("{}", "Where does the error \"{}\" come from?", "I get \"{}\". What causes it?", "Which condition leads to: {}", "error: {}")
TEST_NAME = re.compile(r"""\b(?:(?:def|fn|func|void|function)\s+(?P<name>(?:[tT]est|should|it|when)_?\w{8,}|\w{8,}(?:_test|Test|_works|_fails)\b)|(?:it|test|describe|specify)\(\s*["'`](?P<title>[^"'`]{12,160})["'`])""")
DEFINITION = re.compile(r"^\s*(?:(?:pub(?:\([a-z]+\))?|async|static|public|private|protected|export|default|unsafe|final|virtual|inline|override|const|func|def|fn|function)\s+)*"
                        r"(?:def|fn|func|function)\s+(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_]\w{5,})\s*[(<]"
                        r"|^\s+(?:(?:public|private|protected|static|async|final|override|readonly|synchronized|abstract)\s+)*(?:[\w<>\[\],.?*&: ]+\s+)?(?P<method>[a-zA-Z_]\w{5,})\s*\([^;]*\)[^;]*\{\s*$")
CALL_FORMS = ("What does {} do?", "{}", "How does {} work?", "What happens in {}?", "Show what {} does with its arguments.", "Where is the code to {}?")
KEYWORD = frozenset("return switch while foreach function catch synchronized super sizeof".split())


def words(name):
    """An identifier in words."""
    return " ".join(re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+", name)).lower()


def body_of(lines, i):
    """The lines of the definition that begins at line i: what is indented deeper, and the closer."""
    level, out, opened = indent(lines[i]), [i], False
    for j in range(i + 1, min(len(lines), i + LONGEST_ANSWER + 1)):
        text = lines[j].strip()
        if not text:
            continue
        if indent(lines[j]) <= level:
            if text[0] in "})]:" or (text[0] == "{" and not opened):  # a closer, the end of a signature or a brace of its own
                out.append(j)
                opened |= text[0] == "{"
                if text.rstrip(";,)") in ("}", "end"):
                    return out
                continue
            return out
        out.append(j)
    return []  # too long to be one answer


def mine_errors(lines, rng):
    out = []
    for i, line in enumerate(lines):
        found = ERROR.search(line)
        text = found and re.sub(r"\s+", " ", PLACEHOLDER.sub(lambda _: rng.choice(("x", "foo", "42", "", "None")), found["text"])).strip()
        if not text or len(text.split()) < 4 or not re.search("[a-z]{3}", text):
            continue
        answer = [i]
        for j in range(i - 1, max(-1, i - 12), -1):  # the condition it stands under, and the statement it belongs to
            if lines[j].strip() and indent(lines[j]) < indent(line):
                answer = list(range(j, i + 1)) if i - j <= 6 else [j, i]
                break
        if lines[i].count("(") > lines[i].count(")"):
            end = next((j for j in range(i + 1, min(len(lines), i + 8)) if indent(lines[j]) <= indent(line) and lines[j].strip()), i)
            answer += list(range(i + 1, end + 1))
        out.append((rng.choice(ERROR_FORMS).format(text), sorted(set(answer))))
    return out


def mine_tests(lines, rng):
    out = []
    for i, line in enumerate(lines):
        found = TEST_NAME.search(line)
        question = found and (found["title"] or words(re.sub(r"^[tT]est_?", "", found["name"])))
        if question and len(question.split()) >= 3 and 2 <= len(answer := body_of(lines, i)):
            out.append((question, answer))
    return out


def mine_calls(lines, rng):
    """Functions defined in this file and called in it; the question has the words of the name, and sometimes those of the call."""
    defined = {}
    for i, line in enumerate(lines):
        found = DEFINITION.match(line)
        name = found and (found["name"] or found["method"])
        if name and name not in KEYWORD:
            defined[name] = None if name in defined else i
    out = []
    for i, line in enumerate(lines):
        for found in re.finditer(r"([A-Za-z_]\w{5,})\s*\(([^()]{0,60})", line):
            at = defined.get(found[1])
            if at is None or at == i:
                continue
            del defined[found[1]]
            asked = words(found[1])
            if len(asked.split()) >= 2 and 3 <= len(answer := body_of(lines, at)):
                if i in answer:
                    continue
                if rng.random() < 0.4 and found[2].strip():
                    asked += " with " + words(found[2])
                out.append((rng.choice(CALL_FORMS).format(asked), answer))
    return out


def questions_of(lines, language, is_test, rng):
    """(lines without the comments that ask, [question], [kind])"""
    items, removed = mine(lines, language)
    kept = [i for i in range(len(lines)) if i not in removed]
    place, lines = {i: a for a, i in enumerate(kept)}, [lines[i] for i in kept]
    mined = {"comment": [(q, sorted(place[x] for x in answer if x in place)) for q, answer in items],
             "error": mine_errors(lines, rng), "test": mine_tests(lines, rng) if is_test else [], "call": mine_calls(lines, rng)}
    questions, kinds = [], []
    for kind, found in mined.items():
        rng.shuffle(found)
        found = [[q, answer] for q, answer in found if answer][:QUESTIONS_PER_FILE[kind]]
        questions += found
        kinds += [kind] * len(found)
    return lines, questions, kinds


def roots(cache):
    """(package, folder): those of packages.json, and the crates that were vendored with them."""
    packages = json.loads((LABELS / "packages.json").read_text())
    seen = set()
    for registry, versions in packages.items():
        for package, version in sorted(versions.items()):
            assert package not in FORBIDDEN, package
            seen.add(package)
            yield package, f"{cache}/{registry}/" + f"{package}-{version}".replace("/", "-")
    for folder in sorted(pathlib.Path(cache, "crates").glob("*.work/v/*")):
        name = re.sub(r"-\d.*", "", folder.name)
        if name not in seen and name not in FORBIDDEN:
            seen.add(name)
            yield name, str(folder)


def mine_package(job):
    """The JSON lines of one package, and how many questions of each kind they hold."""
    package, root = job
    rng, out, total = random.Random(package), [], collections.Counter()
    files = sorted(source_files(root, tests=True))
    rng.shuffle(files)
    taken = 0
    for path, language in files:
        if taken >= FILES_PER_PACKAGE:
            break
        is_test = bool(TEST.search(path))
        if SKIP.search(path) and not is_test:
            continue
        try:
            text = open(f"{root}/{path}", encoding="utf-8").read()
        except (OSError, UnicodeDecodeError):
            continue
        lines = text.split("\n")
        if not 1500 <= len(text) <= 200_000 or max(map(len, lines)) > 400:
            continue
        taken += 1
        lines, questions, kinds = questions_of(lines, language, is_test or language == "rust", rng)
        if questions:
            out.append(json.dumps({"package": package, "lang": language, "lines": lines, "questions": questions, "kinds": kinds}))
            total.update(kinds)
    return out, total


def main():
    cache, out_path, total = sys.argv[1], sys.argv[2], collections.Counter()
    with open(out_path + ".partial", "w") as out, multiprocessing.Pool() as pool:
        for lines, counts in pool.imap(mine_package, roots(cache)):
            out.writelines(line + "\n" for line in lines)
            total.update(counts)
    os.rename(out_path + ".partial", out_path)
    print(f"{sum(total.values())} questions: {dict(total)}")


if __name__ == "__main__":
    main()
