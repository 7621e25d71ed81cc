"""The arguments that every environment takes: checked on the way in, recorded on the way out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from coevo.envs.core.errors import ConfigError
from coevo.envs.core.illegal import DEFAULT, IllegalPolicy, spelled
from coevo.envs.rewards.module import RewardModule

PromptStyle = Literal["full", "terse"]
PROMPT_STYLES: tuple[str, ...] = ("full", "terse")


def check_settings(
    prompt_style: str, max_cycles: int | None, render_mode: str | None, modes: Sequence[str]
) -> None:
    """Raise ConfigError for the first argument that makes no sense.

    Args:
        prompt_style: `full` or `terse`.
        max_cycles: rounds; None for no limit.
        render_mode: one of `modes`; None draws nothing.
        modes: ways to draw that the environment offers.
    """
    if prompt_style not in PROMPT_STYLES:
        styles = ", ".join(PROMPT_STYLES)
        raise ConfigError(f"prompt_style={prompt_style!r} must be one of {styles}")
    if max_cycles is not None and max_cycles < 1:
        raise ConfigError(f"max_cycles={max_cycles} must be at least 1, or None for no limit")
    if render_mode not in (None, *modes):
        raise ConfigError(f"render_mode={render_mode!r} must be None or one of {', '.join(modes)}")


def checked_modules(modules: Sequence[RewardModule]) -> tuple[RewardModule, ...]:
    """Give reward modules whose names are all different and free; else raise ConfigError."""
    strange = [m for m in modules if not isinstance(m, RewardModule)]
    if strange:
        raise ConfigError(f"rewards={modules!r}: {strange[0]!r} is not a RewardModule object")
    names = [m.name for m in modules]
    taken = [n for n in names if names.count(n) > 1 or n in ("", "payoff", "illegal")]
    if taken:
        raise ConfigError(f"reward modules {names}: {taken[0]!r} is empty, repeated or reserved")
    return tuple(modules)


def recorded(illegal: IllegalPolicy, max_cycles: int | None) -> dict[str, Any]:
    """Give the arguments that differ from their defaults, as JSON values that `make` takes back.

    Reward modules are objects and have no such form; what they paid is in the episode.

    >>> recorded(IllegalPolicy(), None), recorded(IllegalPolicy(retries=1), 9)
    ({}, {'illegal': {'retries': 1}, 'max_cycles': 9})
    """
    given: dict[str, Any] = {"illegal": spelled(illegal), "max_cycles": max_cycles}
    usual = {"illegal": DEFAULT, "max_cycles": None}
    return {name: value for name, value in given.items() if value != usual[name]}
