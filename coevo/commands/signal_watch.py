"""A run in which nothing is learnt: notices it, and says what to change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from coevo.trainers.config import TrainConfig

STREAK = 3
"""Updates without a signal after which it is said; at once where no reply was read."""
UNREAD = 0.99
"""Share of forfeits, or of unread replies of every seat, that counts as all."""


class SignalWatch:
    """Watches the updates of a run for a signal to learn from.

    Args:
        config: of the run.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config, self._streak, self._said = config, 0, False

    def warning(self, metrics: Mapping[str, Any]) -> str:
        """Return what to say after an update; empty where it learnt something, or all is said."""
        if "signal" not in metrics:
            return ""
        self._streak = 0 if metrics["signal"] else self._streak + 1
        due = self._streak and (self._streak >= STREAK or unread(metrics))
        if not due or self._said:
            return ""
        self._said = True
        updates = "the first update" if self._streak == 1 else f"{self._streak} updates in a row"
        return f"nothing was learnt in {updates}: {why(metrics)}; {advice(metrics, self.config)}"


def conclusion(lines: Iterable[Mapping[str, Any]], config: TrainConfig) -> dict[str, Any]:
    """Return what the summary of a run says about its signal.

    Args:
        lines: metrics of all updates.
        config: of the run.
    """
    known = [line for line in lines if "signal" in line]
    without = [line for line in known if not line["signal"]]
    found: dict[str, Any] = {"updates_without_signal": len(without)}
    if known and len(without) == len(known):
        last = without[-1]
        found["nothing_learnt"] = f"{why(last)}; {advice(last, config)}"
    return found


def unread(metrics: Mapping[str, Any]) -> bool:
    """Return whether no reply of an update could be played.

    >>> unread({"forfeit_rate": 1.0}), unread({"forfeit_rate": 0.5, "parse_fail/player_0": 0.2})
    (True, False)
    """
    seats = [v for name, v in metrics.items() if re.fullmatch(r"parse_fail/.*_\d+", name)]
    return metrics.get("forfeit_rate", 0.0) >= UNREAD or (bool(seats) and min(seats) >= UNREAD)


def why(metrics: Mapping[str, Any]) -> str:
    """Return why an update had nothing to learn from."""
    if metrics.get("forfeit_rate", 0.0) >= UNREAD:
        return "all episodes were forfeited, so that every advantage is 0"
    if unread(metrics):
        return "no reply could be read, so that every advantage is 0"
    if metrics.get("stop/error", 0.0) >= UNREAD:
        return "no episode could be finished"
    return "episodes that are compared earned the same, so that every advantage is 0"


def advice(metrics: Mapping[str, Any], config: TrainConfig) -> str:
    """Return what to change in a run without a signal, as options of `coevo train`."""
    if unread(metrics):
        return " or ".join(_readable(config))
    given = config.algorithm.collect
    size = "group_size" if given.group_size > 1 else "episodes"
    return (
        f"play more episodes (--set collect.{size}={2 * getattr(given, size)}), raise "
        f"--temperature above {config.sampling.temperature:g}, or choose tasks that are neither "
        "always won nor always lost"
    )


def _readable(config: TrainConfig) -> list[str]:
    """Return the ways to replies that can be read."""
    taught = f"coevo imitate --model {config.model} --env {next(iter(config.environments))}"
    guided = ["let it say legal moves alone (--set sampling.guided=choice, where moves are listed)"]
    free = config.sampling.guided == "none"
    return [*(guided if free else ()), f"teach the form of replies first ({taught})"]
