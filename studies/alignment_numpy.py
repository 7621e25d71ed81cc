"""Advantage alignment in two repeated games, in tables: the prisoner's dilemma and a split game.

Piche et al. 2025 (arXiv 2511.19405), after Duque et al. 2024 (arXiv 2406.14662): returns to go are
compared with the other plays of the group at the same round and seat, A = G - mean of the others,
and the learner's A1_t becomes A1_t + beta gamma (sum_{k<t} gamma^(t-k) A1_k) A2_t; the controls are
A1 alone (naive) and A1 + A2 (sum of rewards), and one baseline for all plays instead of a group's.
One policy in both seats, uniform at first, ten rounds, 256 plays per update in groups of 8 that
share roles; in half of the groups one seat is one of 30 past selves (kept every 10 updates), which
is not learnt from; policy gradient on the mean over moves, Adam 0.05.

Dilemma  payoffs 3, 0, 5, 1 over 5; it sees the last round. gamma 0.9, beta 0.5, entropy bonus 0.01,
         600 updates.
Split    Each round one seat values a coin at 10, the other at 1. Both claim 0, 5 or 10 of 10 coins,
         cut in proportion beyond 10, payoffs over 50; it sees its role, and the other's last role
         and claim. gamma 0.96, beta 1, no bonus, 400 updates. To give: claim 0 in the low role.
Figures are exact for the policies at the end, payoffs per round.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from over_seeds import show, softmax

ROUNDS, PLAYS, GROUP, LR, KEPT, EVERY = 10, 256, 8, 0.05, 30, 10
DILEMMA = np.array([[3.0, 0.0], [5.0, 1.0]])
"""Own payoff by own and the other's move; 0 cooperates."""
CLAIM, WORTH = np.array([0.0, 5.0, 10.0]), np.array([1.0, 10.0])


@dataclass(frozen=True)
class Game:
    """A repeated game of two seats; arrays end in the axis of seats."""

    split: bool
    gamma: float
    beta: float
    over: float
    bonus: float
    updates: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of roles, of memories of the last round, of moves."""
        return (2, 7, 3) if self.split else (1, 5, 2)

    def pay(self, role: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Return the payoffs of both seats."""
        if not self.split:
            return DILEMMA[arm, arm[..., ::-1]]
        claim = CLAIM[arm]
        return 10 * claim / np.maximum(10, claim.sum(-1, keepdims=True)) * WORTH[role]

    def remember(self, role: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Return what both seats know of this round in the next."""
        other = arm[..., ::-1]
        return 1 + (3 * role[..., ::-1] + other if self.split else 2 * arm + other)


def played(rng: np.random.Generator, game: Game, p: np.ndarray) -> list[np.ndarray]:
    """Play with probabilities [M, 2, C, A]; return contexts, moves and payoffs, each [M, 2, T]."""
    roles, memories, _ = game.shape
    memory, rounds, rows = np.zeros((PLAYS, 2), int), [], np.arange(PLAYS)[:, None]
    for _ in range(ROUNDS):
        first = rng.integers(roles, size=PLAYS // GROUP).repeat(GROUP)
        role = np.stack([first, roles - 1 - first], -1)
        seen = role * memories + memory
        below = rng.random((PLAYS, 2, 1)) > p[rows, [0, 1], seen].cumsum(-1)[..., :-1]
        arm = below.sum(-1)
        rounds.append((seen, arm, game.pay(role, arm)))
        memory = game.remember(role, arm)
    return [np.stack(x, -1) for x in zip(*rounds, strict=True)]


def credit(paid: np.ndarray, game: Game, way: str) -> np.ndarray:
    """Return the advantage of every move, [M, 2, T]."""
    powers = game.gamma ** np.arange(ROUNDS)
    to_go = np.cumsum((paid / game.over * powers)[..., ::-1], -1)[..., ::-1] / powers
    size = PLAYS if way == "one baseline" else GROUP
    groups = to_go.reshape(-1, size, 2, ROUNDS)
    a = (groups - groups.mean(1, keepdims=True)).reshape(to_go.shape) * size / (size - 1)
    if way == "naive":
        return a
    if way == "sum of rewards":
        return a + a[:, ::-1]
    before = (np.cumsum(a / powers, -1) - a / powers) * powers
    return a + game.beta * game.gamma * before * a[:, ::-1]


def seated(
    rng: np.random.Generator, p: np.ndarray, past: list[np.ndarray], step: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the policy of every seat [M, 2, C, A], and whether it is the learner's."""
    table, own = np.broadcast_to(p, (PLAYS, 2, *p.shape)).copy(), np.ones((PLAYS, 2), bool)
    for group in range(PLAYS // GROUP if past else 0):
        if rng.random() < 0.5:
            rows, seat = slice(group * GROUP, (group + 1) * GROUP), 1 - (step + group) % 2
            table[rows, seat], own[rows, seat] = past[rng.integers(len(past))], False
    return table, own


def learnt(rng: np.random.Generator, game: Game, way: str) -> np.ndarray:
    """Return the probabilities of the moves in every context at the end, [C, A]."""
    roles, memories, arms = game.shape
    z = np.zeros((roles * memories, arms))
    past: list[np.ndarray] = []
    first, second = np.zeros_like(z), np.zeros_like(z)
    for step in range(1, game.updates + 1):
        p = softmax(z)
        table, own = seated(rng, p, past, step)
        seen, arm, paid = played(rng, game, table)
        a, at, move = credit(paid, game, way)[own], seen[own], arm[own]
        score = a[..., None] * (np.eye(arms)[move] - p[at])
        entropy = -(p * np.log(p)).sum(1, keepdims=True)
        slope = np.zeros_like(z)
        np.add.at(slope, at, score + (-game.bonus * p * (np.log(p) + entropy))[at])
        slope /= at.size
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        z = z + LR * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        if step % EVERY == 0:
            past = [*past, softmax(z)][-KEPT:]
    return softmax(z)


def payoffs(game: Game, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return both seats' expected payoffs per round."""
    roles, memories, arms = game.shape
    mass, total = np.zeros((memories, memories)), np.zeros(2)
    mass[0, 0] = 1.0
    for _ in range(ROUNDS):
        then = np.zeros_like(mass)
        for first, x, y in product(range(roles), range(arms), range(arms)):
            role, arm = np.array([first, roles - 1 - first]), np.array([x, y])
            own = p[role[0] * memories + np.arange(memories), x]
            other = q[role[1] * memories + np.arange(memories), y]
            weight = mass * own[:, None] * other[None] / roles
            total += weight.sum() * game.pay(role, arm)
            then[tuple(game.remember(role, arm))] += weight.sum()
        mass = then
    return total / ROUNDS


def dilemma(rng: np.random.Generator) -> dict[str, float]:
    """Return payoffs and P(C) of the three ways."""
    game, found = Game(False, gamma=0.9, beta=0.5, over=5.0, bonus=0.01, updates=600), {}
    defect = np.array([[0.0, 1.0]] * 5)
    for way in ("naive", "sum of rewards", "alignment"):
        p = learnt(rng, game, way)
        found[f"dilemma, {way}: payoff"] = float(payoffs(game, p, p)[0])
        found[f"dilemma, {way}: against always-defect"] = float(payoffs(game, p, defect)[0])
        for context, odds in zip(("start", "CC", "CD", "DC", "DD"), p, strict=True):
            found[f"dilemma, {way}: P(C | {context})"] = float(odds[0])
    return found


def split(rng: np.random.Generator) -> dict[str, float]:
    """Return joint payoffs and P(give) of the four ways."""
    game, found = Game(True, gamma=0.96, beta=1.0, over=50.0, bonus=0.0, updates=400), {}
    greedy = np.array([[0.0, 0.0, 1.0]] * 14)
    for way in ("naive", "sum of rewards", "alignment", "one baseline"):
        p = learnt(rng, game, way)
        found[f"split, {way}: joint payoff"] = float(payoffs(game, p, p).sum())
        found[f"split, {way}: against a greedy one"] = float(payoffs(game, p, greedy)[0])
        found[f"split, {way}: P(give | gave)"] = float(p[1, 0])
        found[f"split, {way}: P(give | claimed all)"] = float(p[3, 0])
    return found


if __name__ == "__main__":
    show(lambda rng: dilemma(rng) | split(rng), seeds=5)
