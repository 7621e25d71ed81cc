"""A price on the way in which a question is answered, where a cheaper way would have done."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from coevo.envs.core.config import config, real
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.rewards import RewardModule, Rewards, Table


@config
class ModeCost(RewardModule):
    """Charges for the mode that a seat's first reply names, where the cheapest one answers too.

    The reward is -c_m if, among all episodes of the task in the batch (equal `Episode.task` of one
    environment), at least `least` of those in the first mode earn a payoff of `right`; else 0. So
    a dear mode is free where the cheap one fails. Source: A2FM (abstract and page); the condition
    and its values are ours.
    """

    name: Literal["mode_cost"] = "mode_cost"
    modes: Annotated[tuple[str, ...], Field(min_length=1)] = ("instant", "reasoning", "agentic")
    """Modes, the cheapest first: a move, or what a reply begins with."""
    costs: tuple[Annotated[float, real(0)], ...] = (0.0, 0.1, 0.3)
    """Cost of each."""
    least: Annotated[float, real(0, 1)] = 0.75
    """Share of the episodes in the first mode that must be right."""
    right: Annotated[float, real()] = 1.0
    """Least payoff of a right answer."""
    per_turn = False

    def __post_init__(self) -> None:
        if len(self.modes) != len(self.costs):
            raise ConfigError(
                f"mode_cost: modes={list(self.modes)} and costs={list(self.costs)} must be equally "
                "many"
            )

    @property
    def range(self) -> tuple[float, float]:
        return (0.0 - max(self.costs), 0.0)

    def table(self, episodes: Sequence[Episode]) -> Table:
        won: dict[Hashable, list[bool]] = {}
        keys = [(e.env, e.task) if e.task else i for i, e in enumerate(episodes)]
        for key, episode in zip(keys, episodes, strict=True):
            for turn in _first(episode):
                if self._mode(turn) == 0:
                    paid = episode.total(turn.agent, "payoff")
                    won.setdefault(key, []).append(paid >= self.right)
        enough = {key for key, found in won.items() if sum(found) >= self.least * len(found)}
        return [self._charge(e, k in enough) for k, e in zip(keys, episodes, strict=True)]

    def _mode(self, turn: Turn) -> int | None:
        said = turn.text.strip().lstrip("[<").lower()
        named = (
            k for k, mode in enumerate(self.modes) if said.startswith(mode.strip("[]<>").lower())
        )
        return next(named, None)

    def _charge(self, episode: Episode, enough: bool) -> list[Rewards]:
        table: list[Rewards] = [{} for _ in episode.turns]
        for turn in _first(episode):
            mode = self._mode(turn)
            cost = 0.0 if mode is None or not enough else self.costs[mode]
            table[episode.turns.index(turn)] = {turn.agent: 0.0 - cost}
        return table


def _first(episode: Episode) -> list[Turn]:
    """Return the first turn of every seat."""
    first: dict[str, Turn] = {}
    for turn in episode.turns:
        first.setdefault(turn.agent, turn)
    return list(first.values())
