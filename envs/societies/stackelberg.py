"""Stackelberg games: a leader announces a mixed strategy and is held to it; a follower replies.

Agents        leader_0, follower_0
Observation   chat: both payoffs of every pair of choices; the follower sees the announcement
Action        leader: text ending in how often it takes each choice, in percent, e.g. [70/30];
              follower: text ending in a choice, e.g. [Y]
Reward        expected payoffs of the announced mixture and the reply, at the end of each round
Ends          after `rounds` announcements and replies
Options       game: any two-player game of the catalogue; payoffs: instead of a game, the tensor
              [leader's choices, follower's choices, 2]; steps of the announcement; rounds
References    mean payoff of both seats by default: random 1.5 (exact), the strong Stackelberg
              equilibrium 2.0; the leader gets 3.5 there, 3 by the best pure commitment and 2 in the
              only Nash equilibrium

The default game is Conitzer and Sandholm's example of the value of commitment (2006). The
equilibrium is solved by linear programmes in commitment.py. Experts commit to the best announcement
that can be made, and reply best, ties in favour of the leader.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from math import comb
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.catalogue import Matrix, matrix_game
from coevo.envs.dilemmas.matrices import MatrixGame, game_of_payoffs
from coevo.envs.societies.commitment import best_on_grid, best_reply, mixtures, stackelberg
from coevo.envs.societies.society import Society, listed

DEFAULT_GAME = "commitment"
MIXTURES = 300
"""Announcements that may be chosen from."""
LEADER, FOLLOWER = "leader_0", "follower_0"


def _nested(given: Any) -> Any:
    return None if given is None else game_of_payoffs(given).payoffs.tolist()


@config
class StackelbergConfig:
    game: Matrix | None = None
    """A two-player game; None for the example of Conitzer and Sandholm."""
    payoffs: Annotated[Any, BeforeValidator(_nested)] = None
    """Payoff tensor, instead of `game`: nested lists."""
    steps: Annotated[int, whole(1, 100)] = 10
    """The announced shares are multiples of 1 / steps; 1 leaves pure commitments."""
    rounds: Annotated[int, whole(1, 1000)] = 1
    """Announcements."""


class Stackelberg(Society[StackelbergConfig]):
    env_id = "coevo/stackelberg-v0"
    config_class = StackelbergConfig
    seats = (LEADER, FOLLOWER)

    def __init__(self, config: StackelbergConfig) -> None:
        super().__init__(config)
        self.game = _game(config)
        lead, follow = self.game.sizes
        if comb(config.steps + lead - 1, lead - 1) > MIXTURES:
            raise ConfigError(f"steps={config.steps} with {lead} choices: over {MIXTURES} mixtures")
        self.rows = list(string.ascii_uppercase[:lead])
        self.columns = list(string.ascii_uppercase[-follow:])
        self.mixes = {
            "/".join(f"{100 * n / config.steps:.4g}" for n in mix): np.array(mix) / config.steps
            for mix in mixtures(lead, config.steps)
        }
        self.best = best_on_grid(self.game, config.steps)
        self.value = stackelberg(self.game).leader
        low, high = self.game.range
        self.lasts = config.rounds
        self.payoff_range = (config.rounds * low, config.rounds * high)
        self.zero_sum = self.game.zero_sum

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.history: list[tuple[str, str]] = []
        for number in range(self.config.rounds):
            self.round = number
            self.announced: str | None = None
            self.announced = yield One(LEADER, phase="announce", moves=list(self.mixes))
            reply = yield One(FOLLOWER, phase="reply", moves=self.columns)
            column = self.game.payoffs[:, self.columns.index(reply)]
            paid = np.tensordot(self.mixes[self.announced], column, axes=1)
            self.history.append((self.announced, reply))
            self.announced = None
            yield Pay(dict(zip(self.seats, paid, strict=True)))

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the best commitment or the best reply, mostly."""
        if seat == LEADER:
            wanted = np.array(self.best.mix)
            best = min(self.mixes, key=lambda m: float(np.abs(self.mixes[m] - wanted).sum()))
            return mostly(list(self.mixes), {best: 1.0}, skill)
        reply = best_reply(self.game, self.mixes[str(self.announced)])
        return mostly(self.columns, {self.columns[reply]: 1.0}, skill)

    def info(self, seat: str) -> dict[str, Any]:
        return {
            **super().info(seat),
            "table": self.game.payoffs.tolist(),
            "announced": self.announced,
            "history": list(self.history),
        }

    def outcome(self) -> dict[str, float]:
        """Return the leader's mean payoff, the value of commitment, how often replies were best."""
        if not self.history:
            return {}
        best = [
            best_reply(self.game, self.mixes[mix]) == self.columns.index(reply)
            for mix, reply in self.history
        ]
        return {
            "leader": self.earned[LEADER] / len(self.history),
            "value": self.value,
            "best_replies": float(np.mean(best)),
        }

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        leads = seat == LEADER
        me, other = (0, 1) if leads else (1, 0)
        first = "you announce" if leads else "the leader announces"
        then = "the follower sees it and takes" if leads else "you see it and take"
        rounds = "" if self.config.rounds == 1 else f", {self.config.rounds} times"
        table = [
            f"- {row} and {column}: you get {self.game.payoffs[i, j, me]:g}, the "
            f"{'follower' if leads else 'leader'} gets {self.game.payoffs[i, j, other]:g}"
            for i, row in enumerate(self.rows)
            for j, column in enumerate(self.columns)
        ]
        return "\n".join(
            [
                f"You are {seat}, the {'leader' if leads else 'follower'}. First {first} how often "
                f"it will be {' or '.join(self.rows)}, in percent, and that is binding; {then} "
                f"{' or '.join(self.columns)}{rounds}. Points:",
                *table,
                "Points are averaged by the announced percentages. Your goal is to get as many "
                "points as you can.",
            ]
        )

    def situation(self, seat: str) -> str:
        lines = []
        if self.config.rounds > 1:
            lines.append(f"Round {self.round + 1} of {self.config.rounds}.")
        if self.history:
            lines.append(
                "Last round: {} was announced, the reply was {}.".format(*self.history[-1])
            )
        moves = f"Legal moves: {listed(self.moves_of(seat))}"
        if seat == LEADER:
            order = "/".join(self.rows)
            return "\n".join([*lines, f"What do you announce, as percent of {order}? {moves}"])
        return "\n".join(
            [*lines, f"The leader announced: {self._announced()}.", f"Your choice? {moves}"]
        )

    def _announced(self) -> str:
        shares = str(self.announced).split("/")
        return ", ".join(f"{row} {n}%" for row, n in zip(self.rows, shares, strict=True))

    def terse(self, seat: str) -> str:
        cells = " ".join(
            f"{row}{column} {self.game.payoffs[i, j, 0]:.3g},{self.game.payoffs[i, j, 1]:.3g}"
            for i, row in enumerate(self.rows)
            for j, column in enumerate(self.columns)
        )
        head = f"Points leader,follower: {cells}."
        moves = self.moves_of(seat)
        if seat == LEADER:
            order = "/".join(self.rows)
            return f"{head} You lead: percent of {order}. Answer {listed(moves, 3)}"
        return f"{head} Leader: {self._announced()}. Answer {' or '.join(map(answer, moves))}"

    def draw(self) -> str:
        lines = [f"round {n}: {mix}, {reply}" for n, (mix, reply) in enumerate(self.history, 1)]
        return "\n".join([*lines, f"announced: {self.announced or 'nothing yet'}"])


def _game(config: StackelbergConfig) -> MatrixGame:
    if config.game is not None and config.payoffs is not None:
        raise ConfigError(f"game={config.game!r} and payoffs: give one of them")
    given = config.payoffs
    game = matrix_game(config.game or DEFAULT_GAME) if given is None else game_of_payoffs(given)
    if game.players != 2 or max(game.sizes) > 8:
        raise ConfigError(f"{game.name} must have two players, with at most 8 choices each")
    return game


raw_env, env = turn_based(Stackelberg)
