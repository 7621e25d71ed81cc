"""The Resistance: hidden spies go on missions and may let them fail; optionally Avalon's roles.

Agents        player_0 .. player_{n-1}; the spies are drawn from them
Observation   chat: rules and the own role, then messages, teams, votes and numbers of failures
Action        the leader sends a message to all and ends its text in a team, e.g.
              [player_0 player_3]; all vote in [approve] or [reject] at once; spies of an approved
              team end their text in [success] or [fail]; with Avalon the assassin names a player
Reward        at the end 1 to the winning side and 0 to the other
Ends          when one side has won most missions, or after the last proposal for one is rejected
Options       players=5; missions=3; proposals=2; avalon=False
References    mean payoff of a seat: random 37691/81920 = 0.4601 (exact), expert 0.4907 (300 games;
              the best play known, of both sides), at most 0.6, where the Resistance always wins

The rules and sizes of teams are those of Don Eskridge (2009), which end after three of five
missions of up to five proposals each; the defaults are shorter. One failure fails a mission; of the
fourth with seven players or more it takes two. Members who are no spies can only succeed, so they
are not asked. In Avalon (2012) Merlin, who is no spy, knows the spies, and if the spies lose, one
of them, the assassin, wins by naming Merlin.

Experts weigh every set of spies by the failures: a spy on a mission lets it fail with chance
`SABOTAGE`. They propose and approve teams that are least likely to hold a spy; spies want exactly
one of theirs on it; the assassin names who has voted most as if it knew.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import comb
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import All, One, Pay, Protocol, Stage
from coevo.envs.core.quoting import quote_line
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.rounds import MESSAGE_FORMAT
from coevo.envs.societies.society import listed
from coevo.envs.societies.table_talk import TableTalk, best, says, seats_of, without

SPIES = {5: 2, 6: 2, 7: 3, 8: 3, 9: 3, 10: 4}
SIZES = {
    5: (2, 3, 2, 3, 3),
    6: (2, 3, 4, 3, 4),
    7: (2, 3, 3, 4, 4),
    8: (3, 4, 4, 5, 5),
    9: (3, 4, 4, 5, 5),
    10: (3, 4, 4, 5, 5),
}
"""Players -> members of the teams of the five missions."""
SABOTAGE = 0.8
"""How often an expert spy lets a mission fail."""
APPROVE, REJECT, SUCCESS, FAIL = "approve", "reject", "success", "fail"


class Loyalties(NamedTuple):
    """Who is what; without Avalon the last two are empty."""

    spies: frozenset[str]
    merlin: str = ""
    assassin: str = ""

    def role(self, seat: str) -> str:
        """Return the role of a seat."""
        special = {self.merlin: "Merlin", self.assassin: "assassin"}.get(seat)
        return special or ("spy" if seat in self.spies else "member of the Resistance")


class Mission(NamedTuple):
    """A mission that was carried out."""

    team: tuple[str, ...]
    failures: int


class Ballot(NamedTuple):
    """A vote on a team."""

    team: tuple[str, ...]
    approved: frozenset[str]


@config
class ResistanceConfig:
    players: Annotated[int, whole(5, 10)] = 5
    """Seats."""
    missions: Literal[1, 3, 5] = 3
    """Missions at most; most of them decide."""
    proposals: Annotated[int, whole(1, 5)] = 2
    """Teams that may be proposed for a mission; if all are rejected the spies win."""
    avalon: Annotated[bool, Field(strict=True)] = False
    """Whether Merlin and the assassin take part."""


class Resistance(TableTalk[ResistanceConfig]):
    env_id = "coevo/resistance-v0"
    config_class = ResistanceConfig
    payoff_range = (0.0, 1.0)

    def __init__(self, config: ResistanceConfig) -> None:
        super().__init__(config)
        self.seats = seats_of(config.players)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.open_table()
        self.done: list[Mission] = []
        self.ballots: list[Ballot] = []
        self.team: tuple[str, ...] = ()
        self.named = ""
        self.refused = 0
        drawn = [self.seats[i] for i in rng.permutation(len(self.seats))]
        n = SPIES[len(self.seats)]
        special = (drawn[n], drawn[0]) if self.config.avalon else ("", "")
        self.world = Loyalties(frozenset(drawn[:n]), *special)
        self.first = int(rng.integers(len(self.seats)))
        while not self.winner:
            yield from self._propose()
            if self.refused == 0:
                yield from self._mission()
        if self.winner == "resistance" and self.config.avalon:
            yield from self._assassinate()
        won = self.winner == "spies"
        yield Pay({seat: float((seat in self.world.spies) == won) for seat in self.seats})

    @property
    def winner(self) -> str:
        """Name the side that has won; empty before the end."""
        failed = sum(self._failed(i) for i in range(len(self.done)))
        needed = self.config.missions // 2 + 1
        if failed == needed or self.refused == self.config.proposals or self._merlin_named:
            return "spies"
        return "resistance" if len(self.done) - failed == needed else ""

    @property
    def _merlin_named(self) -> bool:
        return bool(self.named) and self.named == self.world.merlin

    @property
    def leader(self) -> str:
        """Return who proposes the next team; the seats take turns."""
        return self.seats[(self.first + len(self.ballots)) % len(self.seats)]

    @property
    def size(self) -> int:
        """Return how many members the next team has."""
        return SIZES[len(self.seats)][min(len(self.done), 4)]

    def _needs(self, mission: int) -> int:
        """Return how many failures fail a mission."""
        return 2 if mission == 3 and len(self.seats) >= 7 else 1

    def _failed(self, mission: int) -> bool:
        return self.done[mission].failures >= self._needs(mission)

    def teams(self) -> list[tuple[str, ...]]:
        """Return the teams that may be proposed."""
        return list(itertools.combinations(self.seats, self.size))

    def _propose(self) -> Stage[None]:
        """Ask for a team, and all for their votes on it."""
        self.round = len(self.done)
        leader, self.team = self.leader, ()
        yield from self.discuss([leader], self._speech)
        teams = [" ".join(team) for team in self.teams()]
        self.team = tuple(
            (yield One(leader, phase="team", moves=teams, expert=self._pick)).split(" ")
        )
        self.announce(f"{leader} proposes the team {' and '.join(self.team)}.")
        moves = (APPROVE, REJECT)
        votes = yield All(self.seats, phase="vote", moves=moves, expert=self._vote)
        yes = frozenset(seat for seat, vote in votes.items() if vote == APPROVE)
        self.ballots.append(Ballot(self.team, yes))
        approved = 2 * len(yes) > len(self.seats)
        self.refused = 0 if approved else self.refused + 1
        names = ", ".join(sorted(yes)) or "no player"
        self.announce(f"Approved by: {names}. The team {'goes' if approved else 'is rejected'}.")

    def _mission(self) -> Stage[None]:
        """Ask the spies of the team, if there are any."""
        failures, spies = 0, [seat for seat in self.team if seat in self.world.spies]
        if spies:
            moves = (SUCCESS, FAIL)
            cards = yield All(spies, phase="mission", moves=moves, expert=self._card)
            failures = list(cards.values()).count(FAIL)
        self.done.append(Mission(self.team, failures))
        result = "failed" if self._failed(len(self.done) - 1) else "succeeded"
        self.announce(f"Mission {len(self.done)} {result}. Failures: {failures}.")

    def _assassinate(self) -> Stage[None]:
        assassin = self.world.assassin
        others = [seat for seat in self.seats if seat not in self.world.spies]
        self.announce("The Resistance has won its missions.", [assassin])
        self.named = yield One(assassin, phase="assassin", moves=others, expert=self._name)

    # ---- Who may be what -----------------------------------------------------------------------

    def worlds(self, seat: str) -> Iterator[Loyalties]:
        """Return every assignment of roles that agrees with what a seat knows for certain."""
        own, informed = self.world.role(seat), seat in {*self.world.spies, self.world.merlin}
        for spies in itertools.combinations(self.seats, len(self.world.spies)):
            if informed and self.world.spies != set(spies):
                continue
            if any(mission.failures > len(set(spies) & {*mission.team}) for mission in self.done):
                continue
            others = [other for other in self.seats if other not in spies]
            pairs = itertools.product(others, spies) if self.config.avalon else [("", "")]
            for merlin, assassin in pairs:
                world = Loyalties(frozenset(spies), merlin, assassin)
                if world.role(seat) == own:
                    yield world

    def beliefs(self, seat: str) -> dict[frozenset[str], float]:
        """Return the probability of every set of spies for a seat, by the failures of missions."""
        odds = dict.fromkeys((world.spies for world in self.worlds(seat)), 1.0)
        for spies in odds:
            for team, failures in self.done:
                there = len(spies & set(team))
                chance = SABOTAGE**failures * (1 - SABOTAGE) ** (there - failures)
                odds[spies] *= comb(there, failures) * chance
        total = sum(odds.values())
        return {spies: p / total for spies, p in odds.items()}

    def clean(self, seat: str, teams: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], float]:
        """Return the probability, for a seat, that teams hold no spy."""
        beliefs = self.beliefs(seat)
        return {
            team: sum(p for spies, p in beliefs.items() if not spies & set(team)) for team in teams
        }

    # ---- Experts -------------------------------------------------------------------------------

    def _wish(self, seat: str) -> dict[tuple[str, ...], float]:
        """Return how much a seat wants every team."""
        if seat not in self.world.spies:
            clean = self.clean(seat, self.teams())
            return {team: p + 0.01 * (seat in team) for team, p in clean.items()}
        return {
            team: float(len(self.world.spies & set(team)) == 1) + 0.01 * (seat in team)
            for team in self.teams()
        }

    def _pick(self, seat: str, skill: float) -> Replies:
        good = {" ".join(team): 1.0 for team in best(self._wish(seat))}
        return mostly(self.moves_of(seat), good, skill)

    def _vote(self, seat: str, skill: float) -> Replies:
        """Approve a team that is as good as most, and the last one that may be proposed."""
        wish = self._wish(seat)
        last = self.refused == self.config.proposals - 1 and seat not in self.world.spies
        good = last or wish[self.team] >= float(np.median(list(wish.values())))
        return mostly((APPROVE, REJECT), {APPROVE if good else REJECT: 1.0}, skill)

    def _card(self, seat: str, skill: float) -> Replies:
        odds = np.array([1 - SABOTAGE, SABOTAGE])
        texts = (answer(SUCCESS), answer(FAIL))
        return Replies(texts, skill * odds + (1 - skill) / 2)

    def _speech(self, seat: str, skill: float) -> Replies:
        suspects = self.clean(seat, [(other,) for other in without(self.seats, seat)])
        if seat in self.world.spies:
            suspects = {team: float(team[0] in self.world.spies) for team in suspects}
        return says(skill, f"I trust {next(iter(best(suspects)))[0]}.", "I have a plan.")

    def _name(self, seat: str, skill: float) -> Replies:
        """Name who most often approved teams without spies and rejected those with spies."""
        worth = dict.fromkeys(self.moves_of(seat), 0.0)
        for team, approved in self.ballots:
            for other in worth:
                worth[other] += (other in approved) == (not self.world.spies & set(team))
        return mostly(list(worth), best(worth), skill)

    # ---- Hooks ---------------------------------------------------------------------------------

    def outcome(self) -> dict[str, float]:
        """Return who won, the number of missions, and of votes."""
        return {
            "resistance_won": float(self.winner == "resistance"),
            "missions": float(len(self.done)),
            "ballots": float(len(self.ballots)),
            "merlin_named": float(self._merlin_named),
        }

    def info(self, seat: str) -> dict[str, Any]:
        done = [[list(team), failures] for team, failures in self.done]
        own = {"role": self.world.role(seat), "missions": done, "team": list(self.team)}
        return {**super().info(seat), **own, "refused": self.refused}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw one of the worlds that agree with what the seat knows."""
        worlds = list(self.worlds(seat))
        self.world = worlds[int(rng.integers(len(worlds)))]
        return len(worlds) > 1

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        c, n = self.config, len(self.seats)
        sizes = ", ".join(map(str, SIZES[n][: c.missions]))
        two = " The fourth one needs two." if n >= 7 and c.missions == 5 else ""
        merlin = (
            " One of the Resistance is Merlin, who knows the spies. If the Resistance wins its "
            "missions, one of the spies, the assassin, names a player; if that is Merlin, the "
            "spies win."
            if c.avalon
            else ""
        )
        return (
            f"The Resistance, a game of {n} players: {SPIES[n]} spies, who know each other, and "
            f"{n - SPIES[n]} members of the Resistance. Teams go on up to {c.missions} missions, "
            f"with {sizes} players. In turn a leader sends a message to all and proposes a team, "
            "and all vote on it at the same time. If more than half approve, it goes; else the "
            f"next player leads. If {c.proposals} teams in a row are rejected, the spies win. On a "
            "mission every spy secretly chooses success or fail; the others always succeed. One "
            f"failure fails the mission.{two} The side with {c.missions // 2 + 1} missions "
            f"wins.{merlin} The winning side gets 1 point each, the other side nothing.\n"
            f"{self._identity(seat)}\n{MESSAGE_FORMAT}"
        )

    def _identity(self, seat: str) -> str:
        role, spies = self.world.role(seat), sorted(self.world.spies - {seat})
        the = {"Merlin": "Merlin", "assassin": "a spy and the assassin"}.get(role, f"a {role}")
        known = f" The {'other ' * (role != 'Merlin')}spies: {', '.join(spies)}."
        tells = seat in self.world.spies or role == "Merlin"
        return f"You are {seat}, {the}.{known if tells else ''}"

    def question(self, seat: str) -> str:
        if self.phase == "talk":
            return f"Mission {len(self.done) + 1}: you lead. Your message to all?"
        if self.phase == "team":
            return self.choice(seat, f"Which {self.size} players are the team?")
        if self.phase == "vote":
            return self.choice(seat, "Your vote?")
        if self.phase == "mission":
            return self.choice(seat, "You are on the mission. Your choice?")
        return self.choice(seat, "Who is Merlin?")

    def terse(self, seat: str) -> str:
        past = " ".join(
            f"Mission {i + 1}: {', '.join(team)}; failures: {failures}."
            for i, (team, failures) in enumerate(self.done)
        )
        parts = ["Resistance.", self._identity(seat), past, self.heard_tersely(seat)]
        if self.team:
            parts.append(f"Team: {', '.join(self.team)}.")
        ask = {
            "talk": "You lead. Speak to all: [say: text]",
            "team": f"Choose {self.size}: {listed(self.moves_of(seat))}",
        }
        moves = " or ".join(map(answer, self.moves_of(seat)))
        last = {"assassin": f"Name Merlin: {moves}"}.get(self.phase, f"Answer {moves}")
        return " ".join(filter(None, [*parts, ask.get(self.phase, last)]))

    def draw(self) -> str:
        lines = [f"{seat}: {self.world.role(seat)}" for seat in self.seats]
        done = [f"mission {' '.join(team)}: failures {failures}" for team, failures in self.done]
        votes = [f"{' '.join(b.team)}: {len(b.approved)} approve" for b in self.ballots]
        said = [f"{s.seat}: {quote_line(s.text)}" for s in self.statements]
        now = [f"{self.phase or 'end'}: {' '.join(self.team) or 'no team'}"]
        return "\n".join([*lines, *done, *votes, *said, *now])


raw_env, env = turn_based(Resistance)
