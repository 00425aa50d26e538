"""Source text with its comments and the insides of its strings made blank; every line keeps its number."""
import re

CHAR = re.compile(r"'(?:\\(?:u\{[^}]*\}|x[0-9a-fA-F]+|[0-7]{1,3}|u[0-9a-fA-F]{4}|.)|[^\\'\n])'", re.S)
RAW = {
    "rust": re.compile(r'\b(?:b|c)?r(#*)"', re.S),
    "c++": re.compile(r'\b(?:u8|u|U|L)?R"([^()\\\s]{0,16})\('),
    "c#": re.compile(r'(?:\$@|@\$|@)(")'),
}


def blank(text, language):
    """`language` is one of rust, c, c++, c#."""
    out, at, size = [], 0, len(text)

    def wipe(end):
        nonlocal at
        end = min(end, size)
        out.append(re.sub(r"[^\n]", " ", text[at:end]))
        at = end

    raw = RAW.get(language)
    while at < size:
        c = text[at]
        if text.startswith("//", at):
            end = at
            while True:
                end = text.find("\n", end)
                if end < 0:
                    end = size
                elif text[end - 1] == "\\" and language in ("c", "c++"):
                    end += 1
                    continue
                break
            wipe(end)
        elif text.startswith("/*", at):
            if language == "rust":
                depth, end = 1, at + 2
                while depth and end < size:
                    if text.startswith("/*", end):
                        depth, end = depth + 1, end + 2
                    elif text.startswith("*/", end):
                        depth, end = depth - 1, end + 2
                    else:
                        end += 1
                wipe(end)
            else:
                end = text.find("*/", at + 2)
                wipe(size if end < 0 else end + 2)
        elif raw and (c in "@$" or c in "rbcRuUL" and not (at and (text[at - 1].isalnum() or text[at - 1] == "_"))) and (found := raw.match(text, at)):
            mark = found.group(1)
            if language == "c#":
                end = found.end()
                while end < size and not (text[end] == '"' and text[end + 1 : end + 2] != '"'):
                    end += 2 if text[end] == '"' else 1
                wipe(end + 1)
            else:
                close = '"' + mark if language == "rust" else ")" + mark + '"'
                end = text.find(close, found.end())
                wipe(size if end < 0 else end + len(close))
        elif c == '"':
            end = at + 1
            while end < size and text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            wipe(end + 1)
        elif c == "'":
            separator = language == "c++" and at and text[at - 1].isalnum() and text[at + 1 : at + 2].isalnum() and not re.search(r"\b(?:u8|[uUL])$", text[max(0, at - 3) : at])
            found = None if separator else CHAR.match(text, at)
            if found:
                wipe(found.end())
            else:  # a lifetime, a separator of digits, or an apostrophe in a text for the preprocessor
                out.append(c)
                at += 1
        else:
            out.append(c)
            at += 1
    return "".join(out)


def without_branches(text):
    """Blanked C, without its preprocessor's lines and with only the first branch of each condition."""
    lines, out, stack, goes_on = text.split("\n"), [], [], False
    for line in lines:
        bare = line.lstrip()
        directive = bare.startswith("#") or goes_on
        if directive and not goes_on:
            word = re.match(r"#\s*(\w*)", bare).group(1)
            if word in ("if", "ifdef", "ifndef"):
                stack.append("off" if re.match(r"#\s*if\s+0\b", bare) else "on")
            elif word in ("else", "elif") and stack:
                stack[-1] = "on" if stack[-1] == "off" else "done"
            elif word == "endif" and stack:
                stack.pop()
        goes_on = directive and line.rstrip().endswith("\\")
        out.append("" if directive or any(state != "on" for state in stack) else line)
    return out
