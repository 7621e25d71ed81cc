"""The rules' payoff once more: scaled, or as the others and the whole team see it."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Literal, get_args

from coevo.envs.core.episode import Episode, Turn
from coevo.envs.rewards.arguments import check_number, check_word
from coevo.envs.rewards.module import Payments, RewardModule

Share = Literal["own", "others", "team", "sum"]


def shared(payoff: Mapping[str, float], share: Share) -> Payments:
    """Compute what every seat gets of a joint payoff R.

    own: R_i; others: mean of R_j over j != i; team: mean of R_j over all j; sum: sum of R_j.

    >>> shared({"a": 3.0, "b": 0.0, "c": 0.0}, "others")
    {'a': 0.0, 'b': 1.5, 'c': 1.5}
    """
    total, seats = sum(payoff.values()), len(payoff)
    if share == "own":
        return dict(payoff)
    if share == "others":
        return {a: (total - own) / (seats - 1) if seats > 1 else 0.0 for a, own in payoff.items()}
    return dict.fromkeys(payoff, total / seats if share == "team" else total)


class PayoffReward(RewardModule):
    """Pays every seat its share of the payoff that just fell due: scale * shared(R).

    The environment goes on paying `payoff` itself, and this comes on top, as the component
    `payoff_<share>`:
    * `share="others", scale=w` makes prosocial agents, R_i + w * mean_j!=i R_j; a negative w makes
      them spiteful, and w = tan(angle) is social value orientation up to a factor;
    * `share="team"` or `"sum"` makes partners of everybody; in a trainer give `payoff` the weight
      0 (`advantage.reward_weights.payoff=0`) to train on the common payoff alone.

    What illegal replies cost is not a payoff of the rules and is not shared. In a zero-sum game
    `team` and `sum` pay 0.

    Args:
        share: `own`, `others`, `team` or `sum`; see `shared`.
        scale: factor.
    """

    range = (-inf, inf)
    """The payoffs of an environment are its own; see `TextEnv.payoff_range`."""

    def __init__(self, *, share: Share = "team", scale: float = 1.0) -> None:
        check_word("share", share, get_args(Share))
        self.share: Share = share
        self.scale = check_number("scale", scale)
        self.name = f"payoff_{share}"

    def score_turn(self, episode: Episode, turn: Turn) -> Payments:
        """Pay all seats where the rules paid any."""
        paid = turn.rewards.get("payoff", {})
        if not paid:
            return {}
        payoff = {agent: paid.get(agent, 0.0) for agent in episode.agents}
        return {a: self.scale * r for a, r in shared(payoff, self.share).items()}
