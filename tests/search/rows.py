#!/usr/bin/env python3
"""rows.py ANNOTATIONS WORK OUT.jsonl [--hub https://github.com]: makes the queries of a public benchmark into rows for measure.py.

ANNOTATIONS is the directory benchmarks/annotations of a clone of MinishLab/semble. The twelve repositories are fetched into WORK, each at the commit that the
queries were made for; what is there already is left as it is. "fit" are the repositories on which the weights of `codeskim search` were fitted. Queries whose
files are not in the repository at that commit are left out, and counted. Needs git."""
import argparse, json, os, subprocess

a = argparse.ArgumentParser(); a.add_argument("annotations"); a.add_argument("work"); a.add_argument("out"); a.add_argument("--hub", default="https://github.com"); a = a.parse_args()
REPOSITORIES = {  # name: repository, commit, the directory that is searched
    "chi": ("go-chi/chi", "a54874f0e2f12647a19e82ee70dfa8185014100c", ""),
    "cobra": ("spf13/cobra", "61968e893eee2f27696c2fbc8e34fa5c4afaf7c4", ""),
    "commons-lang": ("apache/commons-lang", "0ba92dc402312a38252a3398931ffbfbb4a88f7d", "src/main/java/org/apache/commons/lang3"),
    "exposed": ("JetBrains/Exposed", "7c80ed943b529f293b33ee7e0facdfd880cf4aec", "exposed-core/src/main/kotlin"),
    "express": ("expressjs/express", "8e022edc9185f540a3fcecaf5e56b850d919cdac", "lib"),
    "fmtlib": ("fmtlib/fmt", "382609a920d2c43c00f2951233bc0d578a783982", "include/fmt"),
    "gson": ("google/gson", "f4d371d29c04066dbe7fdb31f642831f9c7f40cd", "gson"),
    "rack": ("rack/rack", "ca8a404704ed043797c4f9d482c97d722c0dc719", "lib/rack"),
    "serde": ("serde-rs/serde", "fa7da4a93567ed347ad0735c28e439fca688ef26", ""),
    "tokio": ("tokio-rs/tokio", "5db10f538b683fe88d699dfd11be31d193db011c", "tokio/src"),
    "trpc": ("trpc/trpc", "c188dab0822caf3615199e4ac95147bc7560d26f", "packages/server/src"),
    "vitest": ("vitest-dev/vitest", "596f73986abe2161a9a06f0ca03df68e82690b21", "packages/vitest/src"),
}
FITTED = {"cobra", "express", "gson", "rack", "serde", "trpc"}


def checkout(repository, commit, to, root):
    git = lambda *of: subprocess.run(["git", "-C", to, *of], check=True)
    if os.path.isdir(os.path.join(to, root)): return
    os.makedirs(to, exist_ok=True); git("init", "-q"); git("fetch", "-q", "--depth", "1", f"{a.hub}/{repository}", commit)
    git("sparse-checkout", "set", "--no-cone", f"/{root}/" if root else "/*"); git("checkout", "-q", commit)


rows, left_out = [], 0
for name, (repository, commit, root) in REPOSITORIES.items():
    top = os.path.abspath(os.path.join(a.work, name)); checkout(repository, commit, top, root)
    files = [os.path.relpath(os.path.join(d, f), top) for d, _, names in os.walk(top) for f in names]
    for query in json.load(open(os.path.join(a.annotations, f"{name}.json"))):
        answer = [each if isinstance(each, str) else each["path"] for each in query["relevant"] + query.get("secondary", [])]
        if not answer or not all(any(f"/{file}".endswith(f"/{path}") for file in files) for path in answer): left_out += 1; continue
        rows.append({"set": "semble", "group": name, "category": query["category"], "use": "fit" if name in FITTED else "check", "root": os.path.join(top, root).rstrip("/"), "question": query["query"], "files": answer})
with open(a.out, "w") as out: out.writelines(json.dumps(row) + "\n" for row in rows)
print(f"{len(rows)} queries, {left_out} left out")
