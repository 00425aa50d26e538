"""Text to numbers: subtokens, line features and lexical evidence.

`src/skim/embedded/text.rs` does the same in Rust, and the golden test in `tests/` holds the two together: change both or
neither. Everything here works on UTF-8 bytes, so that the two agree on any input.
"""
import re

import numpy as np

from stems import stems

LINE_TOKENS = 96       # subtokens read of a line
QUESTION_TOKENS = 48   # subtokens read of a question
BUCKETS = 4096         # hash buckets for subtokens outside the vocabulary
FEATURES = 13
LEXICAL = 5

SUBTOKEN = re.compile(rb"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[\x80-\xff]+")
# Function words say nothing about which line matters, yet are rare in code and so would weigh most there.
STOP = frozenset(b"""a an and any are as at be been but by can could do does each for from get gets has have how i if in into is it its
me my need not of on or our should show so such than that the their them then there these they this to us use used uses want was we what when where
which while who why will with would you your""".split())

# How a question opens tells labellers' habits and not what it asks for: of the labelled questions that begin with "where" three quarters have no
# answer, and a model that reads the word learns to say so. So the first word goes, and the verb after it.
OPENERS = frozenset(b"how what when where which who why".split())
AUXILIARIES = frozenset(b"are can could did do does has have is may must should was were will would".split())

HEADER = frozenset(b"""abstract async class const def enum export fn func function impl interface int module namespace private protected
pub public static struct template trait type void""".split())
CONTROL = frozenset(b"if else elif case for while match switch try except catch".split())
LEAVE = frozenset(b"return raise throw yield".split())
IMPORT = frozenset(b"import from use require package include".split())
COMMENT = (b"#", b"//", b"/*", b"*", b'"""', b"'''", b"--")
WORD = re.compile(rb"[A-Za-z]+")


def subtokens(line):
    """Lower-case subtokens of a line or question (bytes): camelCase, snake_case and digits come apart, punctuation goes."""
    return [token.lower() for token in SUBTOKEN.findall(line)]


def without_opener(words):
    """The words of a question after the first that says what kind it is, and after that one's verb; all if there are no others."""
    start = int(words[:1] != [] and words[0] in OPENERS)
    start += int(start == 1 and words[1:2] != [] and words[1] in AUXILIARIES)
    return words[start:] or words


def guesses(question):
    """The words that the code may use, which the tools ask for in brackets at the end of a question, after a space (bytes); none if there are none.
    Brackets without a comma are an aside.
    """
    text, depth = question.rstrip(b" \t\n\f\r"), 1
    if not text.endswith(b")"):
        return b""
    for opens in range(len(text) - 2, -1, -1):
        depth += (text[opens] == ord(")")) - (text[opens] == ord("("))
        if depth == 0:
            before, words = text[:opens], text[opens + 1:-1]
            return words if before.endswith(b" ") and b"," in words else b""
    return b""


def fnv1a(token):
    h = 0x811C9DC5
    for byte in token:
        h = (h ^ byte) * 0x01000193 & 0xFFFFFFFF
    return h


class Vocabulary:
    """Ids of subtokens: 0 is padding, then the words by frequency, then the hash buckets."""

    def __init__(self, words):
        self.words = {word: i + 1 for i, word in enumerate(words)}
        self.size = 1 + len(words) + BUCKETS
        self.stop = {self.words[w] for w in STOP if w in self.words}
        self.stems = stems(self.words, self.size)
        self.cache = {}

    @classmethod
    def read(cls, path):
        """From a file of one word a line; what stands behind a word in the file that ships is what it is a form of."""
        return cls([line.split(b" ")[0] for line in path.read_bytes().splitlines()])

    def id(self, token):
        i = self.words.get(token)
        if i is None:
            i = self.cache.get(token)
            if i is None:
                i = self.cache[token] = 1 + len(self.words) + fnv1a(token) % BUCKETS
        return i

    def ids(self, line, most):
        return [self.id(token) for token in subtokens(line)[:most]]

    def question_ids(self, question):
        """Of a long question function words are left out, and if that is not enough the middle: words in brackets stand at the end."""
        ids = [self.id(token) for token in without_opener(subtokens(question))]
        if len(ids) > QUESTION_TOKENS:
            ids = [i for i in ids if i not in self.stop]
            ids = ids[:QUESTION_TOKENS // 2] + ids[max(QUESTION_TOKENS // 2, len(ids) - QUESTION_TOKENS // 2):]
        return ids

    def guess_ids(self, question):
        return [i for i in self.ids(guesses(question), QUESTION_TOKENS) if i not in self.stop]


def line_features(lines):
    """[n, FEATURES] float32 and, for each line, the index of the line that encloses it by indentation (itself at the top)."""
    n = len(lines)
    out = np.zeros((n, FEATURES), dtype=np.float32)
    parent = np.arange(n, dtype=np.int64)
    stack = []  # (line, indentation)
    for i, line in enumerate(lines):
        text = line.strip(b" \t\r\n")
        if not text:
            out[i, 1] = 1
            out[i, 7] = len(stack) / 6
            continue
        indent = 0
        for byte in line:
            if byte == 32:
                indent += 1
            elif byte == 9:
                indent += 4
            else:
                break
        while stack and stack[-1][1] >= indent:
            stack.pop()
        if stack:
            parent[i] = stack[-1][0]
        closer = text[0] in b"})]"
        if not closer:
            stack.append((i, indent))
        found = WORD.match(text)
        word = found[0] if found else b""
        hashed = WORD.match(text, 1) if text[:1] == b"#" else None
        out[i] = (
            min(indent, 40) / 20,
            0,
            word in HEADER,
            text.startswith(COMMENT) and not (hashed and hashed[0] in IMPORT),
            min(len(text), 240) / 80,
            text[-1] in b":{([,",
            closer,
            len(stack) / 6,
            word in IMPORT or bool(hashed and hashed[0] in IMPORT),
            word in LEAVE,
            word in CONTROL,
            text.startswith((b"@", b"#[")),
            text.startswith(b"== "),
        )
    return out, parent


def window_mean(x, half):
    """Mean of x over [i-half, i+half], cut at the ends (divided by the full width, so that ends do not stand out)."""
    c = np.concatenate([np.zeros(half + 1), np.cumsum(x, dtype=np.float64), np.full(half, 0.0)])
    n = len(x)
    c[half + 1 + n:] = c[half + n]
    return (c[2 * half + 1:2 * half + 1 + n] - c[:n]) / (2 * half + 1)


def lexical(tokens, question, vocabulary):
    """BM25 of each line with the text's own document frequencies; forms of one word count as that word.

    tokens [n, LINE_TOKENS] ids (0 pads), question: ids. Returns ([n, LEXICAL] float32, [len(question)] float32: the idf of each
    question token in this text, divided by 8). Columns: BM25 of the line, of +-3 and +-10 lines (each divided by its
    maximum), the share of the question's idf mass on the line, and within +-10 lines.
    """
    n, tokens, question = len(tokens), vocabulary.stems[tokens], vocabulary.stems[question].tolist()
    wanted = sorted(set(question) - vocabulary.stop - {0})
    length = (tokens != 0).sum(1)
    average = max(1.0, float(length.sum()) / max(1, int((length > 0).sum())))
    norm = 1.2 * (0.25 + 0.75 * length / average)
    score = np.zeros(n)
    here = np.zeros(n)
    near = np.zeros(n)
    mass = 0.0
    idf_of = {}
    for t in wanted:
        tf = (tokens == t).sum(1)
        df = int((tf > 0).sum())
        idf = float(np.log(1 + (n - df + 0.5) / (df + 0.5)))
        idf_of[t] = idf
        mass += idf
        if df:
            present = (tf > 0).astype(np.float64)
            score += idf * 2.2 * tf / (tf + norm)
            here += idf * present
            near += idf * (window_mean(present, 10) > 1e-9)
    out = np.zeros((n, LEXICAL), dtype=np.float32)
    for column, x in enumerate((score, window_mean(score, 3), window_mean(score, 10))):
        top = x.max() if n else 0
        if top > 1e-9:
            out[:, column] = x / top
    if mass > 0:
        out[:, 3] = here / mass
        out[:, 4] = near / mass
    return out, np.array([idf_of.get(t, 0.0) / 8 for t in question], dtype=np.float32)


def found(tokens, guessed, vocabulary):
    """The share of the guessed words' idf mass that stands within +-10 lines, at its best place: how much of what was guessed the text has."""
    return float(lexical(tokens, guessed, vocabulary)[0][:, 4].max(initial=0))
