"""Made-up output of test runners, compilers and servers, with questions and the lines that answer them.

The labels cover code only; agents also pipe output through the skimmer, and there the answer is a failure among lines that look alike.
Everything is drawn at random: names, order, counts, which lines fail and with what.
"""
NOUNS = "user order cache session token parser buffer queue report index payment image route config client worker schema stream invoice search login upload".split()
VERBS = "creates updates rejects parses returns loads handles retries expires merges encodes validates closes sorts renders deletes".split()
EXTRA = "empty input,unicode,missing key,timeout,large file,two pages,null,default,nested,duplicates,old version,bad header".split(",")
MESSAGES = ["expected {a} to equal {b}", "assert {a} == {b}", "KeyError: '{n}'", "connection refused: {n}:5432", "TypeError: {n} is not a function",
            "index out of bounds: the len is {a} but the index is {b}", "timed out after {a} ms waiting for {n}", "permission denied: /var/{n}/{m}.db",
            "cannot read property '{n}' of undefined", "ValueError: invalid literal for int() with base 10: '{n}'", "no such table: {n}_{m}",
            "unexpected token '{n}' at line {a}", "mismatched types: expected {n}, found {m}", "AssertionError: {n} was not called"]


class Log:
    """Lines so far, and those that tell about each failure."""

    def __init__(self, rng):
        self.rng, self.lines, self.failures = rng, [], []

    def add(self, *lines, of=None):
        for line in lines:
            if of is not None:
                self.failures[of].append(len(self.lines))
            self.lines.append(line)

    def name(self):
        return f"{self.rng.choice(NOUNS)}_{self.rng.choice(VERBS)}_{self.rng.choice(EXTRA).replace(' ', '_')}"

    def message(self):
        return self.rng.choice(MESSAGES).format(a=self.rng.randrange(900), b=self.rng.randrange(900), n=self.rng.choice(NOUNS), m=self.rng.choice(NOUNS))

    def plan(self):
        """(name, whether it fails) for every step, and how many steps there are."""
        steps, failing = self.rng.choice((40, 90, 200, 320)), self.rng.choice((1, 1, 1, 2, 3))
        fail = set(self.rng.sample(range(steps), failing))
        self.failures = [[] for _ in fail]
        return [(self.name(), i in fail) for i in range(steps)]


def pytest(log):
    failed = []
    for i, (name, fails) in enumerate(log.plan()):
        file = f"tests/test_{name.split('_')[0]}.py"
        log.add(f"{file}::test_{name} {'FAILED' if fails else 'PASSED'} [{i % 100:3d}%]", of=len(failed) if fails else None)
        if fails:
            failed.append((file, name, log.message()))
    log.add("", "=================================== FAILURES ===================================")
    for k, (file, name, message) in enumerate(failed):
        row = log.rng.randrange(10, 300)
        log.add(f"_______________________ test_{name} _______________________", of=k)
        log.add("", f"    def test_{name}(client):", f"        response = client.get('/{name.split('_')[0]}')")
        log.add(f">       assert response.status == {log.rng.randrange(200, 500)}", f"E       {message}", "", f"{file}:{row}: AssertionError", of=k)
    log.add("=========================== short test summary info ============================")
    for k, (file, name, message) in enumerate(failed):
        log.add(f"FAILED {file}::test_{name} - {message}", of=k)
    log.add(f"================= {len(failed)} failed, {log.rng.randrange(30, 400)} passed in {log.rng.random() * 90:.2f}s =================")


def cargo_test(log):
    failed = []
    log.add("   Compiling app v0.1.0 (/app)", "    Finished `test` profile in 12.31s", "     Running unittests src/lib.rs", "")
    for name, fails in log.plan():
        module = name.split("_")[0]
        log.add(f"test {module}::tests::{name} ... {'FAILED' if fails else 'ok'}", of=len(failed) if fails else None)
        if fails:
            failed.append((module, name, log.message()))
    log.add("", "failures:", "")
    for k, (module, name, message) in enumerate(failed):
        log.add(f"---- {module}::tests::{name} stdout ----", f"thread '{module}::tests::{name}' panicked at src/{module}.rs:{log.rng.randrange(900)}:9:", message, of=k)
        log.add("note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace", "")
    log.add("", "failures:", *(f"    {m}::tests::{n}" for m, n, _ in failed), "", f"test result: FAILED. 120 passed; {len(failed)} failed; 0 ignored")


def compiler(log):
    style, k = log.rng.choice(("rustc", "tsc", "gcc")), 0
    for name, fails in log.plan():
        noun, row = name.split("_")[0], log.rng.randrange(1, 900)
        if not fails:
            log.add(log.rng.choice((f"   Compiling {noun}-{log.rng.choice(NOUNS)} v{row % 9}.{row % 31}.{row % 7}", f"[{row}/900] CC src/{noun}/{name}.o",
                                    f"src/{noun}.c:{row}: warning: unused variable '{name}' [-Wunused-variable]", f"building {noun} ... done")))
        elif style == "rustc":
            log.add(f"error[E0{log.rng.randrange(100, 700)}]: {log.message()}", f"  --> src/{noun}.rs:{row}:17", "   |", f"{row} |     let {noun} = {log.rng.choice(NOUNS)}.{name}();", of=k)
            log.add("   |                 ^^^^^^^^ here", "")
        elif style == "tsc":
            log.add(f"src/{noun}.ts({row},5): error TS{log.rng.randrange(2000, 2900)}: {log.message()}", of=k)
        else:
            log.add(f"src/{noun}.c:{row}:12: error: {log.message()}", f"  {row} |   return {name}({log.rng.choice(NOUNS)});", of=k)
        k += fails
    log.add(log.rng.choice(("make: *** [all] Error 2", "error: could not compile `app` due to previous errors", "Build failed.")))


def server(log):
    k, clock = 0, log.rng.randrange(80_000)
    for name, fails in log.plan():
        clock += log.rng.randrange(1, 30)
        at = f"2025-0{clock % 9 + 1}-1{clock % 9} {clock // 3600 % 24:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}"
        noun = name.split("_")[0]
        if fails:
            log.add(f"{at} ERROR {noun}.service - {log.message()}", "Traceback (most recent call last):", f'  File "/app/{noun}.py", line {clock % 700}, in {name}',
                    f"    return self.{log.rng.choice(NOUNS)}.{log.rng.choice(VERBS)}({noun})", log.message(), of=k)
            k += 1
        else:
            log.add(f"{at} {log.rng.choice(('INFO ', 'INFO ', 'DEBUG', 'WARN '))} {noun}.service - {name.replace('_', ' ')} in {clock % 400} ms")


QUESTIONS = {
    pytest: ("test", "assertion"), cargo_test: ("test", "panic"), compiler: ("compile error", "error message"), server: ("error", "exception"),
}
ALL = ("Which {what}s failed, and with what message?", "Why does this fail? Show every {what} with its cause.", "What went wrong in this run, and where?",
       "Show the failing {what}s and the {detail} of each.", "Did anything fail? If so, which {what} and why?")
FIRST = ("Which {what} fails first, and why?", "What is the first {what} that went wrong, and what was the {detail}?", "Show me only the first failure and its {detail}.")
ABSENT = ("Where is the configuration of the {n} {m} read?", "How is a {n} serialised before it is sent to the {m}?", "Which function retries the {n} upload?")


def sample(rng):
    """(lines, question, keep)"""
    kind = rng.choice(list(QUESTIONS))
    log = Log(rng)
    kind(log)
    what, detail = QUESTIONS[kind]
    roll = rng.random()
    if roll < 0.12:
        return log.lines, rng.choice(ABSENT).format(n=rng.choice(NOUNS), m=rng.choice(NOUNS)), []
    if roll < 0.4:
        return log.lines, rng.choice(FIRST).format(what=what, detail=detail), log.failures[0]
    return log.lines, rng.choice(ALL).format(what=what, detail=detail), sorted(i for failure in log.failures for i in failure)
