"""Applies modules to a reply or to finished episodes, and checks the rewards that they give."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import DataError
from coevo.envs.core.rewards import RewardModule, Rewards, ScoreContext


def apply_turn(modules: Sequence[RewardModule], episode: Episode, turn: Turn) -> list[Rewards]:
    """Write into the episode how the per-turn modules reward the latest reply.

    Returns:
        what fell to earlier replies; what fell to this one stands in its own rewards.
    """
    earlier: list[Rewards] = []
    for module in modules:
        if not module.per_turn:
            continue
        turn.pay(module.component, _checked(module, module.score_turn(episode, turn), episode))
        turn.versions[module.component] = module.version
        for at, rewards in module.score_earlier(episode, turn).items():
            if not 0 <= at < len(episode.turns) - 1:
                raise DataError(
                    f"{_name(module)} rewards an earlier reply number {at}; this is number "
                    f"{len(episode.turns) - 1}"
                )
            episode.turns[at].pay(module.component, _checked(module, rewards, episode))
            earlier.append(rewards)
    return earlier


def apply_batch(
    modules: Sequence[RewardModule],
    episodes: Sequence[Episode],
    context: ScoreContext | None = None,
) -> list[Rewards]:
    """Write into finished episodes how modules reward them, all scored at once.

    Returns:
        every reward that was given.
    """
    given: list[Rewards] = []
    for module in modules:
        scores = module.score(episodes, context or ScoreContext())
        tables = scores.table
        if [len(table) for table in tables] != [len(e.turns) for e in episodes]:
            raise DataError(
                f"{_name(module)} scored {[len(t) for t in tables]} replies of episodes of "
                f"{[len(e.turns) for e in episodes]}; expected one entry for each reply"
            )
        for episode, table in zip(episodes, tables, strict=True):
            for turn, rewards in zip(episode.turns, table, strict=True):
                turn.pay(module.component, _checked(module, rewards, episode))
                turn.versions[module.component] = scores.version
                given.append(rewards)
        for (at, number, agent), reason in scores.invalid.items():
            missing = episodes[at].turns[number].invalid.setdefault(module.component, {})
            missing[agent] = reason
    return given


def _checked(module: RewardModule, rewards: Rewards, episode: Episode) -> Rewards:
    """Return rewards of agents of this episode in finite numbers; else raise DataError."""
    for agent, reward in rewards.items():
        if agent not in episode.agents:
            agents = ", ".join(episode.agents)
            raise DataError(f"{_name(module)} rewards {agent!r}; the agents are {agents}")
        if not isinstance(reward, int | float) and not hasattr(reward, "__float__"):
            raise DataError(f"{_name(module)} gives {reward!r}, which is no number")
        if not isfinite(float(reward)):
            raise DataError(f"{_name(module)} gives {reward}; rewards must be finite")
    return rewards


def _name(module: RewardModule) -> str:
    return f"reward {module.component!r}"
