#!/usr/bin/env python3
"""Draws the picture of the README: a file as it is, and what codeskim shows of it for a question.

    python3 docs/picture.py target/release/codeskim

Runs the program on FILE with QUESTION and writes docs/src/before-after-light.svg and -dark.svg. Every line and every number in the picture comes from
that run. Exits with 1 if what the program shows is not what the file has. Only Python's own library is needed.
"""

import re
import subprocess
import sys
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
FILE = "src/workspace/mod.rs"
QUESTION = "What happens with a link whose target is absolute but lies inside the root?"

THEMES = {
    "light": {
        "page": "#ffffff", "panel": "#f6f8fa", "edge": "#d0d7de", "title": "#1f2328", "text": "#24292f", "comment": "#6e7781", "gap": "#9a6700",
        "left_out": "#b4bcc6", "kept": "#1a7f37", "band": "#d2f4dc",
    },
    "dark": {
        "page": "#0d1117", "panel": "#161b22", "edge": "#30363d", "title": "#e6edf3", "text": "#d0d7de", "comment": "#8b949e", "gap": "#e3b341",
        "left_out": "#545d68", "kept": "#56d364", "band": "#12361f",
    },
}

WIDTH = 900
MARGIN = 12
HEADING = 74  # above the panels
PADDING = 10  # within a panel
MAP = 200  # width of the left panel
GUTTER = 14  # between the panels
FONT = 9.5  # of the view
ADVANCE = 0.602 * FONT  # of one character, in the widest of the fonts
LEADING = 13  # from line to line of the view
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"


def view(program):
    """What the program prints."""
    run = subprocess.run([program, "--no-ledger", "read", FILE, "--focus", QUESTION], cwd=REPOSITORY, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{program} exited with {run.returncode}: {run.stderr}")
    return run.stdout


def kept(file, shown):
    """The numbers, from 0, of the lines that a view shows, and what marks its gaps."""
    header, *body = shown.splitlines()
    marker = re.search(r"(\S+) = lines left out", header)
    if not marker:
        sys.exit(f"There is nothing to draw, as the view leaves nothing out: {header}")
    numbers, at = set(), 0
    for line in body:
        gap = re.match(rf"{marker[1]} (\d+)(?:-(\d+))?(?::|$)", line)
        if gap:
            at = int(gap[2] or gap[1])
            continue
        if at >= len(file) or line != file[at]:
            sys.exit(f"The view has {line!r} where line {at + 1} of {FILE} should be")
        numbers.add(at)
        at += 1
    if at != len(file):
        sys.exit(f"The view ends with line {at} of {len(file)}")
    return numbers, marker[1]


def wrapped(line, columns):
    """A line of the view as rows that fit: (indentation, text), those after the first a little further in."""
    indent, text = len(line) - len(line.lstrip(" ")), line.strip(" ")
    rows, inner = [], indent
    while len(text) > columns - inner:
        cut = text.rfind(" ", 0, columns - inner) + 1 or columns - inner
        rows.append((inner, text[:cut].rstrip(" ")))
        text, inner = text[cut:], indent + 4
    return [*rows, (inner, text)]


def draw(theme, file, characters, shown):
    """The picture, as SVG."""
    colour = THEMES[theme]
    chosen, marker = kept(file, shown)
    lines = shown.splitlines()
    inside = WIDTH - 2 * MARGIN - MAP - GUTTER
    columns = int((inside - 2 * PADDING) / ADVANCE)
    rows = [(line, *row) for line in lines for row in wrapped(line, columns)]
    height = max(LEADING * len(rows), 1.5 * len(file)) + 2 * PADDING
    right = MARGIN + MAP + GUTTER
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {WIDTH} {HEADING + height + MARGIN:g}"'
        f' width="{WIDTH}" height="{HEADING + height + MARGIN:g}" font-family="{FONTS}" role="img">',
        f"<title>{escape(FILE)}: {len(file)} lines, of which {len(chosen)} are shown for the question</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{colour["page"]}"/>',
    ]

    def write(x, y, size, fill, text, weight=""):
        svg.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour[fill]}"{weight}>{escape(text)}</text>')

    bold = ' font-weight="600"'
    write(MARGIN, 24, 12.5, "title", f"“{QUESTION}”", bold)
    write(MARGIN, 50, 11, "title", FILE, bold)
    write(MARGIN, 65, 10, "comment", f"{len(file):,} lines, {characters:,} characters")
    write(right, 50, 11, "title", "what the agent gets", bold)
    gaps = sum(line.startswith(marker) for line in lines[1:])
    write(right, 65, 10, "comment", f"{len(shown):,} characters: {len(chosen)} lines of the file, {gaps} gaps")
    for x, width in ((MARGIN, MAP), (right, inside)):
        svg.append(
            f'<rect x="{x}" y="{HEADING}" width="{width}" height="{height:g}" rx="6" fill="{colour["panel"]}" stroke="{colour["edge"]}"/>'
        )

    # The file: a row a line, words as strokes.
    row = (height - 2 * PADDING) / len(file)  # its height
    cell = (MAP - 2 * PADDING) / max(map(len, file))
    strokes = {True: [], False: []}
    for at, line in enumerate(file):
        y = HEADING + PADDING + at * row
        if at in chosen and at - 1 not in chosen:
            run = next(end for end in range(at, len(file) + 1) if end not in chosen) - at
            svg.append(f'<rect x="{MARGIN + 1}" y="{y:.2f}" width="{MAP - 2}" height="{run * row:.2f}" fill="{colour["band"]}"/>')
        for word in re.finditer(r"\S+", line):
            start = MARGIN + PADDING + word.start() * cell
            strokes[at in chosen].append(f"M{start:.1f} {y + row / 2:.2f}h{len(word[0]) * cell:.1f}")
    for is_kept, name in ((False, "left_out"), (True, "kept")):
        svg.append(f'<path stroke="{colour[name]}" stroke-width="{0.6 * row:.2f}" fill="none" d="')
        svg.extend(strokes[is_kept])
        svg.append('"/>')

    # The view.
    for index, (line, indent, text) in enumerate(rows):
        fill = "gap" if index == 0 or line.startswith(marker) else "comment" if line.lstrip().startswith("//") else "text"
        if text:
            write(right + PADDING + indent * ADVANCE, HEADING + PADDING + (index + 0.75) * LEADING, FONT, fill, text)
    svg.append("</svg>\n")
    return "\n".join(svg)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    whole = (REPOSITORY / FILE).read_text()
    shown = view(Path(sys.argv[1]).resolve())
    for theme in THEMES:
        (HERE / f"src/before-after-{theme}.svg").write_text(draw(theme, whole.splitlines(), len(whole), shown))


main()
