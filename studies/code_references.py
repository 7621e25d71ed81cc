"""Reference solutions of HumanEval and MBPP in both tiers of the sandbox: which pass, in what time.

Run it as `python studies/code_references.py FOLDER`, where FOLDER holds `humaneval` and `mbpp`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from coevo.envs.programs import tiers
from coevo.envs.questions import Question, questions
from coevo.envs.questions.code_grading import graded


def passes(sandbox: object, asked: Question) -> bool:
    """Return whether the reference solution passes in a tier."""
    if sandbox is None or asked.tests is None:
        return False
    return graded(sandbox, asked.answer, asked.answer, asked.tests) == 1  # type: ignore[arg-type]


def main() -> None:
    """Print a table, and the tasks that a tier does not run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    print("| file | tasks | loaded | load, s | first tier | its s | second tier | its s |")  # noqa: T201
    print("|---|---|---|---|---|---|---|---|")  # noqa: T201
    missing = []
    for name in ("humaneval", "mbpp"):
        start = time.monotonic()
        source = questions({"name": name, "path": str(folder / name)})
        cells = [name, len(source) + len(source.skipped), len(source)]  # type: ignore[attr-defined]
        cells.append(f"{time.monotonic() - start:.1f}")
        for sandbox in (tiers.interpreter(), tiers.language()):
            start = time.monotonic()
            asked = [source.item(i) for i in range(len(source))]
            failed = [q.id for q in asked if not passes(sandbox, q)]
            cells += [len(asked) - len(failed), f"{time.monotonic() - start:.1f}"]
            missing.append(
                f"- {name}, {sandbox and sandbox.name}: {', '.join(failed) or 'all run'}"
            )
        print(f"| {' | '.join(map(str, cells))} |", flush=True)  # noqa: T201
        missing += [f"- {name}, left out: {line}" for line in source.skipped]  # type: ignore[attr-defined]
    print("\nTasks that do not pass:\n\n" + "\n".join(missing))  # noqa: T201


if __name__ == "__main__":
    main()
