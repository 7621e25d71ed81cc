"""Werewolf: a wolf kills by night, a seer looks for it, and the village votes by day.

Agents        player_0 .. player_{n-1}; the roles are drawn over them
Observation   chat: rules and the own role, then what was announced and said since the last reply
Action        by night the wolves and the seer end their text in a player, e.g. [player_2]; by day
              those alive send a message each, then all at once end their text in a player
Reward        at the end 1 to the winning side, dead or alive, and 0 to the other
Ends          when no wolf is left, or the wolves are as many as the others
Options       players=5; wolves=1
References    mean payoff of a seat: random 0.35 (exact: the village wins one game of four), expert
              0.71 (200 games; the best play known, of both sides)

The rules are those of Mafia (Davidoff 1986) and Werewolf (Plotkin 1997) with one seer, as in
SecretMafia of TextArena: the first night kills, a role is shown when its player leaves, a tie of
the vote lets all stay. Wolves know each other; of different victims the one most named dies, else
that of the first wolf.

Experts weigh every assignment of wolves and seer by what all know, by what they alone know, and by
what was said: they take it that a seer claims what it saw, and that a wolf claims in half of the
cases that it is the seer and saw a wolf in another player.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import All, Pay, Protocol, Stage
from coevo.envs.core.quoting import quote_line
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.rounds import MESSAGE_FORMAT
from coevo.envs.societies.table_talk import (
    Statement,
    TableTalk,
    best,
    most_voted,
    says,
    seats_of,
    without,
)

BLUFF = 0.5
"""How often an expert wolf claims to be the seer."""
SLIP = 0.02
"""Chance that experts give to a statement that their model of speakers rules out."""
_CLAIM = re.compile(r"\bI am the seer\W+(player_\d+) is (a wolf|no wolf)\b", re.IGNORECASE)


class Village(NamedTuple):
    """Who is what."""

    wolves: frozenset[str]
    seer: str

    def role(self, seat: str) -> str:
        """Return the role of a seat."""
        return "wolf" if seat in self.wolves else "seer" if seat == self.seer else "villager"


@config
class WerewolfConfig:
    players: Annotated[int, whole(4, 10)] = 5
    """Seats; one of them is the seer."""
    wolves: Annotated[int, whole(1, 3)] = 1
    """How many of them are wolves."""

    def __post_init__(self) -> None:
        if self.players < 2 * self.wolves + 2:
            raise ConfigError(
                f"wolves={self.wolves} with players={self.players} win in the first night: "
                f"{2 * self.wolves + 2} players or more are needed"
            )


class Werewolf(TableTalk[WerewolfConfig]):
    env_id = "coevo/werewolf-v0"
    config_class = WerewolfConfig
    payoff_range = (0.0, 1.0)

    def __init__(self, config: WerewolfConfig) -> None:
        super().__init__(config)
        self.seats = seats_of(config.players)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.open_table()
        self.alive, self.shown = list(self.seats), dict[str, str]()
        self.seen: dict[str, bool] = {}
        drawn = [self.seats[i] for i in rng.permutation(len(self.seats))]
        self.world = Village(frozenset(drawn[1 : 1 + self.config.wolves]), drawn[0])
        while not self.winner:
            yield from self._night()
            if not self.winner:
                yield from self._day()
            self.round += 1
        won = self.winner == "wolves"
        yield Pay({seat: float((seat in self.world.wolves) == won) for seat in self.seats})

    @property
    def winner(self) -> str:
        """Name the side that has won; empty before the end."""
        wolves = sum(seat in self.world.wolves for seat in self.alive)
        return "village" if not wolves else "wolves" if 2 * wolves >= len(self.alive) else ""

    def _night(self) -> Stage[None]:
        seer = self.world.seer
        awake = [seat for seat in self.alive if self.world.role(seat) != "villager"]
        victims = yield All(awake, phase="night", moves=self._targets, expert=self._by_night)
        looked = victims.pop(seer, None)
        if looked is not None:
            self.seen[looked] = looked in self.world.wolves
            what = "a wolf" if self.seen[looked] else "no wolf"
            self.announce(f"You looked at {looked}: {looked} is {what}.", [seer])
        self._leave(most_voted(victims) or next(iter(victims.values())), "was killed in the night")

    def _day(self) -> Stage[None]:
        yield from self.discuss(list(self.alive), self._speech)
        out = yield from self.vote(list(self.alive), self._ballot)
        if out is None:
            self.announce("There was a tie, and all stay.")
        else:
            self._leave(out, "was voted out")

    def _leave(self, seat: str, how: str) -> None:
        self.alive.remove(seat)
        self.shown[seat] = self.world.role(seat)
        self.announce(f"{seat} {how} and was a {self.shown[seat]}.")

    def _targets(self, seat: str) -> list[str]:
        if seat == self.world.seer:
            return without(self.alive, seat)
        return [other for other in self.alive if other not in self.world.wolves]

    # ---- Who may be what -----------------------------------------------------------------------

    def worlds(self, seat: str) -> Iterator[Village]:
        """Return every assignment of roles that agrees with what a seat knows for certain."""
        own = self.world.role(seat)
        for seer in self.seats:
            for wolves in itertools.combinations(without(self.seats, seer), self.config.wolves):
                world = Village(frozenset(wolves), seer)
                known = {**self.shown, seat: own}
                if any(world.role(other) != role for other, role in known.items()):
                    continue
                if own == "wolf" and world.wolves != self.world.wolves:
                    continue
                if own == "seer" and any((s in wolves) != w for s, w in self.seen.items()):
                    continue
                yield world

    def beliefs(self, seat: str) -> dict[Village, float]:
        """Return the probability of every world for a seat that hears experts."""
        said = [s for s in self.statements if s.seat != seat]
        odds = {w: float(np.prod([self._odds(s, w) for s in said])) for w in self.worlds(seat)}
        total = sum(odds.values())
        return {world: p / total for world, p in odds.items()}

    def _odds(self, said: Statement, world: Village) -> float:
        """Return how likely an expert says this in a world."""
        claim, role = _CLAIM.search(said.text), world.role(said.seat)
        if claim is None:
            return {"seer": SLIP, "wolf": 1 - BLUFF, "villager": 1.0}[role]
        is_wolf, others = claim[1] in world.wolves, len(self.seats) - 1
        says_so = claim[2].lower() == "a wolf"
        if role == "seer":
            return (1 if is_wolf == says_so else SLIP) / others
        if role == "wolf":
            return (BLUFF if says_so and not is_wolf else SLIP) / others
        return SLIP / others

    def suspicion(self, seat: str) -> dict[str, float]:
        """Return the probability, for a seat, that each other player alive is a wolf."""
        beliefs = self.beliefs(seat)
        others = without(self.alive, seat)
        return {o: sum(p for w, p in beliefs.items() if o in w.wolves) for o in others}

    # ---- Experts -------------------------------------------------------------------------------

    def _by_night(self, seat: str, skill: float) -> Replies:
        """Kill the likeliest seer, or look at the likeliest wolf that was not yet looked at."""
        if seat == self.world.seer:
            worth = {o: p - 2 * (o in self.seen) for o, p in self.suspicion(seat).items()}
        else:
            beliefs = self.beliefs(seat)
            worth = {
                t: sum(p for w, p in beliefs.items() if w.seer == t) for t in self._targets(seat)
            }
        return mostly(self._targets(seat), best(worth), skill)

    def _speech(self, seat: str, skill: float) -> Replies:
        quiet, role = "I do not know who the wolf is.", self.world.role(seat)
        looked = next(reversed(self.seen), None)
        if role == "seer" and looked is not None:
            wolf = next((s for s in self.alive if self.seen.get(s)), None)
            what = f"{wolf} is a wolf" if wolf else f"{looked} is no wolf"
            return says(skill, f"I am the seer: {what}.", quiet)
        if role == "wolf":
            others = [o for o in self.alive if o not in self.world.wolves]
            texts = [f"I am the seer: {other} is a wolf." for other in others]
            odds = [skill * BLUFF / len(texts)] * len(texts)
            return Replies((*texts, quiet), np.array([*odds, 1 - sum(odds)]))
        return Replies((quiet,), np.ones(1))

    def _ballot(self, seat: str, skill: float) -> Replies:
        """Vote for the likeliest wolf; a wolf for who is suspected most by the others."""
        worth = self.suspicion(seat)
        if seat in self.world.wolves:
            others = [o for o in self.alive if o not in self.world.wolves]
            of = [self.suspicion(o) for o in others]
            worth = {o: sum(views.get(o, 0.0) for views in of) for o in others}
        return mostly(self.moves_of(seat), best(worth), skill)

    # ---- Hooks ---------------------------------------------------------------------------------

    def outcome(self) -> dict[str, float]:
        """Return who won, the number of nights, and how many wolves were voted out."""
        out = [s for s in self.shown if self.shown[s] == "wolf"]
        return {
            "village_won": float(self.winner == "village"),
            "nights": float(self.round),
            "wolves_out": float(len(out)),
        }

    def info(self, seat: str) -> dict[str, Any]:
        own = {"role": self.world.role(seat), "alive": list(self.alive)}
        return {**super().info(seat), **own, "shown": dict(self.shown)}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw one of the worlds that agree with what the seat knows."""
        worlds = list(self.worlds(seat))
        self.world = worlds[int(rng.integers(len(worlds)))]
        return len(worlds) > 1

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        c = self.config
        wolves = f"{c.wolves} wolves, who know each other" if c.wolves > 1 else "1 wolf"
        return (
            f"Werewolf, a game of {c.players} players: {wolves}, 1 seer and "
            f"{c.players - c.wolves - 1} villagers. Every night the wolves kill one player, and "
            "the seer learns of one player whether it is a wolf. Every day those alive send one "
            "message each to all, and then vote at the same time. The player with most votes "
            "leaves the game; with a tie all stay. The role of a player who dies or leaves is "
            "shown. The village, which is the seer and the villagers, wins when no wolf is left. "
            "The wolves win when they are as many as the others. The winning side gets 1 point "
            "each, dead or alive, the other side nothing.\n"
            f"{self._identity(seat)}\n{MESSAGE_FORMAT}"
        )

    def _identity(self, seat: str) -> str:
        role, fellows = self.world.role(seat), sorted(self.world.wolves - {seat})
        also = f" So is {' and '.join(fellows)}." if role == "wolf" and fellows else ""
        the = "the seer" if role == "seer" else f"a {role}"
        return f"You are {seat}, {the}.{also}"

    def question(self, seat: str) -> str:
        if self.phase == "night":
            what = "look at" if seat == self.world.seer else "kill"
            return self.choice(seat, f"Night {self.round + 1}. Whom do you {what}?")
        if self.phase == "talk":
            alive = ", ".join(self.alive)
            return f"Day {self.round + 1}. Alive: {alive}. Your message to all?"
        return self.choice(seat, "Whom do you vote out?")

    def terse(self, seat: str) -> str:
        seen = ""
        if seat == self.world.seer:
            known = {True: "a wolf", False: "no wolf"}
            seen = "".join(f" {s} is {known[wolf]}." for s, wolf in self.seen.items())
        head = f"Werewolf. {self._identity(seat)}{seen}"
        if self.phase == "night":
            what = "Look at" if seat == self.world.seer else "Kill"
            return f"{head} {what} one: {' '.join(map(answer, self.moves_of(seat)))}"
        said = self.heard_tersely(seat)
        if self.phase == "talk":
            return f"{head} {said} Speak to all: [say: text]".replace("  ", " ")
        moves = " ".join(map(answer, self.moves_of(seat)))
        return f"{head} {said} Vote one out: {moves}".replace("  ", " ")

    def draw(self) -> str:
        lines = [
            f"{s}: {self.world.role(s)}{'' if s in self.alive else ', out'}" for s in self.seats
        ]
        looked = ", ".join(self.seen) or "no player yet"
        said = [f"{s.seat}: {quote_line(s.text)}" for s in self.statements]
        return "\n".join([*lines, f"night {self.round + 1}, seer saw: {looked}", *said])


raw_env, env = turn_based(Werewolf)
