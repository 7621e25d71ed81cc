"""Any matrix game, played for several rounds by everybody at once; repeated prisoner's dilemma.

Agents        player_0 .. player_n-1, who choose at the same time
Observation   chat: the payoff rules, then what everybody did in the last rounds
Action        text ending in a choice, e.g. [A]; with messages, before it one message each:
              <message>text</message> or [say: text]
Reward        the payoff of the round
Ends          after `rounds` rounds
Options       game: chicken, {name: donation, benefit: 4}, {name: public_goods, players: 4},
              {name: ordinal, number: 17}, see catalogue.py; payoffs: instead of a game, the
              tensor [actions of player 0, ..., N], nested lists; rounds; labels: what the choices
              are called, A, B, ... by default; memory: rounds that an observation recalls;
              messages; unparsable: choice that is played for a reply without one (the published
              protocol: B)
References    return of a seat in self-play: random 22.5, mutual cooperation 30, mutual defection 10

The game's name and its actions' names are never shown, since models know what is said about them.
Defaults are those of the AdAlign-LLM paper (arXiv 2511.19405): reward 3, punishment 1, temptation
5, sucker 0, ten rounds, choices A (cooperate) and B.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import aec_factory, parallel_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT, answer, normalise, parse_move
from coevo.envs.core.task import Replies
from coevo.envs.dilemmas.catalogue import Matrix, matrix_game
from coevo.envs.dilemmas.experts import promises, reciprocal
from coevo.envs.dilemmas.matrices import MatrixGame, game_of_payoffs, payoff
from coevo.envs.dilemmas.rounds import MESSAGE_FORMAT, RepeatedGame, RoundsConfig

DEFAULT_GAME = "prisoners_dilemma"
CELLS_SHOWN = 64
"""Joint choices that the rules write out; a larger game must be symmetric with two choices."""
TERSE_CELLS = 4
"""Joint choices that a terse prompt pays everybody for; a larger one shows the own payoff."""


def _nested(given: Any) -> Any:
    return None if given is None else game_of_payoffs(given).payoffs.tolist()


@config
class IteratedGameConfig(RoundsConfig):
    """What a repeated matrix game takes."""

    game: Matrix | None = None
    """Configuration of a matrix game, or its bare name; None for the prisoner's dilemma."""
    payoffs: Annotated[Any, BeforeValidator(_nested)] = None
    """Payoff tensor, instead of `game`: nested lists."""
    labels: tuple[str, ...] | None = None
    """Names of the choices, as many as the player with most choices has; None for A, B, ..."""
    memory: Annotated[int, whole(0)] = 1
    """How many past rounds an observation recalls."""


class IteratedGame(RepeatedGame[IteratedGameConfig]):
    """A repeated matrix game with neutral names."""

    env_id = "coevo/iterated_game-v0"
    config_class = IteratedGameConfig

    def __init__(self, config: IteratedGameConfig) -> None:
        if config.game is not None and config.payoffs is not None:
            raise ConfigError(f"game={config.game!r} and payoffs: give one of them")
        self.game = _game(config.game, config.payoffs)
        self.labels = _labels(config.labels, max(self.game.sizes))
        self.memory = config.memory
        self.seats = tuple(f"player_{i}" for i in range(self.game.players))
        super().__init__(config)
        low, high = self.game.range
        self.payoff_range = (self.rounds * low, self.rounds * high)
        self.zero_sum = self.game.zero_sum
        self.simultaneous = not self.messages

    # ---- Rules ----------------------------------------------------------------------------------

    def choices(self, seat: str) -> Sequence[str]:
        """Return the labels of as many choices as the seat has."""
        return self.labels[: self.game.sizes[self.seats.index(seat)]]

    def new_game(self, rng: np.random.Generator) -> None:
        """Forget what was chosen; nothing is drawn."""
        self.history: list[tuple[int, ...]] = []
        self.points = np.zeros(self.game.players)

    def resolve(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Return the payoffs of the joint choice."""
        joint = tuple(self.labels.index(moves[a]) for a in self.seats)
        paid = payoff(self.game, joint)
        self.history.append(joint)
        self.points = self.points + paid
        return dict(zip(self.seats, map(float, paid), strict=True))

    def facts(self, seat: str) -> dict[str, Any]:
        """Return all joint choices so far and the payoffs."""
        return {"history": list(self.history), "payoffs": self.game.payoffs.tolist()}

    def expert(self, seat: str, skill: float) -> Replies:
        """Return partly reciprocal, partly selfish, partly random choices, or a promise."""
        if self.speaking(seat):
            return promises(skill)
        moves = self.choices(seat)
        good = reciprocal(self.history, self.seats.index(seat), len(moves))
        return Replies(tuple(map(answer, moves)), skill * good + (1 - skill) / len(moves))

    def outcome(self) -> dict[str, float]:
        """Return mean payoffs and, with two choices, how often the first one was taken."""
        if not self.history:
            return {}
        moves = np.array(self.history)
        means = self.points / len(moves)
        joint = float(means.sum())
        found = {f"mean_payoff/{a}": float(m) for a, m in zip(self.seats, means, strict=True)}
        found |= {"welfare": joint, "welfare_lost": self.game.welfare - joint}
        if set(self.game.sizes) == {2}:
            rates = (moves == 0).mean(axis=0)
            found["cooperation"] = float(rates.mean())
            found["mutual_cooperation"] = float((moves == 0).all(axis=1).mean())
            for seat, rate in zip(self.seats, rates, strict=True):
                found[f"cooperation/{seat}"] = float(rate)
        return found

    # ---- Full style ----------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        """Return the payoffs and how a round goes."""
        others = self.others(seat)
        company = others[0] if len(others) == 1 else f"{len(others)} others"
        example = ANSWER_FORMAT.format(example=answer(self.labels[0]))
        talk = (
            "Before they choose, each player sends one message to the others, one after the "
            "other. What is said binds nobody.\n"
            if self.messages
            else ""
        )
        return (
            f"You are {seat} and play {self.rounds} rounds of the same game with {company}. In "
            "every round all players choose at the same time, without seeing what the others "
            f"choose.\n{talk}Points in a round:\n{self._table(seat)}\nYour goal is to get as many "
            f"points as you can over all rounds.\n{example}"
            f"{chr(10) + MESSAGE_FORMAT if self.messages else ''}"
        )

    def _table(self, seat: str) -> str:
        """Write the payoffs as this seat reads them."""
        me = self.seats.index(seat)
        if self.game.players > 2 and self.game.symmetric and set(self.game.sizes) == {2}:
            return "\n".join(
                f"- if you choose {self.labels[a]} and {k} of the {self.game.players - 1} others "
                f"choose {self.labels[0]}, you get {self._counted(a, k):g}"
                for a in range(2)
                for k in reversed(range(self.game.players))
            )
        cells = sorted(itertools.product(*map(range, self.game.sizes)), key=lambda c: c[me])
        return "\n".join(f"- {self._cell(cell, me)}" for cell in cells)

    def _counted(self, own: int, cooperators: int) -> float:
        """Return the payoff in a symmetric game of two choices with so many others at the first."""
        rest = self.game.players - 1 - cooperators
        return float(self.game.payoffs[(own, *[0] * cooperators, *[1] * rest, 0)])

    def _cell(self, cell: tuple[int, ...], me: int) -> str:
        order = self._own_first(me)
        names = {i: "you" if i == me else self.seats[i] for i in order}
        chosen = ", ".join(f"{names[i]} {self.labels[cell[i]]}" for i in order)
        paid = self.game.payoffs[cell]
        got = ", ".join(f"{names[i]} get{'' if i == me else 's'} {paid[i]:g}" for i in order)
        return f"{chosen}: {got}"

    def situation(self, seat: str) -> str:
        """Return what happened, and what is asked."""
        lines = [*self._news(seat), *self.heard(seat)]
        if self.speaking(seat):
            return "\n".join([*lines, "Your message to the others?"])
        moves = ", ".join(map(answer, self.choices(seat)))
        return "\n".join([*lines, f"Your choice? Legal moves: {moves}"])

    def _news(self, seat: str) -> list[str]:
        """Recall the past once a round: where messages are sent, before this seat's message."""
        if self.messages and not self.speaking(seat):
            return []
        lines = [f"Round {self.round + 1} of {self.rounds}."]
        me, past = self.seats.index(seat), self._recalled()
        for number, joint in past:
            paid = payoff(self.game, joint)
            who = [
                f"{a} chose {self.labels[joint[self.seats.index(a)]]}" for a in self.others(seat)
            ]
            lines.append(
                f"In round {number + 1} you chose {self.labels[joint[me]]}, {', '.join(who)}; you "
                f"got {paid[me]:g}."
            )
        if past:
            lines.append(f"Your points so far: {self.points[me]:g}.")
        return lines

    def _recalled(self) -> list[tuple[int, tuple[int, ...]]]:
        first = max(0, len(self.history) - self.memory)
        return list(enumerate(self.history))[first:]

    # ---- Terse style ---------------------------------------------------------------------------

    def terse(self, seat: str) -> str:
        """Return payoffs, the last round and what is asked."""
        me = self.seats.index(seat)
        ask = "Answer [say: text]"
        if not self.speaking(seat):
            ask = f"Answer {' or '.join(map(answer, self.choices(seat)))}"
        now = f"Round {self.round + 1} of {self.rounds}."
        parts = [
            self._terse_table(me),
            now,
            self._terse_past(me),
            *self.heard_tersely(seat),
        ]
        return " ".join([*filter(None, parts), ask])

    def _terse_table(self, me: int) -> str:
        if self.game.players > 2 and self.game.symmetric and set(self.game.sizes) == {2}:
            counts = range(self.game.players)
            paid = [" ".join(f"{self._counted(a, k):.3g}" for k in counts) for a in range(2)]
            rows = ", ".join(f"{label} {row}" for label, row in zip(self.labels, paid, strict=True))
            return f"Points by number of others at {self.labels[0]}: {rows}."
        order = self._own_first(me)
        cells = list(itertools.product(*map(range, self.game.sizes)))
        cells.sort(key=lambda cell: [cell[i] for i in order])
        shown = order if len(cells) <= TERSE_CELLS else [me]
        paid = [",".join(f"{self.game.payoffs[c][i]:.3g}" for i in shown) for c in cells]
        rows = " ".join(f"{self._joined(c, me)} {p}" for c, p in zip(cells, paid, strict=True))
        return f"Points{' you,other' if len(shown) == 2 else ''}: {rows}."

    def _terse_past(self, me: int) -> str:
        past = self._recalled()
        if not past:
            return "Last: none." if self.memory else ""
        if self.memory == 1 and self.game.players == 2:
            joint = past[-1][1]
            return f"Last: you {self.labels[joint[me]]}, other {self.labels[joint[1 - me]]}."
        return f"Last, you first: {' '.join(self._joined(joint, me) for _, joint in past)}."

    def _own_first(self, me: int) -> list[int]:
        return [me, *(i for i in range(self.game.players) if i != me)]

    def _joined(self, joint: Sequence[int], me: int) -> str:
        """Spell a joint choice, the own one first."""
        between = "" if max(map(len, self.labels)) == 1 else "-"
        return between.join(self.labels[joint[i]] for i in self._own_first(me))

    def draw(self) -> str:
        """Return all joint choices."""
        lines = [
            f"round {number}: {' '.join(self.labels[a] for a in joint)}"
            for number, joint in enumerate(self.history, start=1)
        ]
        lines += [f'{a}: "{text}"' for a, text in self.said.items()]
        points = " ".join(f"{p:g}" for p in self.points)
        return "\n".join([*lines, f"{self.round} of {self.rounds} rounds played; points: {points}"])


def _game(game: Any, payoffs: Any) -> MatrixGame:
    found = matrix_game(game or DEFAULT_GAME) if payoffs is None else game_of_payoffs(payoffs)
    counted = found.symmetric and set(found.sizes) == {2}
    if not counted and int(np.prod(found.sizes)) > CELLS_SHOWN:
        raise ConfigError(
            f"{found.name} has {int(np.prod(found.sizes))} joint choices; rules can be written for "
            f"{CELLS_SHOWN}, or for a symmetric game of two choices"
        )
    return found


def _labels(given: Sequence[str] | None, count: int) -> list[str]:
    names = list(string.ascii_uppercase[:count] if given is None else given)
    readable = all(parse_move(answer(name), names).move == name for name in names)
    if len(names) != count or len(set(map(normalise, names))) != count or not readable:
        raise ConfigError(
            f"labels={given!r} must be {count} different names without brackets or line ends"
        )
    return names


raw_env = raw_factory(IteratedGame)
env = aec_factory(IteratedGame)
parallel_env = parallel_factory(IteratedGame)
