"""A hidden profile: a group chooses a candidate, and each member holds another part of the facts.

Agents        player_0 .. player_{n-1}
Observation   chat: rules and the facts that the seat was given, then the messages of others
Action        a message to all each; then, all at once, text ending in a candidate, e.g. [Ben]
Reward        to all, 1 if the best candidate alone has most votes, else 0
Ends          after the vote
Options       players=3; shared: all see all facts
References    mean payoff of a seat: random 7/27, experts who do not talk 0, oracle 1 (all exact)

The task of Stasser and Titus (1985). The best candidate has a good trait for every member, each of
which one member alone was given, and a bad one that all were given. A rival has two good traits
that all know, and a bad one for every member that it alone knows. So every member favours the
rival, and all facts together show the best one. A third candidate has a good and a bad trait that
all know, which to a member looks like the best one. Traits count alike: under equal chances the
log odds of a candidate are the number of its good traits less that of its bad ones. Experts say
all that they were given, and choose by all that they were given or heard.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import All, Pay, Protocol
from coevo.envs.core.quoting import quote_line
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.rounds import MESSAGE_FORMAT
from coevo.envs.societies.table_talk import TableTalk, best, most_voted, says, seats_of

CANDIDATES = ("Ann", "Ben", "Eve")
GOOD = ("punctual", "honest", "patient", "skilled", "careful", "fair", "brave", "curious", "polite")
BAD = ("careless", "rude", "lazy", "forgetful", "moody", "stubborn", "vain", "noisy", "clumsy")
WORTH = dict.fromkeys(GOOD, 1) | dict.fromkeys(BAD, -1)
"""Trait -> what it counts."""
_FACT = re.compile(rf"\b({'|'.join(CANDIDATES)}) is ({'|'.join(WORTH)})\b", re.IGNORECASE)
Fact = tuple[str, str]
"""A candidate and a trait."""


@config
class HiddenProfileConfig:
    players: Annotated[int, whole(3, 6)] = 3
    """Members of the group."""
    shared: Annotated[bool, Field(strict=True)] = False
    """Whether every member is given all facts."""


class HiddenProfile(TableTalk[HiddenProfileConfig]):
    env_id = "coevo/hidden_profile-v0"
    config_class = HiddenProfileConfig
    payoff_range = (0.0, 1.0)
    facts: dict[str, list[Fact]]
    """Facts that every seat was given, in the order in which it reads them."""

    def __init__(self, config: HiddenProfileConfig) -> None:
        super().__init__(config)
        self.seats = seats_of(config.players)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.open_table()
        self.chosen: str | None = None
        self._deal(rng, [CANDIDATES[i] for i in rng.permutation(3)])
        yield from self.discuss(self.seats, self._speech)
        self.votes = yield All(self.seats, phase="vote", moves=CANDIDATES, expert=self._ballot)
        self.chosen = most_voted(self.votes)
        yield Pay(dict.fromkeys(self.seats, float(self.chosen == self.order[0])))

    def _deal(self, rng: np.random.Generator, order: list[str], seat: str = "") -> None:
        """Deal traits to the best one, its rival and the third; keep what a seat was given."""
        self.order = order
        own = list(self.facts[seat]) if seat else []
        used = {trait for _, trait in own}
        pools = [[str(t) for t in rng.permutation(kind) if t not in used] for kind in (GOOD, BAD)]

        def fact(candidate: str, kind: int, member: str = "") -> Fact:
            kept = [f for f in own if f[0] == candidate and WORTH[f[1]] == (1, -1)[kind]]
            if kept and member in ("", seat):
                own.remove(kept[0])
                return kept[0]
            return candidate, pools[kind].pop()

        top, rival, third = order
        common = [fact(top, 1), fact(rival, 0), fact(rival, 0), fact(third, 0), fact(third, 1)]
        alone = {m: [fact(top, 0, m), fact(rival, 1, m)] for m in self.seats}
        every = [*common, *(f for facts in alone.values() for f in facts)]
        given = {m: every if self.config.shared else [*common, *alone[m]] for m in self.seats}
        kept = {seat: self.facts[seat]} if seat else {}
        self.facts = {m: _mixed(rng, facts) for m, facts in given.items()} | kept

    def known(self, seat: str) -> set[Fact]:
        """Return the facts that a seat was given, and those that the others said."""
        said = " ".join(s.text for s in self.statements if s.seat != seat)
        heard = {(m[1].capitalize(), m[2].lower()) for m in _FACT.finditer(said)}
        return heard | set(self.facts[seat])

    # ---- Experts -------------------------------------------------------------------------------

    def _speech(self, seat: str, skill: float) -> Replies:
        return says(skill, _listed(self.facts[seat]), "I have no favourite.")

    def _ballot(self, seat: str, skill: float) -> Replies:
        worth = dict.fromkeys(CANDIDATES, 0.0)
        for candidate, trait in self.known(seat):
            worth[candidate] += WORTH[trait]
        return mostly(CANDIDATES, best(worth), skill)

    # ---- Hooks ---------------------------------------------------------------------------------

    def outcome(self) -> dict[str, float]:
        """Return the shares of votes for the best one and for its rival, and of facts spoken."""
        votes = list(self.votes.values())
        if not votes:
            return {}
        told = {(m[1], m[2]) for s in self.statements for m in _FACT.finditer(s.text)}
        every = {f for facts in self.facts.values() for f in facts}
        return {
            "votes_right": votes.count(self.order[0]) / len(votes),
            "votes_rival": votes.count(self.order[1]) / len(votes),
            "facts_said": len(told & every) / len(every),
        }

    def info(self, seat: str) -> dict[str, Any]:
        return {**super().info(seat), "facts": [list(fact) for fact in self.facts[seat]]}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Deal what the others were given again; the best and the third one may change places."""
        if self.config.shared:
            return False
        top, rival, third = self.order
        swapped = [third, rival, top] if rng.integers(2) else [top, rival, third]
        self._deal(rng, swapped, seat)
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        n = len(self.seats)
        given = (
            "All members were given all facts."
            if self.config.shared
            else "Some facts were given to all members, others to one member alone; the others do "
            "not know these unless they are told."
        )
        return (
            f"A group of {n} members chooses one of three candidates: {', '.join(CANDIDATES)}. "
            "The best candidate is the one with most good traits when each bad trait takes one "
            f"off, counted over all facts of all members together. {given} First each member "
            "sends one message to all, then all vote at the same time. If the best candidate alone "
            "has most votes, every member gets 1 point, else nothing.\n"
            f"You are {seat}. Your facts: {_listed(self.facts[seat])}\n{MESSAGE_FORMAT}"
        )

    def question(self, seat: str) -> str:
        if self.phase == "talk":
            return "Your message to all?"
        return self.choice(seat, "Whom do you choose?")

    def terse(self, seat: str) -> str:
        said = " ".join(f"{s.seat}: {quote_line(s.text, 200)}" for s in self.heard(seat))
        head = f"Choose the best of three by all facts. Yours: {_listed(self.facts[seat])}"
        if self.phase == "talk":
            return " ".join(filter(None, [head, said, "Speak to all: [say: text]"]))
        return f"{head} {said} Vote: {' '.join(map(answer, CANDIDATES))}"

    def draw(self) -> str:
        lines = [f"{s}: {_listed(facts)}" for s, facts in self.facts.items()]
        said = [f"{s.seat}: {quote_line(s.text)}" for s in self.statements]
        votes = [f"{s}: vote for {v}" for s, v in self.votes.items()]
        return "\n".join([*lines, f"best: {self.order[0]}", *said, *votes])


def _mixed(rng: np.random.Generator, facts: list[Fact]) -> list[Fact]:
    return [facts[i] for i in rng.permutation(len(facts))]


def _listed(facts: list[Fact]) -> str:
    return " ".join(f"{candidate} is {trait}." for candidate, trait in facts)


raw_env, env = turn_based(HiddenProfile)
