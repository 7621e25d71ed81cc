"""The arguments that every environment takes: checked on the way in, recorded on the way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from coevo.envs.core.errors import ConfigError
from coevo.envs.core.illegal import DEFAULT, IllegalPolicy, spelled
from coevo.envs.rewards.module import RewardModule
from coevo.envs.rewards.table import reward

RewardSpec = RewardModule | str | Mapping[str, Any]
"""A reward module; its name in the table; or `{"name": ..., argument: value, ...}`."""
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


def checked_modules(given: RewardSpec | Sequence[RewardSpec]) -> tuple[RewardModule, ...]:
    """Make reward modules whose names are all different and free; else raise ConfigError.

    Args:
        given: modules, names or names with arguments; a single one need not be in a list.

    >>> [m.name for m in checked_modules(["format", {"name": "majority", "over": "play"}])]
    ['format', 'majority']
    """
    if isinstance(given, RewardModule | str | Mapping):
        given = [given]
    if not isinstance(given, Sequence):
        raise ConfigError(f"rewards={given!r} must be a list of reward modules or of their names")
    modules = tuple(_module(m) for m in given)
    names = [m.name for m in modules]
    taken = [n for n in names if names.count(n) > 1 or n in ("", "payoff", "illegal")]
    if taken:
        raise ConfigError(f"reward modules {names}: {taken[0]!r} is empty, repeated or reserved")
    return modules


def _module(given: Any) -> RewardModule:
    if isinstance(given, RewardModule):
        return given
    if isinstance(given, str):
        return reward(given)
    if isinstance(given, Mapping) and isinstance(given.get("name"), str):
        params = {str(key): value for key, value in given.items() if key != "name"}
        return reward(given["name"], **params)
    raise ConfigError(
        f"rewards: {given!r} is no RewardModule object, no name, and no mapping with a 'name'"
    )


def recorded(illegal: IllegalPolicy, max_cycles: int | None) -> dict[str, Any]:
    """Give the arguments that differ from their defaults, as JSON values that `make` takes back.

    Reward modules may be objects, which have no such form; what they paid is in the episode.

    >>> recorded(IllegalPolicy(), None), recorded(IllegalPolicy(retries=1), 9)
    ({}, {'illegal': {'retries': 1}, 'max_cycles': 9})
    """
    given: dict[str, Any] = {"illegal": spelled(illegal), "max_cycles": max_cycles}
    usual = {"illegal": DEFAULT, "max_cycles": None}
    return {name: value for name, value in given.items() if value != usual[name]}
