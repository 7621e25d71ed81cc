"""Paying: modules applied to a reply or to finished plays, and what they give checked."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import isfinite

from coevo.envs.core.episode import Episode, Stop, Turn
from coevo.envs.core.errors import DataError
from coevo.envs.rewards.module import Payments, RewardModule

_CUT = (Stop.FORFEIT, Stop.ERROR, Stop.UNFINISHED)
"""Endings of plays that may lack what a module looks for."""


class UnpaidWarning(UserWarning):
    """A reward module found nothing to pay for in whole plays; it may not fit the environment."""


def pay_reply(modules: Sequence[RewardModule], episode: Episode, turn: Turn) -> list[Payments]:
    """Let the online modules pay after the latest reply, and write it into the episode.

    Returns:
        what fell to earlier replies; what fell to this one stands in its own rewards.
    """
    earlier: list[Payments] = []
    for module in (m for m in modules if m.online):
        turn.pay(module.name, _checked(module, module.score_turn(episode, turn), episode))
        for at, paid in module.score_earlier(episode, turn).items():
            if not 0 <= at < len(episode.turns) - 1:
                raise DataError(
                    f"reward {module.name!r} pays an earlier reply number {at}; this is number "
                    f"{len(episode.turns) - 1}"
                )
            episode.turns[at].pay(module.name, _checked(module, paid, episode))
            earlier.append(paid)
    return earlier


def pay_plays(modules: Sequence[RewardModule], episodes: Sequence[Episode]) -> list[Payments]:
    """Let modules pay finished plays, all at once, and write it into the episodes.

    Returns:
        everything that they paid.
    """
    given: list[Payments] = []
    for module in modules:
        tables = module.score(episodes)
        if [len(table) for table in tables] != [len(e.turns) for e in episodes]:
            raise DataError(
                f"reward {module.name!r} scored {[len(t) for t in tables]} replies of plays of "
                f"{[len(e.turns) for e in episodes]}; expected one entry for each reply"
            )
        for episode, table in zip(episodes, tables, strict=True):
            for turn, paid in zip(episode.turns, table, strict=True):
                turn.pay(module.name, _checked(module, paid, episode))
                given.append(paid)
    return given


def warn_if_unpaid(modules: Sequence[RewardModule], episodes: Sequence[Episode]) -> None:
    """Say of every module that paid nobody in whole plays what it wants and did not find.

    A reward of 0 is a payment. Plays that were cut short prove nothing, and modules that do not
    say what they want are not judged. Python shows a warning once, and `-W error` stops at it.
    """
    whole = [e for e in episodes if e.stop not in _CUT]
    for module in modules if whole else ():
        if module.wants and not any(t.rewards.get(module.name) for e in whole for t in e.turns):
            played = ", ".join(sorted({e.env for e in whole}))
            warnings.warn(
                f"reward {module.name!r} paid nobody in whole plays of {played}: it wants "
                f"{module.wants}",
                UnpaidWarning,
                stacklevel=3,
            )


def _checked(module: RewardModule, paid: Payments, episode: Episode) -> Payments:
    """Give payments to seats of this play in finite numbers; else raise DataError."""
    for agent, reward in paid.items():
        if agent not in episode.agents:
            seats = ", ".join(episode.agents)
            raise DataError(f"reward {module.name!r} pays {agent!r}; the seats are {seats}")
        if not isinstance(reward, int | float) and not hasattr(reward, "__float__"):
            raise DataError(f"reward {module.name!r} pays {reward!r}, which is no number")
        if not isfinite(float(reward)):
            raise DataError(f"reward {module.name!r} pays {reward}; rewards must be finite")
    return paid
