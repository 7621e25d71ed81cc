"""The rules' payoff once more: scaled, or as the others and the whole team see it."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Annotated, Literal

from coevo.envs.core.config import config, real
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.rewards import RewardModule, Rewards

Share = Literal["own", "others", "team", "sum"]


def shared(payoff: Mapping[str, float], share: Share) -> Rewards:
    """Return what every agent gets of a joint payoff R.

    own: R_i; others: mean of R_j over j != i; team: mean of R_j over all j; sum: sum of R_j.

    >>> shared({"a": 3.0, "b": 0.0, "c": 0.0}, "others")
    {'a': 0.0, 'b': 1.5, 'c': 1.5}
    """
    total, agents = sum(payoff.values()), len(payoff)
    if share == "own":
        return dict(payoff)
    if share == "others":
        return {a: (total - own) / (agents - 1) if agents > 1 else 0.0 for a, own in payoff.items()}
    return dict.fromkeys(payoff, total / agents if share == "team" else total)


@config
class SharedPayoff(RewardModule):
    """Gives every agent its share of the payoff of the latest reply: scale * shared(R).

    The environment goes on giving `payoff` itself, and this comes on top, as the component
    `payoff_<share>`:
    * `share="others", scale=w` makes prosocial agents, R_i + w * mean_j!=i R_j; a negative w makes
      them spiteful, and w = tan(angle) is social value orientation up to a factor;
    * `share="team"` or `"sum"` makes all seats partners; in a trainer give `payoff` the weight
      0 (`advantage.reward_weights.payoff=0`) to train on the common payoff alone.

    What illegal replies cost is not a payoff of the rules and is not shared. In a zero-sum game
    `team` and `sum` give 0.
    """

    name: Literal["shared_payoff"] = "shared_payoff"
    share: Share = "team"
    scale: Annotated[float, real()] = 1.0

    @property
    def component(self) -> str:
        """`payoff_<share>`: several shares may be given side by side."""
        return f"payoff_{self.share}"

    @property
    def range(self) -> tuple[float, float]:
        """Any: the payoffs of an environment are its own; see `TextEnv.payoff_range`."""
        return (-inf, inf)

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        given = turn.rewards.get("payoff", {})
        if not given:
            return {}
        payoff = {agent: given.get(agent, 0.0) for agent in episode.agents}
        return {a: self.scale * r for a, r in shared(payoff, self.share).items()}
