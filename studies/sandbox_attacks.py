"""All attacks of the tests on both tiers of the sandbox: verdicts, and the longest time of a kind.

Run it as `python studies/sandbox_attacks.py > attacks.md`.
"""

from __future__ import annotations

import runpy
import tempfile
import time
from collections import Counter
from pathlib import Path

from coevo.envs.programs import tiers
from coevo.envs.programs.sandbox import GRACE, Limits, Sandbox

CORPUS = Path(__file__).parents[1] / "tests" / "envs" / "programs" / "attacks.py"
KINDS = ("ENDLESS", "LARGE", "DEEP", "FILES", "OUT", "INSIDE")
LIMITS = Limits(seconds=0.5)
SECRET = "the-secret-of-the-host"


def row(sandbox: Sandbox, kind: str, sources: list[str], file: Path) -> str:
    """Run the attacks of a kind; return a line of the table."""
    verdicts: Counter[str] = Counter()
    longest, seen = 0.0, 0
    for source in sources:
        body = "".join(f"    {line}\n" for line in source.replace("FILE", str(file)).splitlines())
        with sandbox.open(f"def f():\n{body}", limits=LIMITS) as program:
            program.call("None")
            begun = time.monotonic()  # starting a process is no part of the limit
            found = program.call("f()")
            longest = max(longest, time.monotonic() - begun)
        verdicts[found.verdict] += 1
        seen += SECRET in repr(found)
    counts = ", ".join(f"{name} {count}" for name, count in verdicts.most_common())
    return (
        f"| {sandbox.name} | {kind.lower()} | {len(sources)} | {counts} | {longest:.2f} | {seen} |"
    )


def main() -> None:
    """Print the table."""
    corpus = runpy.run_path(str(CORPUS))
    print(f"Limit {LIMITS.seconds} s, grace {GRACE} s.\n")  # noqa: T201
    print("| sandbox | attacks | count | verdicts | longest, s | secrets seen |")  # noqa: T201
    print("|---|---|---|---|---|---|")  # noqa: T201
    for sandbox in filter(None, (tiers.interpreter(), tiers.language())):
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "secret.txt"
                file.write_text(SECRET, encoding="utf-8")
                line = row(sandbox, kind, corpus[kind], file)
                changed = file.read_text("utf-8") != SECRET or len(list(file.parent.iterdir())) > 1
                print(f"{line}{' CHANGED' * changed}")  # noqa: T201


if __name__ == "__main__":
    main()
