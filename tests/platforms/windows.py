#!/usr/bin/env python3
"""What the Windows build makes of paths as people, agents and attackers write them; elsewhere than on Windows, under wine.

    cargo build --release --target x86_64-pc-windows-gnu
    python3 tests/platforms/windows.py target/x86_64-pc-windows-gnu/release/codeskim.exe

Prints a row a case, and exits with 1 if any got something else than it should. Wine needs wine64 and mingw-w64, and keeps to a prefix of its own.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from suite import REPOSITORY, wine

SECRET = "TOP-SECRET"
CODE = "".join(f"def step_{i}(value):\n    total = value + {i}\n    return total * {i + 1}\n\n" for i in range(20))
# Keeps a file open that nobody else may open.
HOLD = """#include <windows.h>
#include <stdio.h>
int main(int count, char **words) {
    HANDLE file = CreateFileA(words[1], GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
    puts(file == INVALID_HANDLE_VALUE ? "failed" : "held"); fflush(stdout);
    getchar();
    return 0;
}
"""


class Windows:
    """A drive C: with a root, and what is beside it."""

    def __init__(self, program, place):
        self.here = os.name == "nt"
        self.environment = {**(os.environ if self.here else wine(place)), "CODESKIM_LEDGER": "off"}
        self.drive = place if self.here else place / "drive_c"
        self.top = str(place) if self.here else "C:"
        self.program = self.drive / "bin" / "codeskim.exe"
        self.program.parent.mkdir(parents=True)
        self.program.write_bytes(pathlib.Path(program).read_bytes())
        self.write()

    def compile(self, name, source, *options):
        file = self.program.with_name(name + ".c")
        file.write_text(source)
        subprocess.run(["x86_64-w64-mingw32-gcc", "-o", str(self.program.with_name(name)), str(file), *options], check=True)
        return self.program.with_name(name)

    def write(self):
        deep = "/".join(["a" * 60] * 5)
        for path, text in {
            "work/src/a.py": CODE, "work/src/sub dir/b c.py": CODE, "work/src/crlf.txt": "one\r\nneedle\r\nthree\r\n", f"work/{deep}/deep.py": CODE,
            "work/src/äöü 漢字.py": CODE, "work/.hidden/h.py": "needle\n", "work/src/locked.py": CODE, "worker/secret.txt": SECRET, "outside/secret.txt": SECRET,
        }.items():
            (self.drive / path).parent.mkdir(parents=True, exist_ok=True)
            (self.drive / path).write_bytes(text.encode())
        self.deep = deep.replace("/", "\\")

    def run(self, *words, root=None, **options):
        command = [*([] if self.here else ["wine"]), str(self.program), "--root", root or f"{self.top}\\work", *words]
        # Files and no pipes: under wine a process that is ended while it starts may stay, with what it has inherited.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            status = subprocess.run(command, cwd=self.drive / "work", env=self.environment, timeout=120, stdout=out, stderr=error, check=False, **options).returncode
            said = [(file.seek(0), file.read().decode(errors="replace"))[1] for file in (out, error)]
        return status, said[0], said[1].strip()


def cases(windows):
    """What is asked, and what has to come: the text, or one sentence with these words."""
    top, slashed = windows.top, windows.top.replace("\\", "/")
    letter = slashed[0].lower() + slashed[2:]
    text, missing, outside = None, "There is no", "outside"
    same = [
        "src/a.py", r"src\a.py", r".\src\a.py", "./src/a.py", r"SRC\A.PY", "src//a.py", r"src\..\src\a.py", r"src\.\a.py", f"{top}\\work\\src\\a.py",
        f"{slashed}/work/src/a.py", f"{slashed[0].lower()}{slashed[1:]}/work/src/a.py", f"{slashed}/WORK/Src/a.py", f"/{letter}/work/src/a.py", f"/mnt/{letter}/work/src/a.py",
        f"/cygdrive/{letter}/work/src/a.py", f"file:///{slashed}/work/src/a.py", f"\\\\?\\{top}\\work\\src\\a.py", f"{top}\\work\\..\\work\\src\\a.py",
        f"file:/{slashed}/work/src/a.py", f"FILE:///{slashed}/work/src/a.py", f"/{slashed}/work/src/a.py", r"\work\src\a.py", "/work/src/a.py",
        r"src\sub dir\b c.py", f"file:///{slashed}/work/src/sub%20dir/b%20c.py", "src/äöü 漢字.py", f"{windows.deep}\\deep.py", f"{top}\\work\\{windows.deep}\\deep.py",
    ]
    refused = [
        r"..\outside\secret.txt", "../outside/secret.txt", r"src\..\..\outside\secret.txt", f"{top}\\outside\\secret.txt", f"{slashed}/outside/secret.txt",
        f"{top}\\work\\..\\outside\\secret.txt", f"{top}\\worker\\secret.txt", f"{top[0]}:outside\\secret.txt", r"\outside\secret.txt", "/outside/secret.txt", f"/{letter}/outside/secret.txt",
        f"file:///{slashed}/outside/secret.txt", f"\\\\?\\{top}\\outside\\secret.txt", f"\\\\.\\{top}\\outside\\secret.txt", r"\\server\share\secret.txt", "//server/share/secret.txt",
        r"\\?\UNC\server\share\secret.txt", r"\\localhost\C$\outside\secret.txt", r"\\?\GLOBALROOT\Device\Null", r"\\.\pipe\secret", r"\\.\NUL", "file://server/share/secret.txt", r"D:\secret.txt",
    ]
    absent = ["NUL", "nul", r"src\NUL", "CON", "aux", "aux.txt", "COM1", r"src\com1.py", "LPT9", "CONIN$", "src/missing.py", r"src\a.py:stream", r"src\a.py\b.py", "src/a|b.py", 'src/a"b.py']
    return [(path, text) for path in same] + [(path, outside) for path in refused] + [(path, missing) for path in absent]


def main():
    failed, rows = 0, []

    def row(kind, asked, got, right):
        nonlocal failed
        failed += not right
        rows.append((kind, asked, got, right))
        print("|", kind, "|", f"`{asked[-70:]}`".replace("|", "\\|"), "|", got[:150].replace("|", "\\|").replace("\n", " ⏎ "), "|", "yes" if right else "**no**", "|", flush=True)

    print("| what | asked | got | right |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        windows = Windows(sys.argv[1], pathlib.Path(place).resolve())
        for path, wanted in cases(windows):
            status, out, error = windows.run("read", path)
            said = (out + error).strip()
            right = (status == 0 and CODE in out) if wanted is None else (status == 2 and not out and wanted in error and error.count("\n") == 0)
            row("read", path, "the text" if CODE in out else said, right and SECRET not in said)
        others(windows, row)
        if not windows.here:
            subprocess.run(["wineserver", "-k"], env=windows.environment, check=False)
    print(f"\n{len(rows) - failed} of {len(rows)} as they should be")
    sys.exit(failed > 0)


def others(windows, row):
    """Searches, streams, locked files, pipes, roots and the server."""
    top, slashed = windows.top, windows.top.replace("\\", "/")
    focus = ["--focus", "Which step multiplies by 8? (step_7)"]
    for command, wanted in [
        (["grep", "step_7\\("], "src/a.py"), (["grep", "step_7\\(", r"src\sub dir"], "src/sub dir/b c.py"), (["grep", "-g", r"src\*.py", "step_7\\("], "src/a.py"),
        (["grep", "needle$"], "2:needle"), (["grep", "needle", ".hidden"], "1:needle"), (["read", r"src\a.py", *focus], "def step_7(value)"), (["read", "--symbol", "step_7", r"src\a.py"], "def step_7(value)"),
        (["search", "Which step multiplies by 8? (step_7)"], "step_7"), (["map", r"src\a.py"], "src/a.py"), (["head", "-n", "1", r"src\crlf.txt"], "one\r\n"), (["read", r"src\crlf.txt"], "needle\r\n"),
        (["grep", "-g", "*.nothing", "x"], ""), (["doctor"], "codeskim"), (["grep", "step_7\\(", f"{top}\\work\\src\\*.py"], "src/a.py"), (["grep", "-g", f"/{slashed[0].lower()}/work/src/*.py", "step_7\\("], "src/a.py"), (["read", r"src\a.py."], ""), (["read", r"src\a.py::$DATA"], ""),
    ]:
        status, out, error = windows.run(*command)
        said = (out + error).strip()
        row(command[0], " ".join(command[1:]), said, bool(said) and wanted in out.replace("\\", "/" if command[0] == "map" else "\\") and "panicked" not in error and SECRET not in said)
    for directory in ["src", r"src\sub dir", f"{top}\\work\\src"]:
        status, out, error = windows.run("read", directory)
        row("read", directory, out + error, status == 2 and "is a directory" in error)
    for root in [f"/{slashed[0].lower()}/work", f"file:///{slashed}/work", f"{slashed}/work/", f"{slashed[0].lower()}{slashed[1:]}/WORK", f"\\\\?\\{top}\\work", f"{top}\\work\\src\\..", "."]:
        status, out, error = windows.run("read", "src/a.py", root=root)
        row("root", root, "the text" if out == CODE else (out + error), out == CODE)
    two = windows.run("--root", f"{top}\\outside", "grep", "step_7\\(")
    row("two roots", "grep", two[1].strip() or two[2], f"{slashed}/work/src/a.py" in two[1])
    done = windows.run("prune", *focus, input=CODE.encode())
    row("a pipe", "prune", done[1].strip() or done[2], "def step_7(value)" in done[1] and "⋮" in done[1])
    secret = windows.run("grep", SECRET)
    row("grep", SECRET, (secret[1] + secret[2]).strip(), secret[0] == 1 and "secret.txt" not in secret[1])
    for client in ["claude-code", "claude-desktop", "vscode", "zed", "opencode", "codex", "gemini"]:
        status, out, error = windows.run("setup", client, "--dry-run", *(["--hook"] if client in ("claude-code", "codex", "gemini", "opencode") else []))
        places = [word.strip('",') for word in (out + error).split() if word.strip('",').lower().startswith(top.lower())]
        row("setup", client, (places or [out + error])[0], status == 0 and bool(places))
    if not windows.here:
        hold = windows.compile("hold.exe", HOLD)
        holder = subprocess.Popen(["wine", str(hold), f"{top}\\work\\src\\locked.py"], env=windows.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert holder.stdout.readline().strip() == b"held"
        status, out, error = windows.run("read", "src/locked.py")
        row("read", "a file that another program has locked", (out + error).strip(), status == 2 and not out and error.count("\n") == 0)
        status, out, error = windows.run("grep", "step_7\\(")
        row("grep", "the same among others", (out + error).strip(), status == 0 and "src/a.py" in out)
        holder.communicate(b"\n")
    serve(windows, row)
    hooks(windows, row)


def hooks(windows, row):
    """A file of which an agent has seen an excerpt is not written over, however its path is written."""
    top, slashed = windows.top, windows.top.replace("\\", "/")
    names = [f"{top}\\work\\src\\big.rs", f"{slashed}/work/src/big.rs", f"{slashed[0].lower()}{slashed[1:]}/work/SRC/Big.rs"]
    text = (REPOSITORY / "src/setup/clients.rs").read_text()
    (windows.drive / "work/src/big.rs").write_text(text)
    own = {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "own", "name": "Read", "input": {}}]}}
    asked = {"type": "user", "message": {"content": "Find out what happens when a link with an absolute target points into the root."}}
    (windows.drive / "work/record.jsonl").write_text(json.dumps(asked) + "\n" + json.dumps(own) + "\n")
    for number, shown in enumerate(names):
        session = {"session_id": f"s{number}", "cwd": f"{top}\\work", "transcript_path": f"{top}\\work\\record.jsonl"}
        file = {"filePath": shown, "content": text, "numLines": text.count("\n"), "startLine": 1, "totalLines": text.count("\n")}
        read = {**session, "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": shown}, "tool_response": {"type": "text", "file": file}, "tool_use_id": "own"}
        pruned = windows.run("hook", "claude-code", input=json.dumps(read).encode())[1]
        for written in names:
            write = {**session, "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": written, "content": ""}}
            stopped = windows.run("hook", "claude-code", input=json.dumps(write).encode())[1]
            row("hook", f"read {shown}, write {written}", stopped or f"let through (read: {pruned[:60]})", "deny" in stopped)


def serve(windows, row):
    """The server over MCP, in one session."""
    command = [*([] if windows.here else ["wine"]), str(windows.program), "--root", f"{windows.top}\\work"]
    server = subprocess.Popen(command, env=windows.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
    calls = [("read_file", {"path": r"src\a.py"}), ("read_file", {"path": "src/a.py", "context_focus_question": "Which step multiplies by 8? (step_7)"}), ("grep", {"pattern": "step_7\\("}), ("read_file", {"path": r"..\outside\secret.txt"})]
    messages = [{"id": 0, "method": "initialize", "params": hello}, {"method": "notifications/initialized"}]
    messages += [{"id": i + 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}} for i, (name, arguments) in enumerate(calls)]
    for message in messages:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()
    answers = {answer["id"]: answer for answer in (json.loads(server.stdout.readline()) for _ in range(len(calls) + 1))}
    server.stdin.close()
    status = server.wait(30)
    texts = [answers[i + 1]["result"]["content"][0]["text"] for i in range(len(calls))]
    right = [texts[0] == CODE, "def step_7(value)" in texts[1] and "⋮" in texts[1], "src/a.py" in texts[2], "outside" in texts[3] and SECRET not in texts[3]]
    for (name, arguments), text, is_right in zip(calls, texts, right):
        row("MCP", f"{name} {json.dumps(arguments)}", text, is_right)
    row("MCP", "end of input", f"exit status {status}", status == 0)


if __name__ == "__main__":
    main()
