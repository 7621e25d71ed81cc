"""A matrix game told as a story: the payoffs are what happens in it, the moves are its words.

Agents        player_0, player_1, who choose at the same time
Observation   chat: the scene and what comes of every pair of choices, then what both chose last
Action        text ending in a choice in the words of the story, e.g. [keep silent]; with messages,
              before it one message each: <message>text</message> or [say: text]
Reward        the payoff of the round, by the table of the game that is told
Ends          after `rounds` rounds
Options       game: prisoners_dilemma, stag_hunt, chicken or battle_of_sexes; stories of it are
              drawn; story: one of them by name (stories.py); payoffs: words (what happens) or
              points (and what it is worth to both); rounds; messages; unparsable
References    return of a seat in self-play: random 10.6944, the highest sum of payoffs 15.5556,
              both means over all stories

Nine stories tell four games: does a model play the game, or the words? The story is drawn for each
episode. For each seat the order in which its choices are listed is drawn as well, so that the first
of a list is neither a habit nor a meeting point. Terse prompts give the own points: there is no
room for words. Experts play tit-for-tat, and take turns at two meeting places. `iterated_game` has
the same games with neutral letters; compare the two. It has no stories of its own, since its labels
stay the same over a run. Scenes like these are those of Concordia (arXiv 2312.03664); how framing
moves models: Lore and Heydari (arXiv 2309.05898).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.factories import simultaneous
from coevo.envs.core.parsing import answer
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.catalogue import TABLES
from coevo.envs.dilemmas.experts import promises
from coevo.envs.dilemmas.game_outcome import game_outcome
from coevo.envs.dilemmas.matrices import MatrixGame
from coevo.envs.dilemmas.rounds import MESSAGE_FORMAT, RepeatedGame, RoundsConfig
from coevo.envs.dilemmas.stories import CHICKEN, DILEMMA, SIDES, STAG, STORIES, Story

GAMES = {"prisoners_dilemma": DILEMMA, "stag_hunt": STAG, "chicken": CHICKEN}
GAMES["battle_of_sexes"] = SIDES


@config
class NarratedDilemmaConfig(RoundsConfig):
    rounds: Annotated[int, whole(1, 10_000)] = 5
    """Game rounds."""
    game: Literal["prisoners_dilemma", "stag_hunt", "chicken", "battle_of_sexes"] | None = None
    """Game whose stories are told; None for all."""
    story: str | None = None
    """Name of the story; None draws one for each episode."""
    payoffs: Literal["words", "points"] = "words"
    """Whether the seats are told what happens, or also what it is worth."""


class NarratedDilemma(RepeatedGame[NarratedDilemmaConfig]):
    env_id = "coevo/narrated_dilemma-v0"
    config_class = NarratedDilemmaConfig
    seats = ("player_0", "player_1")

    def __init__(self, config: NarratedDilemmaConfig) -> None:
        self.scenes = _scenes(config)
        self.scene = self.scenes[0]
        self.order = dict.fromkeys(self.seats, (0, 1))
        super().__init__(config)
        ranges = [TABLES[STORIES[name].game].range for name in self.scenes]
        low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
        self.payoff_range = (config.rounds * low, config.rounds * high)

    # ---- Rules ---------------------------------------------------------------------------------

    @property
    def story(self) -> Story:
        """The story that is told."""
        return STORIES[self.scene]

    @property
    def game(self) -> MatrixGame:
        """Its game."""
        return TABLES[self.story.game]

    def choices(self, seat: str) -> Sequence[str]:
        return [self.story.choices[action] for action in self.order[seat]]

    def new_game(self, rng: np.random.Generator) -> None:
        self.scene = self.scenes[int(rng.integers(len(self.scenes)))]
        self.order = {seat: _either_way(rng) for seat in self.seats}
        self.history: list[tuple[int, int]] = []

    def resolve(self, moves: Mapping[str, str]) -> dict[str, float]:
        one, two = (self.story.choices.index(moves[seat]) for seat in self.seats)
        self.history.append((one, two))
        return dict(zip(self.seats, map(float, self.game.payoffs[one, two]), strict=True))

    def expert(self, seat: str, skill: float) -> Replies:
        """Return what the other chose last, the first time action 0; or turns at two places."""
        if self.phase == "message":
            return promises(skill, self.story.choices)
        best = self.round % 2 if self.story.game == SIDES else self._last_of(self.others(seat)[0])
        return mostly(self.moves_of(seat), {self.story.choices[best]: 1.0}, skill)

    def _last_of(self, seat: str) -> int:
        return self.history[-1][self.seats.index(seat)] if self.history else 0

    def outcome(self) -> dict[str, float]:
        """Return what the choices came to, and how often the first of a list was taken."""
        found = game_outcome(self.game, self.seats, np.array(self.history, dtype=int))
        if self.history:
            first = [[self.order[s][0] == a for s, a in self._by_seat(j)] for j in self.history]
            found["listed_first"] = float(np.mean(first))
        return found

    def _by_seat(self, joint: tuple[int, int]) -> list[tuple[str, int]]:
        return list(zip(self.seats, joint, strict=True))

    def facts(self, seat: str) -> dict[str, Any]:
        table = self.game.payoffs.tolist()
        return {"history": list(self.history), "payoffs": table, "order": self.order[seat]}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw the order of the other's list anew."""
        self.order |= {other: _either_way(rng) for other in self.others(seat)}
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        (other,) = self.others(seat)
        cells = [
            f"- If you {self.story.choices[own]} and {other} decides to "
            f"{self.story.choices[their]}, {self._end(seat, own, their)}."
            for own in self.order[seat]
            for their in self.order[seat]
        ]
        often = f" This happens {self.rounds} times." if self.rounds > 1 else ""
        talk = " Before that, each says one thing to the other; it binds nobody."
        goal = "get as many points as you can" if self._in_points else "do as well as you can"
        return "\n".join(
            [
                f"You are {seat}. {self._scene(seat)} You both decide at the same time, and "
                f"neither sees what the other decides.{talk if self.messages else ''}{often}",
                *cells,
                f"Your goal is to {goal}, for yourself{', all in all' if often else ''}.",
                *([MESSAGE_FORMAT] if self.messages else []),
            ]
        )

    @property
    def _in_points(self) -> bool:
        return self.config.payoffs == "points"

    def _scene(self, seat: str) -> str:
        return self.story.scene.format(other=self.others(seat)[0])

    def _end(self, seat: str, own: int, their: int) -> str:
        """Return what comes of the choices for a seat, in words and, if so told, in points."""
        (other,) = self.others(seat)
        words = self.story.end(self.seats.index(seat), own, their).format(other=other)
        if not self._in_points:
            return words
        yours, others = self._paid(seat, own, their)
        return f"{words} ({yours:g} for you, {others:g} for {other})"

    def situation(self, seat: str) -> str:
        lines = [*self._news(seat), *self.heard(seat)]
        if self.phase == "message":
            return "\n".join([*lines, "What do you say to the other?"])
        return "\n".join([*lines, f"What do you decide? Legal moves: {self._listed(seat, ', ')}"])

    def _news(self, seat: str) -> list[str]:
        """Recall the last round, once a round: before this seat's message where there are any."""
        if self.rounds == 1 or (self.messages and self.phase != "message"):
            return []
        lines = [f"Time {self.round + 1} of {self.rounds}."]
        if self.history:
            own, their = self._own_first(seat, self.history[-1])
            (other,), choices = self.others(seat), self.story.choices
            lines.append(
                f"Last time you decided to {choices[own]} and {other} decided to "
                f"{choices[their]}: {self._end(seat, own, their)}."
            )
        return lines

    def _own_first(self, seat: str, joint: tuple[int, int]) -> tuple[int, int]:
        return joint if seat == self.seats[0] else (joint[1], joint[0])

    def terse(self, seat: str) -> str:
        parts = [self._worth(seat, own) for own in self.order[seat]]
        if self.rounds > 1:
            parts.append(f"Time {self.round + 1} of {self.rounds}.")
            parts.append(self._last(seat) if self.history else "Last: none.")
        parts += self.heard_tersely(seat)
        ask = "[say: text]" if self.phase == "message" else "one of both, in brackets"
        return " ".join([*parts, f"Answer {ask}"])

    def _listed(self, seat: str, between: str) -> str:
        return between.join(map(answer, self.moves_of(seat)))

    def _worth(self, seat: str, own: int) -> str:
        """Return what a choice is worth in points: the words are too long for this style."""
        alike, else_ = (self._paid(seat, own, their)[0] for their in (own, 1 - own))
        return f"{answer(self.story.choices[own])}: {alike:g} if other too, else {else_:g}."

    def _paid(self, seat: str, own: int, their: int) -> tuple[float, float]:
        """Return the own payoff of two choices, and the other's."""
        me = self.seats.index(seat)
        paid = self.game.payoffs[(own, their) if me == 0 else (their, own)]
        return float(paid[me]), float(paid[1 - me])

    def _last(self, seat: str) -> str:
        own, their = self._own_first(seat, self.history[-1])
        you, other = self.story.choices[own], self.story.choices[their]
        return f"Last: both {you}." if own == their else f"Last: you {you}, other {other}."

    def draw(self) -> str:
        lines = [f"{self.scene}: {self.story.game}"]
        lines += [f"{seat} reads {' / '.join(self.choices(seat))}" for seat in self.seats]
        lines += [
            "; ".join(f"{seat} {self.story.choices[a]}" for seat, a in self._by_seat(joint))
            for joint in self.history
        ]
        return "\n".join([*lines, f"{self.round} of {self.rounds} rounds played"])


def _scenes(config: NarratedDilemmaConfig) -> list[str]:
    """Return the names of the stories that an episode may tell."""
    table = config.game and GAMES[config.game]
    named = [name for name, story in STORIES.items() if table in (None, story.game)]
    if config.story is None and config.unparsable is not None:
        raise ConfigError(f"unparsable={config.unparsable!r} needs story=: moves are its words")
    if config.story is None:
        return named
    if config.story not in named:
        raise unknown("story", config.story, named)
    return [config.story]


def _either_way(rng: np.random.Generator) -> tuple[int, int]:
    first = int(rng.integers(2))
    return first, 1 - first


raw_env, env, parallel_env = simultaneous(NarratedDilemma)
