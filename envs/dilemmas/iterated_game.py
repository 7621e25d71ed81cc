"""Any matrix game, played for several rounds by all seats at once; repeated prisoner's dilemma.

Agents        player_0 .. player_n-1, who choose at the same time
Observation   chat: the payoff rules, then all choices of the last rounds
Action        text ending in a choice, e.g. [A]; with messages, before it one message each:
              <message>text</message> or [say: text]
Reward        the payoff of the round
Ends          after `rounds` rounds
              With prediction, each says first, unseen by the others, what the other will choose
Options       game: chicken, {name: donation, benefit: 4}, {name: public_goods, players: 4},
              {name: ordinal, number: 17}, see catalogue.py; payoffs: instead of a game, the
              tensor [actions of player 0, ..., N], nested lists; rounds; labels: what the choices
              are called, A, B, ... by default; memory: rounds that an observation recalls;
              messages; predict: name the other's choice before the own one; noise: chance that
              another choice than the own one is played; continuation: chance that another round
              follows, up to `rounds` of them; unparsable: choice that is played for a reply without
              one (the published protocol: B)
References    return of a seat in self-play: random 22.5, mutual cooperation 30, mutual defection 10

A game once only is `rounds: 1`. With `continuation` the number of rounds is drawn at the start and
never stated; with `noise` all see what was played, which may differ from what was chosen. Asking
for a prediction before the choice is from Playing repeated games with LLMs (Akata et al., arXiv
2305.16867); it pays nothing, and its accuracy is in the outcome.

The game's name and its actions' names are never shown, since models know what is said about them.
Defaults are those of the AdAlign-LLM paper (arXiv 2511.19405): reward 3, punishment 1, temptation
5, sucker 0, ten rounds, choices A (cooperate) and B.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import simultaneous
from coevo.envs.core.parsing import answer, normalise
from coevo.envs.core.protocol import All, Protocol
from coevo.envs.core.quoting import quote_line
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.catalogue import Matrix, matrix_game
from coevo.envs.dilemmas.experts import promises, reciprocal
from coevo.envs.dilemmas.game_outcome import game_outcome
from coevo.envs.dilemmas.matrices import MatrixGame, game_of_payoffs
from coevo.envs.dilemmas.payoff_words import PayoffWords
from coevo.envs.dilemmas.rounds import (
    MESSAGE_FORMAT,
    MESSAGE_LENGTH,
    RepeatedGame,
    RoundsConfig,
)

DEFAULT_GAME = "prisoners_dilemma"
CELLS_SHOWN = 64
"""Joint choices that the rules write out; a larger game must be symmetric with two choices."""


def _nested(given: Any) -> Any:
    return None if given is None else game_of_payoffs(given).payoffs.tolist()


@config
class IteratedGameConfig(RoundsConfig):
    game: Matrix | None = None
    """Configuration of a matrix game, or its bare name; None for the prisoner's dilemma."""
    payoffs: Annotated[Any, BeforeValidator(_nested)] = None
    """Payoff tensor, instead of `game`: nested lists."""
    labels: tuple[str, ...] | None = None
    """Names of the choices, as many as the player with most choices has; None for A, B, ..."""
    memory: Annotated[int, whole(0)] = 1
    """How many past rounds an observation recalls."""
    predict: Annotated[bool, Field(strict=True)] = False
    """Ask each of two players for the other's choice before its own."""
    noise: Annotated[float, real(0, below=1)] = 0.0
    """Chance that another choice, drawn evenly, is played instead of the one that was made."""
    continuation: Annotated[float, real(above=0, below=1)] | None = None
    """Chance that another round follows, up to `rounds`; None plays all of them."""


class IteratedGame(RepeatedGame[IteratedGameConfig]):
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
        if config.predict and self.game.players != 2:
            raise ConfigError(f"predict needs two players; {self.game.name} has more")
        self.noise, self.continuation = config.noise, config.continuation
        self.words = PayoffWords(self.game, self.labels, self.seats)
        self.tables = tuple(map(self.words.terse, range(self.game.players)))
        low, high = self.game.range
        least = self.rounds if self.continuation is None else 1
        totals = [rounds * edge for rounds in (least, self.rounds) for edge in (low, high)]
        self.payoff_range = (min(totals), max(totals))
        self.zero_sum = self.game.zero_sum

    # ---- Rules ----------------------------------------------------------------------------------

    def choices(self, seat: str) -> Sequence[str]:
        return self.labels[: self.game.sizes[self.seats.index(seat)]]

    def new_game(self, rng: np.random.Generator) -> None:
        self.history: list[tuple[int, ...]] = []
        self.points = np.zeros(self.game.players)
        self.predicted: dict[str, str] = {}
        self.hits: list[tuple[bool, ...]] = []
        self.slips = np.zeros((self.rounds, self.game.players), dtype=int)
        if self.continuation is not None:
            self.length = min(self.rounds, int(rng.geometric(1 - self.continuation)))
        if self.noise:
            slipped = rng.random(self.slips.shape) < self.noise
            self.slips = slipped * rng.integers(1, self.game.sizes, size=self.slips.shape)

    def before_choice(self) -> Protocol:
        if self.config.predict:
            self.predicted = yield All(self.seats, phase="prediction", moves=self._of_other)

    def _of_other(self, seat: str) -> Sequence[str]:
        return self.choices(self.others(seat)[0])

    def resolve(self, moves: Mapping[str, str]) -> dict[str, float]:
        chosen = np.array([self.labels.index(moves[a]) for a in self.seats])
        joint = tuple(map(int, (chosen + self.slips[self.round]) % self.game.sizes))
        if self.predicted:
            wanted = [moves[self.others(a)[0]] == self.predicted[a] for a in self.seats]
            self.hits.append(tuple(wanted))
            self.predicted = {}
        paid = self.game.payoffs[joint]
        self.history.append(joint)
        self.points = self.points + paid
        return dict(zip(self.seats, map(float, paid), strict=True))

    def facts(self, seat: str) -> dict[str, Any]:
        return {"history": list(self.history), "payoffs": self.game.payoffs.tolist()}

    def expert(self, seat: str, skill: float) -> Replies:
        """Return partly reciprocal, partly selfish, partly random choices, or a promise."""
        if self.phase == "message":
            return promises(skill)
        who = self.others(seat)[0] if self.phase == "prediction" else seat
        moves = self.choices(who)
        good = reciprocal(self.history, self.seats.index(who), len(moves))
        return mostly(moves, dict(zip(moves, good, strict=True)), skill)

    def outcome(self) -> dict[str, float]:
        """Return mean payoffs and, with two choices, how often the first one was taken."""
        found = game_outcome(self.game, self.seats, np.array(self.history, dtype=int))
        if self.hits:
            found["prediction_accuracy"] = float(np.mean(self.hits))
        return found

    # ---- Full style ----------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        others = self.others(seat)
        company = others[0] if len(others) == 1 else f"{len(others)} others"
        each, goal = (" in a round", " over all rounds") if self.rounds > 1 else ("", "")
        table = self.words.full(self.seats.index(seat))
        return (
            f"You are {seat} and play {self._how_long()} with {company}. "
            f"{'In every round all' if self.rounds > 1 else 'All'} players choose at the same "
            "time, without seeing what the others "
            f"choose.\n{self._table_rules()}Points{each}:\n{table}\n"
            f"Your goal is to get as many points as you can{goal}."
            f"{chr(10) + MESSAGE_FORMAT if self.messages else ''}"
        )

    def _how_long(self) -> str:
        if self.rounds == 1:
            return "a game once"
        if self.continuation is None:
            return f"{self.rounds} rounds of the same game"
        return (
            "rounds of the same game (after every round another one follows with probability "
            f"{self.continuation:g}, up to {self.rounds} rounds)"
        )

    def _table_rules(self) -> str:
        """Say what comes before the choice, and what may happen to it."""
        said = []
        if self.messages:
            said.append(
                "Before they choose, each player sends one message to the others, one after the "
                "other. What is said binds nobody."
            )
        if self.config.predict:
            said.append(
                "Before you choose, you are asked what the other will choose. Nobody sees your "
                "answer, and it changes no points."
            )
        if self.noise:
            said.append(
                f"With probability {self.noise:g} a choice goes wrong: another one is played "
                "instead and counts. Everybody sees what was played, not what was chosen."
            )
        return "".join(f"{line}\n" for line in said)

    def situation(self, seat: str) -> str:
        lines = [] if self.predicted else [*self._news(seat), *self.heard(seat)]
        if self.phase == "message":
            return "\n".join([*lines, "Your message to the others?"])
        moves = ", ".join(map(answer, self.moves_of(seat)))
        asked = "Your choice?"
        if self.phase == "prediction":
            asked = f"What will {self.others(seat)[0]} choose?"
        return "\n".join([*lines, f"{asked} Legal moves: {moves}"])

    def _news(self, seat: str) -> list[str]:
        """Recall the past once a round: where messages are sent, before this seat's message."""
        if self.messages and self.phase != "message":
            return []
        lines = [self._now()] if self.rounds > 1 else []
        verb = "played" if self.noise else "chose"
        me, past = self.seats.index(seat), self._recalled()
        for number, joint in past:
            paid = self.game.payoffs[joint]
            who = [
                f"{a} {verb} {self.labels[joint[self.seats.index(a)]]}" for a in self.others(seat)
            ]
            lines.append(
                f"In round {number + 1} you {verb} {self.labels[joint[me]]}, {', '.join(who)}; you "
                f"got {paid[me]:g}."
            )
        if past:
            lines.append(f"Your points so far: {self.points[me]:g}.")
        return lines

    def _now(self) -> str:
        known = "" if self.continuation is not None else f" of {self.rounds}"
        return f"Round {self.round + 1}{known}."

    def _recalled(self) -> list[tuple[int, tuple[int, ...]]]:
        first = max(0, len(self.history) - self.memory)
        return list(enumerate(self.history))[first:]

    # ---- Terse style ---------------------------------------------------------------------------

    def terse(self, seat: str) -> str:
        me = self.seats.index(seat)
        ask = "Answer [say: text]"
        if self.phase != "message":
            ask = f"Answer {' or '.join(map(answer, self.moves_of(seat)))}"
        if self.phase == "prediction":
            ask = f"Other's choice? {ask}"
        parts = [
            self.tables[me],
            self._now() if self.rounds > 1 else "",
            f"Next round: {self.continuation:g}." if self.continuation else "",
            f"Slips: {self.noise:g}." if self.noise else "",
            self._terse_past(me) if self.rounds > 1 else "",
            *self.heard_tersely(seat),
            f"You expect {self.predicted[seat]}." if self.predicted else "",
        ]
        return " ".join([*filter(None, parts), ask])

    def _terse_past(self, me: int) -> str:
        past = self._recalled()
        if not past:
            return "Last: none." if self.memory else ""
        if self.memory == 1 and self.game.players == 2:
            joint = past[-1][1]
            return f"Last: you {self.labels[joint[me]]}, other {self.labels[joint[1 - me]]}."
        return f"Last, you first: {' '.join(self.words.joined(joint, me) for _, joint in past)}."

    def draw(self) -> str:
        lines = [
            f"round {number}: {' '.join(self.labels[a] for a in joint)}"
            for number, joint in enumerate(self.history, start=1)
        ]
        lines += [f"{a}: {quote_line(text, MESSAGE_LENGTH)}" for a, text in self.said.items()]
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
    readable = all(name.strip() and not set("[]\n\r") & set(name) for name in names)
    if len(names) != count or len(set(map(normalise, names))) != count or not readable:
        raise ConfigError(
            f"labels={given!r} must be {count} different names without brackets or line ends"
        )
    return names


raw_env, env, parallel_env = simultaneous(IteratedGame)
