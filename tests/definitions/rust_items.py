"""The items of a Rust file. There is no parser of the language's own to call without a build, so this reads items, and only items."""
import re

from blank import blank

TOKEN = re.compile(r"\n|'\w+|[A-Za-z_]\w*!?(?![=])|[A-Za-z_]\w*|\d\w*|->|=>|::|[^\s\w]")
OPEN, CLOSE = "([{", ")]}"
QUALIFIERS = {"default", "async", "const", "unsafe", "extern", "safe", "auto"}


def items(path, text):
    tokens, line = [], 1
    for found in TOKEN.finditer(blank(text, "rust")):
        if found.group() == "\n":
            line += 1
        else:
            tokens.append((found.group(), line))
    out = []
    Reader(path, tokens, out).read(0, len(tokens), "", "")
    return out


class Reader:
    def __init__(self, path, tokens, out):
        self.path, self.tokens, self.out = path, tokens, out
        self.partner, stack = {}, []
        for i, (token, _) in enumerate(tokens):
            if token in OPEN:
                stack.append(i)
            elif token in CLOSE and stack:
                self.partner[stack.pop()] = i

    def word(self, i):
        return self.tokens[i][0] if i < len(self.tokens) else ""

    def line(self, i):
        return self.tokens[min(i, len(self.tokens) - 1)][1]

    def past(self, i):
        return self.partner.get(i, len(self.tokens)) + 1

    def until(self, i, end, stops):
        """The next of `stops` that is in no brackets."""
        while i < end and self.word(i) not in stops:
            i = self.past(i) if self.word(i) in OPEN else i + 1
        return i

    def emit(self, name, owner, kind, role, start, body, last):
        self.out.append({"path": self.path, "name": name, "owner": owner, "kind": kind, "role": role, "first": self.line(start), "body": self.line(body), "last": self.line(last)})

    def read(self, i, end, owner, role):
        while i < end:
            if self.word(i) == "#":
                i = self.past(i + 2 if self.word(i + 1) == "!" else i + 1)
                continue
            start = i
            if self.word(i) == "pub":
                i += 1
                if self.word(i) == "(":
                    i = self.past(i)
            while self.word(i) in QUALIFIERS and (self.word(i + 1) in QUALIFIERS | {"fn", "trait", "impl", "mod"} or self.word(i) == "extern" and self.word(i + 1) in ("fn", "{", "unsafe")):
                i += 1
            i = self.item(start, i, end, owner)

    def item(self, start, i, end, owner):
        while self.word(i + 1) == "::":  # `std::thread_local! { … }`
            i += 2
        word, name = self.word(i), self.word(i + 1)
        if word == "fn":
            body = self.until(i + 2, end, ("{", ";"))
            if self.word(body) == "{":
                last = self.past(body) - 1
                self.emit(name, owner, "function", "definition", start, body, last)
                return last + 1
            self.emit(name, owner, "function", "proto", start, body, body)
            return body + 1
        if word in ("struct", "enum", "trait") or word == "union" and re.match(r"\w", name):
            body = self.until(i + 2, end, ("{", ";"))
            last = self.past(body) - 1 if self.word(body) == "{" else body
            self.emit(name, "", word, "definition", start, body, last)
            if word == "trait" and last > body:
                self.read(body + 1, last, name, "")
            return last + 1
        if word == "impl":
            body = self.until(i + 1, end, ("{", ";"))
            last = self.past(body) - 1
            name = self.implemented(i + 1, body)
            self.emit(name, "", "impl", "soft", start, body, last)
            self.read(body + 1, last, name, "")
            return last + 1
        if word == "mod" and self.word(i + 2) == "{":
            last = self.past(i + 2) - 1
            self.emit(name, "", "module", "module", start, i + 2, last)
            self.read(i + 3, last, "", "")
            return last + 1
        if word in ("macro_rules!", "macro_rules"):
            body = self.until(i + 1, end, ("{",))
            last = self.past(body) - 1
            self.emit(self.word(body - 1), "", "macro", "soft", start, body, last)
            return last + 1
        if word in ("extern", "{"):
            body = self.until(i, end, ("{", ";"))
            if self.word(body) == "{":
                self.read(body + 1, self.past(body) - 1, owner, "")
                return self.past(body)
            return body + 1
        if word.endswith("!"):
            body = self.until_open(i, end)
            after = self.past(body)
            return after + 1 if self.word(after) == ";" else after
        return self.until(i, end, (";",)) + 1

    def until_open(self, i, end):
        while i < end and self.word(i) not in OPEN:
            i += 1
        return i

    def implemented(self, i, end):
        """The name of the type that an `impl` is for."""
        depth, name = 0, ""
        while i < end:
            word = self.word(i)
            if word in "([":
                i = self.past(i)
                continue
            if word == "<":
                depth += 1
            elif word == ">":
                depth -= 1
            elif not depth:
                if word == "where":
                    break
                if word == "for" and self.word(i + 1) != "<":
                    name = ""
                elif re.match(r"[A-Za-z_]", word) and word not in ("dyn", "mut", "const"):
                    name = word
            i += 1
        return name
