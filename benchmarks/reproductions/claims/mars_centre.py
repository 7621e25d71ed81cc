"""Roles with different prospects: a centre per role removes the role's value from the advantage."""

from collections.abc import Iterator
from functools import cache

import pyspiel
import torch

from coevo.benchmarks.reproductions.claim import Claim, Expect, Once, near
from coevo.benchmarks.reproductions.tabular import credited, padded
from coevo.envs.games.openspiel import load_game
from coevo.trainers import components as c

EQUALLY_LIKELY = 48
VALUE = 1 / 8
"""What the first of two uniformly random players earns."""
PLAYER_0 = [[0.1, 0.0, 1.0], [0.1, -1.0]]
PLAYER_1 = [[0.0, -1.0], [0.1, 1.0]]


POOLED, OWN = (
    {"credit": c.ToGo(), "baseline": baseline, "normalise": c.NoNormalisation()}
    for baseline in (c.BatchMean(), c.AgentMean())
)


def _vector(seed: int) -> dict[str, float]:
    """Return advantages of turns under a centre per player."""
    reward_BTK, mask_BT = padded(PLAYER_0 + PLAYER_1)
    a_BT = credited(OWN, reward_BTK, mask_BT=mask_BT, agent=torch.tensor([0, 0, 1, 1]))
    at = {"first_0": (0, 0), "last_0": (1, 1), "first_1": (2, 0), "last_1": (3, 1)}
    return {name: float(a_BT[place]) for name, place in at.items()}


def _kuhn(seed: int) -> dict[str, float]:
    """Return the first player's mean payoff, and mean advantages of roles; a turn is one token."""
    trajectories, payoff = _trajectories()
    reward_BTK, mask_BT = padded([rewards for _, rewards in trajectories])
    seat_B, found = torch.tensor([seat for seat, _ in trajectories]), {"payoff": payoff}
    for name, spec in (("pooled", POOLED), ("own", OWN)):
        a_BT = credited(spec, reward_BTK, mask_BT=mask_BT, agent=seat_B)
        for k in range(2):
            found[f"{name}_{k}"] = float(a_BT[seat_B == k][mask_BT[seat_B == k]].mean())
    return found


@cache
def _trajectories() -> tuple[list[tuple[int, list[float]]], float]:
    """Return seat and turn rewards of every trajectory, and the first player's mean payoff."""
    trajectories: list[tuple[int, list[float]]] = []
    payoff = 0.0
    for movers, returns, probability in _walk(load_game("kuhn_poker").new_initial_state(), [], 1.0):
        payoff += probability * returns[0]
        for _ in range(round(probability * EQUALLY_LIKELY)):
            for seat in range(2):
                rewards = [0.0] * (movers.count(seat) - 1) + [returns[seat]]
                trajectories.append((seat, rewards))  # the game pays once, at its end
    return trajectories, payoff


def _walk(
    state: pyspiel.State, movers: list[int], probability: float
) -> Iterator[tuple[list[int], list[float], float]]:
    """Return who moved, the returns and the probability of every end of the game."""
    if state.is_terminal():
        yield movers, state.returns(), probability
        return
    chance = state.is_chance_node()
    actions = state.legal_actions()
    for action in actions:  # Kuhn's deals are uniform, and so are the players
        after = [] if chance else [state.current_player()]
        yield from _walk(state.child(action), movers + after, probability / len(actions))


CLAIM = Claim(
    property="""With a centre per role the mean advantage of either role is 0; with one centre for
        both it carries the value of the role.""",
    source="""Yuan et al. 2025, MARS, arXiv 2510.15414 (agent-specific advantage estimation: sum
        over turns first, then a mean per role); 1/8 and the other references are exact, derived
        here""",
    minutes=0.01,
    on="formula",
    setting="""Kuhn poker by two uniformly random players: every episode of the game, as often as it
        comes up among 48 equally likely ones; a trajectory per seat, returns over turns. The first
        player earns 1/8 on average, the second -1/8. And four turns whose means are worked out by
        hand.""",
    theory="""Returns to go of player 0 are 1.1, 1, 1, -0.9, -1 with mean 0.24, those of player 1
        are -1, -1, 1.1, 1 with mean 0.025: 1.1 - 0.24, -1 - 0.24, -1 - 0.025, 1 - 0.025.""",
    measured="""Mean advantage of either role with one centre for both and with a centre per role,
        exact.""",
    chosen="Nothing.",
    arms={"vector": Once(_vector), "kuhn": Once(_kuhn)},
    expect=(
        near("A of player 0, first turn", "vector.first_0", 0.86, 1e-4),
        near("A of player 0, last turn", "vector.last_0", -1.24, 1e-4),
        near("A of player 1, first turn", "vector.first_1", -1.025, 1e-4),
        near("A of player 1, last turn", "vector.last_1", 0.975, 1e-4),
        near("Kuhn: payoff of the first player", "kuhn.payoff", VALUE, 1e-9),
        Expect("Kuhn: mean A of the first player, one centre", "kuhn.pooled_0", low=0.02),
        Expect("Kuhn: mean A of the second player, one centre", "kuhn.pooled_1", high=-0.02),
        near("Kuhn: mean A of the first player, centre per role", "kuhn.own_0", 0.0, 1e-9),
        near("Kuhn: mean A of the second player, centre per role", "kuhn.own_1", 0.0, 1e-9),
    ),
)
