"""A reward that is a program over other rewards; it runs in the sandbox.

    def reward(terms):
        return terms["right"] if terms["short"] > 0 else 0.0

Where a formula is enough, `formula` needs no sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Annotated, Literal

from coevo.envs.core.config import config, real
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.rewards import Reward
from coevo.envs.rewards.compose import OfTerms

LONGEST = 10_000
"""Characters of a source."""
SECONDS = 1.0
"""Of the definition, and of each reward."""


@config
class Written(OfTerms):
    """Gives what a program makes of what other modules give.

    The program defines `reward(terms)`, from a dict (name -> number) to a number. It starts anew
    every time, so that equal terms get equal rewards; it has the `interpreter` tier of the
    sandbox (extra `programs`) and one second. A program that gives no number where all terms
    are 0, or all 1, is refused; where it gives none later, the reward is `failed`.
    """

    name: Literal["written"] = "written"
    source: str
    """Text of the program."""
    terms: Mapping[str, Reward]
    """Name in the program -> the module that it stands for."""
    failed: Annotated[float, real()] = -1.0
    """Reward where the program raises, takes too long or gives no finite number."""
    component: str = "written"

    def __post_init__(self) -> None:
        self._check_parts()
        if len(self.source) > LONGEST:
            raise ConfigError(
                f"the program of a reward has at most {LONGEST} characters, not {len(self.source)}"
            )
        for x in (0.0, 1.0):
            value, why = self._value(dict.fromkeys(self.terms, x))
            if value is None:
                raise ConfigError(
                    "the program of a reward must define reward(terms), which gives a finite "
                    f"number where all of {list(self.terms)} are {x:g}: {why}"
                )

    def paid(self, terms: Mapping[str, float]) -> float:
        value, _ = self._value(terms)
        return self.failed if value is None else value

    def _value(self, terms: Mapping[str, float]) -> tuple[float | None, str]:
        """Return what the program gives; where that is no number, None and why."""
        # the sandbox is loaded where a program runs
        from coevo.envs.programs.sandbox import Limits
        from coevo.envs.programs.tiers import interpreter

        limits = Limits(seconds=SECONDS)
        with interpreter("rewards").open(self.source, limits=limits) as program:
            found = program.call("reward(terms)", terms=dict(terms))
        if not found.ok:
            return None, f"{found.verdict}, {found.detail}"
        return number(found.value), f"it gives {repr(found.value)[:80]}"


def number(value: object) -> float | None:
    """Return a value as a number; None where it is no finite one.

    >>> number(True), number(2), number(float("nan")), number("2")
    (1.0, 2.0, None, None)
    """
    if not isinstance(value, bool | int | float):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:  # a whole number that no float holds
        return None
