"""The two tiers of the sandbox, made when they are first needed."""

from __future__ import annotations

import functools

from coevo.envs.programs import cpython
from coevo.envs.programs.cpython import CpythonSandbox
from coevo.envs.programs.monty import MontySandbox
from coevo.envs.programs.sandbox import Sandbox


@functools.lru_cache(maxsize=8)
def interpreter(use: str = "programs") -> Sandbox:
    """Return the first tier: Monty, in a jail where there is one.

    Each use has processes of its own: what runs for one cannot wait for the other's.

    Raises:
        MissingExtraError: the extra `programs` is not installed.
    """
    return MontySandbox()


@functools.lru_cache(maxsize=8)
def language(use: str = "programs") -> Sandbox | None:
    """Return the second tier: CPython in a jail; None where there is no jail."""
    return None if cpython.why_not() else CpythonSandbox()
