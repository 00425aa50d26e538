"""What was checked, where, and what came of it."""

HEADS = ("package", "place", "what was done", "result")


class Skipped(Exception):
    """It cannot be checked on this machine."""


class Table:
    def __init__(self):
        self.rows = [HEADS]
        self.failed = False

    def row(self, package, place, done, act):
        """Notes what `act` returns, or why it failed."""
        try:
            result = act() or "ok"
        except Skipped as reason:
            result = f"not checked: {reason}"
        except Exception as error:  # whatever is wrong with one package, the others are checked
            self.failed = True
            said = (getattr(error, "stderr", None) or "").strip().splitlines()
            result = f"FAILED: {type(error).__name__}: {' '.join([*str(error).split(), *said[-1:]])}"
        self.rows.append((package, place, done, result))
        print(f"{package}, {place}: {result}", flush=True)

    def show(self):
        widths = [max(len(row[column]) for row in self.rows) for column in range(3)]
        print()
        for row in self.rows:
            print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[3]]))
