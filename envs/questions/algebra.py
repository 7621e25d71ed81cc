"""Compares mathematical answers by math-verify, in a process of its own.

    python -P -m coevo.envs.questions.algebra

reads one JSON list `[gold, answer]` per line and writes `true` or `false` for each. Alone in its
process, math-verify may use the alarm signal for its time limit, and a comparison that eats all
memory takes nobody with it. `coevo.envs.questions.mathematics` starts it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import sys

SECONDS = 5
"""For one step of reading or comparing."""
MEMORY = 4 * 2**30
"""Bytes of address space."""

_UNIT = re.compile(r"\s*([-+]?[\d.,]{1,40})\s+[A-Za-z]{2}[A-Za-z ]*(?:\^\d)?\s*")


def equal(gold: str, answer: str) -> bool:
    """Return whether an answer in LaTeX has the value of the gold one.

    math-verify finds answers in running text: `(3, 4)` without dollar signs would be a 4. So it
    is given LaTeX alone; words are understood only as the unit of a number.
    """
    from math_verify import parse, verify

    unit = _UNIT.fullmatch(answer)
    texts = [answer] if unit is None else [answer, unit[1]]
    right = parse(f"${gold}$", parsing_timeout=SECONDS)
    return any(
        verify(right, parse(f"${text}$", parsing_timeout=SECONDS), timeout_seconds=SECONDS)
        for text in texts
    )


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # not everywhere
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _warm_up() -> None:
    """Import all that is imported when first used: that takes seconds, and is not on the clock."""
    from math_verify import parse, verify

    one, other = (parse(text, parsing_timeout=None) for text in ("$x+1$", r"$\frac{1}{2}$"))
    verify(one, other, timeout_seconds=None)


def _serve() -> None:
    """Answer line by line until the other end closes."""
    logging.disable(logging.CRITICAL)
    out, sys.stdout = sys.stdout, sys.stderr  # no other process may write into the answers
    _warm_up()
    for line in sys.stdin:
        gold, answer = json.loads(line)
        try:
            found = equal(gold, answer)
        except (Exception, RecursionError, MemoryError):  # what SymPy raises has no common base
            found = False
        out.write(json.dumps(found) + "\n")
        out.flush()


if __name__ == "__main__":
    _limit_memory()
    _serve()
