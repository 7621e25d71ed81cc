"""A sequential causal game: who acts as it is inclined, who sets its action, who looks first.

Agents        leader_0, follower_0
Observation   chat: causes, what each inclines to, payoffs; the follower sees the commitment
              and its action, and its own inclination once it has looked; nobody sees the cause
Action        leader: text ending in a commitment, [observe], [do A] or [see A>B B>A]; follower: in
              [observe], [do Y] or [see], and after that in an action, [Y]
Reward        what the cause and both actions pay, at the end
Ends          after the follower's action
Options       drawn: a new game of this size for every episode; causes and actions of drawn games;
              confounded: whether their payoffs depend on the cause
References    mean payoff of both seats by default: random 27/28 (exact), both best by backward
              induction 2; the leader gets 3 there, and 2 if nobody can see or follow inclinations

The three levels are those of causal_levels.py, after Thumm 2025 (arXiv 2511.06934). Experts commit
and reply best by backward induction over the whole tree, ties in favour of the leader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT, answer
from coevo.envs.core.task import Replies, mostly
from coevo.envs.societies.causal_levels import (
    DO,
    OBSERVE,
    SEE,
    CausalGame,
    Policy,
    best_reply,
    drawn,
    policies,
    solve,
    weights,
)
from coevo.envs.societies.society import Society, listed

LEADER, FOLLOWER = "leader_0", "follower_0"
COORDINATION = CausalGame(
    np.array([0.5, 0.5]),
    np.array([[0, 1], [1, 0]]),
    np.array([[[[3, 1], [0, 0]], [[0, 0], [1, 3]]], [[[1, 3], [0, 0]], [[0, 0], [3, 1]]]], float),
)
"""Both want the same letter's side, each another one, and the cause turns that round; the leader is
inclined to its own favourite, the follower to its own."""


@config
class CausalGameConfig:
    """What a causal game takes."""

    drawn: Annotated[bool, Field(strict=True)] = False
    """Whether every episode has a game of its own."""
    causes: Annotated[int, whole(2, 4)] = 2
    """Causes of drawn games, equally likely."""
    actions: Annotated[int, whole(2, 3)] = 2
    """Actions of each seat in drawn games."""
    confounded: Annotated[bool, Field(strict=True)] = True
    """Whether payoffs of drawn games depend on the cause."""


class CausalGameTask(Society[CausalGameConfig]):
    """Commitment, a hidden cause, and a reply."""

    env_id = "coevo/causal_game-v0"
    config_class = CausalGameConfig
    seats = (LEADER, FOLLOWER)
    round = 0

    def __init__(self, config: CausalGameConfig) -> None:
        super().__init__(config)
        self.payoff_range = (0.0, 9.0 if config.drawn else 3.0)
        self.game = COORDINATION

    # ---- Rules ---------------------------------------------------------------------------------

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        c = self.config
        if c.drawn:
            self.game = drawn(rng, c.causes, c.actions, c.confounded)
        self.cause = int(rng.choice(len(self.game.odds_U), p=self.game.odds_U))
        self.committed: Policy | None = None
        self.moves: list[str] = []
        self.looked, self.over = False, False
        self.paid = (0.0, 0.0)

    @property
    def phase(self) -> str:  # type: ignore[override]
        """What is asked now."""
        if self.committed is None:
            return "commit"
        return "act" if self.looked else "reply"

    @property
    def action(self) -> int:
        """What the leader's commitment came to."""
        assert self.committed is not None  # nobody asks before
        return self.committed.action_of[self.game.leans_US[self.cause, 0]]

    def to_move(self) -> Sequence[str]:
        if self.over:
            return ()
        return (LEADER,) if self.committed is None else (FOLLOWER,)

    def legal(self, seat: str) -> Sequence[str]:
        lead, follow = self.game.names
        if seat == LEADER:
            return [_worded(p, lead) for p in policies(len(lead))]
        if self.looked:
            return follow
        return [OBSERVE, *(f"{DO} {name}" for name in follow), SEE]

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        ((seat, move),) = moves.items()
        self.moves.append(move)
        if seat == LEADER:
            every = policies(len(self.game.names[0]))
            self.committed = every[list(self.legal(seat)).index(move)]
            return {}
        if move == SEE:
            self.looked = True
            return {}
        lean = int(self.game.leans_US[self.cause, 1])
        reply = lean if move == OBSERVE else self.game.names[1].index(move.removeprefix(f"{DO} "))
        leader, follower = self.game.payoffs_UXYS[self.cause, self.action, reply]
        self.paid, self.over = (float(leader), float(follower)), True
        return dict(zip(self.seats, self.paid, strict=True))

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the best commitment or the best reply, mostly."""
        moves = list(self.legal(seat))
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
        if not self.over:
            return {}
        levels = {
            f"{seat}/{level}": float(move.split()[0] == level)
            for seat, move in zip(("leader", "follower"), self.moves[:2], strict=True)
            for level in (OBSERVE, DO, SEE)
        }
        return {"leader": self.paid[0], "value": solve(self.game).leader, **levels}

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
                f"You are the {role}. One of these causes is drawn, and nobody sees which:",
                *table,
                f"The leader takes one of {', '.join(lead)}, then the follower one of "
                f"{', '.join(follow)}. There are three ways to act: observe, which is to do what "
                "the cause inclines you to, unseen; do, which is to set the action without seeing "
                "the inclination; see, which is to see it and then decide. The leader commits to "
                "one of them, and for see to what it does at every inclination; the follower is "
                "told the commitment and the action that came of it. Your goal is to get as many "
                "points as you can.",
                ANSWER_FORMAT.format(example=answer(f"{DO} {(lead, follow)[me][0]}")),
            ]
        )

    def situation(self, seat: str) -> str:
        moves = f"Legal moves: {listed(list(self.legal(seat)), 30)}"
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
        moves = list(self.legal(seat))
        if seat == LEADER:
            return f"{head} Lead: {listed(moves, 5)}"
        lean = f" You lean to {self._inclined()}." if self.looked else ""
        shown = " ".join(map(answer, moves))
        return f"{head} Leader {self.moves[0]}: {self._taken()}.{lean} {shown}"

    def draw(self) -> str:
        return "\n".join([f"cause {self.cause + 1}", *self.moves])


def _worded(policy: Policy, names: Sequence[str]) -> str:
    """Return a policy as a move."""
    if policy.level == OBSERVE:
        return OBSERVE
    if policy.level == DO:
        return f"{DO} {names[policy.action_of[0]]}"
    pairs = zip(names, policy.action_of, strict=True)
    return f"{SEE} " + " ".join(f"{name}>{names[action]}" for name, action in pairs)


raw_env = raw_factory(CausalGameTask)
env = aec_factory(CausalGameTask)
