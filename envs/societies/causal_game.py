"""A sequential causal game: who acts as it is inclined, who sets its action, who looks first.

Agents        leader_0, follower_0
Observation   chat: causes, what each inclines to, payoffs; the follower sees the commitment
              and its action, and its own inclination once it has looked; no seat sees the cause
Action        leader: text ending in a commitment, [observe], [do A] or [see A>B B>A]; follower: in
              [observe], [do Y] or [see], and after that in an action, [Y]
Reward        what the cause and both actions pay, at the end
Ends          after the follower's action
Options       drawn: a new game of this size for every episode; causes and actions of drawn games;
              confounded: whether their payoffs depend on the cause
References    mean payoff of both seats by default: random 27/28 (exact), both best by backward
              induction 2; the leader gets 3 there, and 2 if no seat can see or follow inclinations

A cause gives every seat an inclination, an action that the seat would take by itself, and enters
the payoffs. The three levels are those of Pearl's hierarchy: `observe` takes the inclination as it
comes; `do` sets an action without seeing it; `see` sees it and then decides. A policy is thus a map
from inclinations to actions: the identity, a constant, or any. After Sequential Causal Normal Form
Games (Thumm 2025, arXiv 2511.06934), of which the abstract was read: what a level lets a seat see
and do is ours. Experts commit and reply best by backward induction over the whole tree (`solve`),
ties in favour of the leader; `normal_form` writes the game as a matrix, for commitment.py.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.matrices import MatrixGame, game_of_payoffs
from coevo.envs.societies.society import Society, listed

LEADER, FOLLOWER = "leader_0", "follower_0"
OBSERVE, DO, SEE = "observe", "do", "see"
LEVELS = (OBSERVE, DO, SEE)
EQUAL = 1e-9


class CausalGame(NamedTuple):
    """A hidden cause, what it inclines seats to, and payoffs."""

    odds_U: NDArray[np.float64]
    """Probability of every cause."""
    leans_US: NDArray[np.int64]
    """The action that every seat is inclined to."""
    payoffs_UXYS: NDArray[np.float64]
    """What the leader's action x and the follower's y pay both."""

    @property
    def names(self) -> tuple[list[str], list[str]]:
        """The actions of both seats, from both ends of the alphabet."""
        _, lead, follow, _ = self.payoffs_UXYS.shape
        return list(string.ascii_uppercase[:lead]), list(string.ascii_uppercase[-follow:])


class Policy(NamedTuple):
    """A seat's level, and its action at every inclination."""

    level: str
    action_of: tuple[int, ...]
    """Inclination -> action."""


class Solution(NamedTuple):
    """What the leader commits to, and what both expect."""

    policy: Policy
    leader: float
    follower: float


COORDINATION = CausalGame(
    np.array([0.5, 0.5]),
    np.array([[0, 1], [1, 0]]),
    np.array([[[[3, 1], [0, 0]], [[0, 0], [1, 3]]], [[[1, 3], [0, 0]], [[0, 0], [3, 1]]]], float),
)
"""Both want the same letter's side, each another one, and the cause turns that round; the leader is
inclined to its own favourite, the follower to its own."""


@config
class CausalGameConfig:
    drawn: Annotated[bool, Field(strict=True)] = False
    """Whether every episode has a game of its own."""
    causes: Annotated[int, whole(2, 4)] = 2
    """Causes of drawn games, equally likely."""
    actions: Annotated[int, whole(2, 3)] = 2
    """Actions of each seat in drawn games."""
    confounded: Annotated[bool, Field(strict=True)] = True
    """Whether payoffs of drawn games depend on the cause."""


class CausalGameTask(Society[CausalGameConfig]):
    env_id = "coevo/causal_game-v0"
    config_class = CausalGameConfig
    seats = (LEADER, FOLLOWER)

    def __init__(self, config: CausalGameConfig) -> None:
        super().__init__(config)
        self.payoff_range = (0.0, 9.0 if config.drawn else 3.0)
        self.game = COORDINATION

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        c = self.config
        if c.drawn:
            self.game = drawn(rng, c.causes, c.actions, c.confounded)
        self.cause = int(rng.choice(len(self.game.odds_U), p=self.game.odds_U))
        self.committed: Policy | None = None
        self.moves: list[str] = []
        lead, follow = self.game.names
        lean = int(self.game.leans_US[self.cause, 1])

        policy_of = {_worded(policy, lead): policy for policy in policies(len(lead))}
        move = yield One(LEADER, phase="commit", moves=list(policy_of))
        self.moves.append(move)
        self.committed = policy_of[move]

        levels = [OBSERVE, *(f"{DO} {name}" for name in follow), SEE]
        move = yield One(FOLLOWER, phase="reply", moves=levels)
        self.moves.append(move)
        if move == SEE:
            move = yield One(FOLLOWER, phase="act", moves=follow)
            self.moves.append(move)
        reply = lean if move == OBSERVE else follow.index(move.removeprefix(f"{DO} "))
        paid = self.game.payoffs_UXYS[self.cause, self.action, reply]
        yield Pay(dict(zip(self.seats, paid, strict=True)))

    @property
    def looked(self) -> bool:
        """Whether the follower has seen its inclination."""
        return self.moves[1:2] == [SEE]

    @property
    def action(self) -> int:
        """What the leader's commitment came to."""
        assert self.committed is not None  # read only after the commitment
        return self.committed.action_of[self.game.leans_US[self.cause, 0]]

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the best commitment or the best reply, mostly."""
        moves = self.moves_of(seat)
        lead, follow = self.game.names
        if self.committed is None:
            best = _worded(solve(self.game).policy, lead)
            return mostly(moves, {best: 1.0}, skill)
        reply = best_reply(self.game, weights(self.game, self.committed, self.action), self.action)
        if self.looked:
            lean = int(self.game.leans_US[self.cause, 1])
            return mostly(moves, {follow[reply.action_of[lean]]: 1.0}, skill)
        best = SEE if reply.level == SEE else _worded(reply, follow)
        return mostly(moves, {best: 1.0}, skill)

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw the cause among those that agree with what the seat knows."""
        leans, odds = self.game.leans_US, self.game.odds_U.copy()
        if self.committed is not None:
            acted = [self.committed.action_of[lead] == self.action for lead in leans[:, 0]]
            seen = leans[:, 1] == leans[self.cause, 1] if self.looked else True
            odds = odds * acted * seen
        self.cause = int(rng.choice(len(odds), p=odds / odds.sum()))
        return True

    def info(self, seat: str) -> dict[str, Any]:
        lead, follow = self.game.names
        found = {
            **super().info(seat),
            "odds": self.game.odds_U.tolist(),
            "inclinations": self.game.leans_US.tolist(),
            "payoffs": self.game.payoffs_UXYS.tolist(),
        }
        if self.committed is not None:
            found |= {"committed": self.moves[0], "action": lead[self.action]}
        if self.looked and seat == FOLLOWER:
            found["inclination"] = follow[self.game.leans_US[self.cause, 1]]
        return found

    def outcome(self) -> dict[str, float]:
        """Return the leader's payoff, its value by backward induction, and who acted how."""
        if self.to_move():
            return {}
        levels = {
            f"{seat}/{level}": float(move.split()[0] == level)
            for seat, move in zip(("leader", "follower"), self.moves[:2], strict=True)
            for level in (OBSERVE, DO, SEE)
        }
        return {"leader": self.earned[LEADER], "value": solve(self.game).leader, **levels}

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        me = self.seats.index(seat)
        role, other = ("leader", "follower") if me == 0 else ("follower", "leader")
        lead, follow = self.game.names
        table = [
            f"Cause {u + 1} (chance {odds:.4g}): the leader is inclined to {lead[first]}, the "
            f"follower to {follow[second]}. "
            + "; ".join(
                f"{x} and {y}: you get {cell[me]:g}, the {other} {cell[1 - me]:g}"
                for x, row in zip(lead, self.game.payoffs_UXYS[u], strict=True)
                for y, cell in zip(follow, row, strict=True)
            )
            + "."
            for u, (odds, (first, second)) in enumerate(
                zip(self.game.odds_U, self.game.leans_US, strict=True)
            )
        ]
        return "\n".join(
            [
                f"You are {seat}, the {role}. One of these causes is drawn, and nobody sees which:",
                *table,
                f"The leader takes one of {', '.join(lead)}, then the follower one of "
                f"{', '.join(follow)}. There are three ways to act: observe, which is to do what "
                "the cause inclines you to, unseen; do, which is to set the action without seeing "
                "the inclination; see, which is to see it and then decide. The leader commits to "
                "one of them, and for see to what it does at every inclination; the follower is "
                "told the commitment and the action that came of it. Your goal is to get as many "
                "points as you can.",
            ]
        )

    def situation(self, seat: str) -> str:
        moves = f"Legal moves: {listed(self.moves_of(seat), 30)}"
        if seat == LEADER:
            return f"What do you commit to? {moves}"
        told = f"The leader committed to: {self.moves[0]}. It took {self._taken()}."
        if self.looked:
            return f"You are inclined to {self._inclined()}. What do you do? {moves}"
        return f"{told} How do you act? {moves}"

    def _taken(self) -> str:
        return self.game.names[0][self.action]

    def _inclined(self) -> str:
        return self.game.names[1][self.game.leans_US[self.cause, 1]]

    def terse(self, seat: str) -> str:
        lead, follow = self.game.names
        causes = " ".join(
            f"{lead[first]}{follow[second]}: "
            + " ".join(f"{cell[0]:g},{cell[1]:g}" for row in payoffs for cell in row)
            + "."
            for (first, second), payoffs in zip(
                self.game.leans_US, self.game.payoffs_UXYS, strict=True
            )
        )
        pairs = " ".join(x + y for x in lead for y in follow)
        head = f"Leans: {pairs}. {causes}"
        moves = self.moves_of(seat)
        if seat == LEADER:
            return f"{head} Lead: {listed(moves, 5)}"
        lean = f" You lean to {self._inclined()}." if self.looked else ""
        shown = " ".join(map(answer, moves))
        return f"{head} Leader {self.moves[0]}: {self._taken()}.{lean} {shown}"

    def draw(self) -> str:
        return "\n".join([f"cause {self.cause + 1}", *self.moves])


def policies(actions: int, levels: Sequence[str] = LEVELS) -> list[Policy]:
    """Return every way to act at some levels, lower levels first.

    >>> [p.action_of for p in policies(2, ("observe", "do"))]
    [(0, 1), (0, 0), (1, 1)]
    >>> len(policies(2))
    7
    """
    every = {
        OBSERVE: [tuple(range(actions))],
        DO: [(a,) * actions for a in range(actions)],
        SEE: list(itertools.product(range(actions), repeat=actions)),
    }
    return [Policy(level, one) for level in LEVELS if level in levels for one in every[level]]


def expected(
    game: CausalGame, weight_U: NDArray[np.float64], action: int, reply: Policy
) -> NDArray[np.float64]:
    """Return what both expect, [2], where causes have some weights and the follower replies."""
    replies_U = np.array(reply.action_of)[game.leans_US[:, 1]]
    paid_US = game.payoffs_UXYS[np.arange(len(weight_U)), action, replies_U]
    found: NDArray[np.float64] = weight_U @ paid_US
    return found


def weights(game: CausalGame, policy: Policy, action: int) -> NDArray[np.float64]:
    """Return the joint probability of every cause with an action that came of a policy."""
    acts_U = np.array(policy.action_of)[game.leans_US[:, 0]]
    found: NDArray[np.float64] = game.odds_U * (acts_U == action)
    return found


def best_reply(
    game: CausalGame,
    weight_U: NDArray[np.float64],
    action: int,
    levels: Sequence[str] = LEVELS,
) -> Policy:
    """Return the follower's best way to act; ties favour the leader, and then the lower level."""
    options = policies(game.payoffs_UXYS.shape[2], levels)
    worth = np.array([expected(game, weight_U, action, p) for p in options])
    best = np.flatnonzero(worth[:, 1] >= worth[:, 1].max() - EQUAL)
    return options[best[np.flatnonzero(worth[best, 0] >= worth[best, 0].max() - EQUAL)[0]]]


def value_of(
    game: CausalGame, policy: Policy, levels: Sequence[str] = LEVELS
) -> NDArray[np.float64]:
    """Return what both expect of a commitment, [2], where the follower replies best."""
    total = np.zeros(2)
    for action in sorted(set(policy.action_of)):
        weight_U = weights(game, policy, action)
        reply = best_reply(game, weight_U, action, levels)
        total = total + expected(game, weight_U, action, reply)
    return total


def solve(
    game: CausalGame,
    levels: Sequence[str] = LEVELS,
    replies: Sequence[str] = LEVELS,
) -> Solution:
    """Return the commitment that is best by backward induction; of equals the lowest level."""
    found = []
    for policy in policies(game.payoffs_UXYS.shape[1], levels):
        leader, follower = value_of(game, policy, replies)
        found.append(Solution(policy, float(leader), float(follower)))
    top = max(one.leader for one in found)
    return next(one for one in found if one.leader >= top - EQUAL)


def normal_form(game: CausalGame) -> MatrixGame:
    """Return the matrix of the leader's maps and the follower's plans, one map for every action."""
    _, lead, follow, _ = game.payoffs_UXYS.shape
    maps = list(itertools.product(range(lead), repeat=lead))
    plans = list(itertools.product(itertools.product(range(follow), repeat=follow), repeat=lead))
    payoffs = np.zeros((len(maps), len(plans), 2))
    for u, odds in enumerate(game.odds_U):
        first, second = game.leans_US[u]
        for i, acts in enumerate(maps):
            for j, plan in enumerate(plans):
                x = acts[first]
                payoffs[i, j] += odds * game.payoffs_UXYS[u, x, plan[x][second]]
    return game_of_payoffs(payoffs)


def blind(game: CausalGame) -> MatrixGame:
    """Return the classical game of actions alone: payoffs are means over causes."""
    return game_of_payoffs(np.tensordot(game.odds_U, game.payoffs_UXYS, axes=1))


def drawn(
    rng: np.random.Generator, causes: int = 2, actions: int = 2, confounded: bool = True
) -> CausalGame:
    """Return a random game: payoffs 0 to 9, causes equally likely, inclinations drawn."""
    payoffs = rng.integers(0, 10, (causes, actions, actions, 2)).astype(float)
    if not confounded:
        payoffs[:] = payoffs[0]
    leans = rng.integers(0, actions, (causes, 2))
    return CausalGame(np.full(causes, 1 / causes), leans, payoffs)


def _worded(policy: Policy, names: Sequence[str]) -> str:
    """Return a policy as a move."""
    if policy.level == OBSERVE:
        return OBSERVE
    if policy.level == DO:
        return f"{DO} {names[policy.action_of[0]]}"
    pairs = zip(names, policy.action_of, strict=True)
    return f"{SEE} " + " ".join(f"{name}>{names[action]}" for name, action in pairs)


raw_env, env = turn_based(CausalGameTask)
