"""Claims: the property that an algorithm's source states, shown at a small scale.

A claim is a record (`Claim`) in a file of `claims/`, which has its name. It holds its reference
figures, closed forms or those of a numpy script in `studies/`, which imports nothing of ours, and
the bounds that cut the property from its absence. `coevo.trainers.loop` trains the arms; where
`on` is "formula", estimators and losses are those of `coevo.trainers`, but nothing plays.
"""

import functools
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

from coevo.benchmarks.reproductions import claims
from coevo.benchmarks.reproductions.claim import Claim

__all__ = ["NAMES", "Claim", "claim"]

NAMES = tuple(sorted(module.name for module in iter_modules(claims.__path__)))


@functools.lru_cache(maxsize=64)
def claim(name: str) -> Claim:
    """Return the claim of a name, which is that of its file."""
    found: Claim = import_module(f"{claims.__name__}.{name}").CLAIM
    return replace(found, name=name)
