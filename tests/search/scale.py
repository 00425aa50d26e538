#!/usr/bin/env python3
"""scale.py PROGRAM DIR...: how long `codeskim search` takes in directories of any size, and what its index costs in memory.

Prints for each directory the time of a command (nothing known), of the first call of a server and of later ones (median of ten), of one after a file was
added, and the server's memory before and after, as /proc has it. DIR gets a file of its own meanwhile."""
import json, os, statistics, subprocess, sys, time

QUESTIONS = ["How is a connection closed when a request ends?", "Where are options parsed?", "what checks that a password is valid", "How is the cache key made?", "Where are errors turned into messages?"]


def measure(program, root):
    files = sum(len(fs) for *_, fs in os.walk(root))
    began = time.perf_counter(); subprocess.run([program, "--no-ledger", "search", QUESTIONS[0]], cwd=root, capture_output=True); command = time.perf_counter() - began
    server = subprocess.Popen([program, "--no-ledger", "serve"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    number = 0

    def ask(method, params):
        nonlocal number; number += 1; began = time.perf_counter()
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"); server.stdin.flush()
        while (answer := json.loads(server.stdout.readline())).get("id") != number: pass
        return time.perf_counter() - began, json.dumps(answer)

    search = lambda question: ask("tools/call", {"name": "search", "arguments": {"question": question}})
    memory = lambda: int(next(l for l in open(f"/proc/{server.pid}/status") if l.startswith("VmRSS")).split()[1]) // 1024
    ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "scale", "version": "1"}})
    server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n'); time.sleep(1)
    before = memory(); cold = search(QUESTIONS[0])[0]; warm = [search(q)[0] for q in QUESTIONS * 2]
    new = os.path.join(root, "zeppelin_of_scale.py"); open(new, "w").write("def inflate_zeppelin(gas):\n    return gas + 1\n")
    changed, text = search("Where is the zeppelin inflated?"); os.remove(new)
    assert "inflate_zeppelin" in text, "the new file was not seen"
    print(f"{root}: {files} files; command {command:.2f} s, first call {cold:.2f} s, later {1000 * statistics.median(warm):.0f} ms ({1000 * max(warm):.0f} at most), after a change {1000 * changed:.0f} ms; memory {before} MB before, {memory()} after", flush=True)
    server.kill()


for directory in sys.argv[2:]: measure(os.path.abspath(sys.argv[1]), directory)
