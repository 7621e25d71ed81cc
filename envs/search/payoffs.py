"""What proposer and solver of a search game are paid (Search Self-Play, arXiv 2510.18821)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.search.actions import MANY_ANSWERS

ProposerReward = Literal["one_minus", "learnability", "format_only"]


def solver_payoff(correct: bool, answer_tags: int = 1) -> float:
    """Pay a solver: 1 if its answer matches, else 0; a quarter with more than ten answer tags.

    >>> solver_payoff(True), solver_payoff(True, answer_tags=11), solver_payoff(False)
    (1.0, 0.25, 0.0)
    """
    return float(correct) * (0.25 if answer_tags > MANY_ANSWERS else 1.0)


def success_share(payoffs: Sequence[float]) -> float:
    """Return the share of solvers that were paid anything; a quarter counts as a success.

    >>> success_share([1.0, 0.25, 0.0, 0.0])
    0.5
    """
    if not payoffs:
        raise ConfigError("no solver has played, so there is no share of successes")
    return sum(p > 0 for p in payoffs) / len(payoffs)


def proposer_payoff(
    success: float | None,
    kind: str = "one_minus",
    *,
    invalid: float = 0.0,
    left: float = 0.0,
    right: float = 1.0,
    edge: float = 0.0,
) -> float:
    """Pay a proposer for its own question.

    one_minus      1 - s
    learnability   4 (left + s) (right - s) for 0 < s < 1, else `edge`: `intermediate_difficulty`
    format_only    1 for every valid question

    Args:
        success: share s of the solvers that succeeded; None for a question that was not accepted.
        kind: one of the three.
        invalid: what a rejected question is paid.
        left: shift of the learnability.
        right: success at which the learnability is 0 again.
        edge: learnability of a question that none or all solve. Below `invalid` the proposer learns
            to be rejected.

    >>> proposer_payoff(0.25), proposer_payoff(0.25, "learnability"), proposer_payoff(None)
    (0.75, 0.75, 0.0)
    """
    if kind not in get_args(ProposerReward):
        raise unknown("proposer_reward", kind, get_args(ProposerReward))
    if success is None:
        return float(invalid)
    if kind == "one_minus":
        return 1.0 - success
    if kind == "format_only":
        return 1.0
    return 4.0 * (left + success) * (right - success) if 0 < success < 1 else float(edge)
