"""The donor game: give to a stranger whose gifts to others you know.

Agents        player_0 .. player_n-1, an even number
Observation   chat: one message per request: the own strategy, both resources, and what the
              recipient gave when it last was the donor, what its recipient had given before that,
              up to `trace` links. As in all environments a chat in full style holds the seat's
              earlier turns as well, those of the seat's player before a newcomer included
Action        text ending in the share of the own resources to give, e.g. [50%]; with punishment
              also [punish 50%]; where strategies are written, one sentence of free text
Reward        the change of the own resources, half of it, since a generation plays two games and
              their mean counts; in the first round of a game with the endowment. The sum over a
              generation is the mean of the final resources
Ends          after two games, with roles swapped, in each of `generations`
Options       see the arguments; at reset, `strategies`: texts, one per seat, that are given to the
              first generation instead of being written
References    return of a seat by default: no gifts 10, random shares 32.5 (exact), all
              gives everything 120, which is the maximum

From Cultural Evolution of Cooperation among LLM Agents (arXiv 2412.10270), whose setting is
`players: 12, rounds: 12, generations: 10, strategies: true` (no gifts 10, everything 30720).
What is given arrives `multiplier` times. To punish is to spend a share of the own resources and to
take twice that from the recipient, who cannot fall under 0. After a generation the better half keep
seats and strategies; the others are newcomers, who read the survivors' strategies and write their
own. Selection by an outer loop instead passes `strategies` to single generations.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from coevo.envs.core.config import LARGEST, config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.protocol import All, Pay, Protocol
from coevo.envs.core.quoting import quote_line
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.rounds import MESSAGE_LENGTH, message
from coevo.envs.societies.society import Society, listed

PUNISH = "punish "
FACTOR = 2.0
"""What a recipient loses per unit that is spent on punishing it."""
ADVICE = "Give what the other gave the last time, and everything where nothing is known of it."
TERSE_STRATEGY = 60
"""Characters of a strategy that a terse prompt has room for."""


@config
class DonorGameConfig:
    players: Annotated[int, whole(2, 100)] = 4
    """Seats, an even number; the paper has 12."""
    rounds: Annotated[int, whole(1, 100)] = 4
    """Of one game, at most as many as there are players; the paper has 12."""
    generations: Annotated[int, whole(1, 100)] = 1
    """Of two games each."""
    endowment: Annotated[float, real(above=0)] = 10.0
    """Resources at the start of a game."""
    multiplier: Annotated[float, real(1)] = 2.0
    """What the recipient gets per unit given."""
    levels: Annotated[int, whole(2, 21)] = 5
    """Shares that may be given: 0 to 100 % in equal steps."""
    trace: Annotated[int, whole(0, 10)] = 3
    """Links of reputation that a donor is shown."""
    punish: Annotated[bool, Field(strict=True)] = False
    """Whether a donor may spend on taking from the recipient instead."""
    strategies: Annotated[bool, Field(strict=True)] = False
    """Whether every player first writes a strategy, which its prompts repeat."""

    def __post_init__(self) -> None:
        if self.players % 2:
            raise ConfigError(f"players={self.players} must be even: donors meet recipients")
        if self.rounds > self.players:
            raise ConfigError(
                f"rounds={self.rounds} must be at most players={self.players}, or pairs meet again"
            )
        if self.generations > 1 and not self.strategies:
            raise ConfigError(
                f"generations={self.generations} needs strategies: true, or nothing is inherited"
            )
        most = self.generations * most_units(self.endowment, self.multiplier, self.rounds)
        if not most <= LARGEST:
            raise ConfigError(
                f"multiplier={self.multiplier:g} over rounds={self.rounds} lets somebody have "
                f"{most:.3g} units; at most {LARGEST:g}: lower one of them"
            )


class DonorGame(Society[DonorGameConfig]):
    env_id = "coevo/donor_game-v0"
    config_class = DonorGameConfig

    def __init__(self, config: DonorGameConfig) -> None:
        super().__init__(config)
        self.seats = tuple(f"player_{i}" for i in range(config.players))
        shares = [100 * level / (config.levels - 1) for level in range(config.levels)]
        self.shares = {f"{s:.4g}%": s / 100 for s in shares}
        if config.punish:
            self.shares |= {f"{PUNISH}{s:.4g}%": -s / 100 for s in shares[1:]}
        richest = most_units(config.endowment, config.multiplier, config.rounds)
        self.payoff_range = (0.0, float(config.generations * richest))

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        c, given = self.config, options.get("strategies")
        orders = [rng.permutation(c.players).tolist() for _ in range(c.generations)]
        self.strategies = dict.fromkeys(self.seats, "")
        self.elders: list[tuple[str, float]] = []
        self.given: list[tuple[float, float]] = []
        newcomers = self.seats if c.strategies else ()
        if isinstance(given, Sequence) and len(given) == c.players and all(map(_text, given)):
            self.strategies = dict(zip(self.seats, map(message, given), strict=True))
            newcomers = ()
        self.round = 0
        for generation, game in itertools.product(range(c.generations), range(2)):
            self.generation, self.game, self.turn = generation, game, 0
            self.resources = np.full(c.players, c.endowment)
            self.history: list[Gift] = []
            if game == 0:
                self.fitness = np.zeros(c.players)
                if newcomers:
                    self.strategies |= yield All(newcomers, phase="strategy", read=message)
            for self.turn in range(c.rounds):
                yield from self._donations(orders[generation])
            if game == 1:
                best = survivors(self.fitness.tolist())
                self.elders = [(self.strategies[self.seats[i]], self.fitness[i]) for i in best]
                newcomers = tuple(a for i, a in enumerate(self.seats) if i not in best)

    def _donations(self, order: Sequence[int]) -> Protocol:
        """Let all donors of a round give, or punish, at once."""
        self.meetings = dict(pairs(order, self.turn, self.game == 1))
        donors = [self.seats[i] for i in sorted(self.meetings)]
        moves = yield All(donors, phase="donation", moves=list(self.shares))
        before = self.resources.copy() if self.turn else np.zeros(self.config.players)
        hit = [self._give(self.seats.index(seat), move) for seat, move in moves.items()]
        if self.config.punish:
            self.note("sanctioned", [seat for seat in hit if seat])
        gained = (self.resources - before) / 2
        self.fitness += gained
        self.round += 1
        yield Pay(dict(zip(self.seats, gained, strict=True)))

    def _give(self, donor: int, move: str) -> str:
        """Move resources; return the seat that was punished, if any."""
        other, share = self.meetings[donor], self.shares[move]
        heads = (float(self.resources[donor]), float(self.resources[other]))
        spent = abs(share) * heads[0]
        effect = self.config.multiplier * spent if share >= 0 else -min(FACTOR * spent, heads[1])
        self.resources[donor] -= spent
        self.resources[other] += effect
        self.history.append(Gift(self.turn, donor, other, share, heads))
        self.given.append((self.generation, share))
        return self.seats[other] if share < 0 else ""

    def expert(self, seat: str, skill: float) -> Replies:
        """Return a donation as large as the recipient's last one, all to strangers; mostly."""
        if self.phase == "strategy":
            texts = (f"[say: {ADVICE}]", "[say: Never give anything.]", "[say: Give half.]")
            return Replies(texts, skill * np.array([1.0, 0, 0]) + (1 - skill) / 3)
        known = trace(self.history, self.meetings[self.seats.index(seat)], 1)
        wanted = max(known[0].share, 0.0) if known else 1.0
        moves = [move for move, share in self.shares.items() if share >= 0]
        nearest = min(moves, key=lambda move: abs(self.shares[move] - wanted))
        return mostly(list(self.shares), {nearest: 1.0}, skill)

    def info(self, seat: str) -> dict[str, Any]:
        found = {**super().info(seat), "strategy": self.strategies[seat]}
        if self.phase == "strategy":
            return found
        me = self.seats.index(seat)
        other = self.meetings[me]
        return found | {
            "resources": [float(self.resources[me]), float(self.resources[other])],
            "recipient": self.seats[other],
            "trace": [(d.share, self.seats[d.recipient]) for d in self._trace(other)],
        }

    def outcome(self) -> dict[str, float]:
        """Return mean shares given, over all and by generation, and the last mean resources."""
        found = {"mean_resources": float(self.fitness.mean())}
        for g in range(self.config.generations):
            shares = [share for at, share in self.given if at == g]
            if shares:
                found[f"donated/generation_{g}"] = float(np.mean(np.maximum(shares, 0)))
                found[f"punished/generation_{g}"] = float(np.mean(np.array(shares) < 0))
        return found

    def _trace(self, other: int) -> list[Gift]:
        return trace(self.history, other, self.config.trace)

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        c = self.config
        punish = ""
        if c.punish:
            punish = (
                f" Instead, a donor may spend on punishing: the recipient loses {FACTOR:g} units "
                "for each one spent."
            )
        return (
            f"You are {seat}, one of {c.players} players who each start with {c.endowment:g} "
            "units. In every round players are paired; one is the donor and says what share of its "
            f"units it gives, and the recipient gets {c.multiplier:g} units for each one "
            f"given.{punish} Roles alternate, and nobody meets the same recipient twice. A second "
            f"game, with roles swapped, starts again from {c.endowment:g} units. Your goal is to "
            "have as many units as you can at the end of each."
        )

    def situation(self, seat: str) -> str:
        if self.phase == "strategy":
            return "\n".join([*self._elders(), _WRITE])
        me = self.seats.index(seat)
        other = self.meetings[me]
        strategy = self.strategies[seat]
        lines = [f"Your strategy: {quote_line(strategy, MESSAGE_LENGTH)}"] * bool(strategy)
        lines.append(
            f"{self._where()}round {self.turn + 1}. You are the donor and have "
            f"{self.resources[me]:.6g} units. The recipient is {self.seats[other]}, who has "
            f"{self.resources[other]:.6g}."
        )
        lines += [_in_words(self.seats, d) for d in self._trace(other)]
        if self.config.trace and not self._trace(other):
            lines.append(f"{self.seats[other]} was not a donor yet.")
        moves = list(self.shares)
        lines.append(f"What share do you give? Legal moves: {listed(moves, 21)}")
        return "\n".join(lines)

    def _where(self) -> str:
        """Say which game it is; with both of them all start again from the endowment."""
        generation = f"Generation {self.generation + 1}, game" if self.generation else "Game"
        return f"{generation} {self.game + 1}, "

    def _elders(self) -> list[str]:
        if not self.elders:
            return []
        head = (
            "A new generation begins, and you are a newcomer in this seat. The players who did "
            "best in the last generation, their units and their strategies:"
        )
        rules = (f"{score:.6g} units: {quote_line(t, MESSAGE_LENGTH)}" for t, score in self.elders)
        return [head, *(f"- {rule}" for rule in rules)]

    def terse(self, seat: str) -> str:
        if self.phase == "strategy":
            best = ""
            if self.elders:
                best = f" Best so far: {quote_line(self.elders[0][0], TERSE_STRATEGY)}."
            return f"Donor game. Others know what you gave.{best} Write a rule. Answer [say: text]"
        me = self.seats.index(seat)
        other = self.meetings[me]
        past = ", ".join(f"{PUNISH * (d.share < 0)}{abs(d.share):.0%}" for d in self._trace(other))
        rule = self.strategies[seat]
        parts = [
            f"A gift counts x{self.config.multiplier:g}.",
            f"You have {self.resources[me]:.4g}, it {self.resources[other]:.4g}.",
            f"It gave {past or 'nothing yet'}." if self.config.trace else "",
            f"Your rule: {quote_line(rule, TERSE_STRATEGY)}." if rule else "",
        ]
        moves = list(self.shares)
        shown = listed(moves, 4)
        return " ".join([*filter(None, parts), f"Answer {shown}"])

    def draw(self) -> str:
        lines = [f"generation {self.generation}, game {self.game}"]
        lines += [
            f"round {d.round + 1}: {self.seats[d.donor]} {_verb(d)} {self.seats[d.recipient]} "
            f"{abs(d.share):.0%} of {d.heads[0]:.4g}"
            for d in self.history
        ]
        return "\n".join([*lines, f"units: {' '.join(f'{r:.4g}' for r in self.resources)}"])


class Gift(NamedTuple):
    """One gift, or one punishment."""

    round: int
    donor: int
    recipient: int
    share: float
    """Of the donor's resources that was given; negative where it was spent on punishing."""
    heads: tuple[float, float]
    """Resources of donor and recipient before it."""


def pairs(order: Sequence[int], round: int, swapped: bool) -> list[tuple[int, int]]:
    """Return who gives to whom in a round.

    Args:
        order: all players; the first half are donors in round 0.
        round: from 0; in as many rounds as there are players no pair repeats in the same order.
        swapped: let the second half begin.

    >>> pairs([0, 1, 2, 3], 0, False), pairs([0, 1, 2, 3], 1, False)
    ([(0, 2), (1, 3)], [(2, 1), (3, 0)])
    """
    half = len(order) // 2
    first, second = order[:half], order[half:]
    turn = round // 2
    if (round % 2 == 1) != swapped:  # the second half gives, to others than it will meet next
        turn += half // 2
        return [(second[i], first[(i - turn) % half]) for i in range(half)]
    return [(first[i], second[(i + turn) % half]) for i in range(half)]


def trace(history: Sequence[Gift], player: int, links: int) -> list[Gift]:
    """Return what a player gave last, what its recipient had given before that, and so on."""
    found: list[Gift] = []
    for past in reversed(history):
        if len(found) == links:
            break
        if past.donor == player and (not found or past.round < found[-1].round):
            found.append(past)
            player = past.recipient
    return found


def final_mean(share: float, endowment: float, multiplier: float, rounds: int) -> float:
    """Return mean final resources where every donor gives a share of what it has.

    Resources are linear in the shares, so that this is exact for random shares with that mean too.

    >>> final_mean(1.0, 10, 2, 12), final_mean(0.0, 10, 2, 12)
    (30720.0, 10.0)
    """
    donors = others = endowment
    for _ in range(rounds):
        gift = share * donors
        donors, others = others + multiplier * gift, donors - gift
    return (donors + others) / 2


def most_units(endowment: float, multiplier: float, rounds: int) -> float:
    """Return a bound on a player's units: it keeps all, and meets donors who had all before.

    >>> most_units(10, 2, 1), most_units(10, 2, 3)
    (30, 170)
    """
    donor = recipient = endowment
    for _ in range(rounds):
        donor, recipient = recipient + multiplier * donor, donor
    return donor


def survivors(scores: Sequence[float]) -> list[int]:
    """Return the better half, best first; of equals the one with the lower number.

    >>> survivors([1.0, 5.0, 5.0, 0.0])
    [1, 2]
    """
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    return order[: len(scores) // 2]


_WRITE = (
    "Write the strategy that you will follow, in one sentence, between <message> and </message>."
)


def _verb(past: Gift) -> str:
    return "gave" if past.share >= 0 else "punished with"


def _in_words(seats: Sequence[str], past: Gift) -> str:
    act, where = ("gave", "to") if past.share >= 0 else ("spent", "on punishing")
    return (
        f"In round {past.round + 1} {seats[past.donor]} {act} {abs(past.share):.0%} of its units "
        f"{where} {seats[past.recipient]}."
    )


def _text(given: Any) -> bool:
    return isinstance(given, str)


raw_env, env = turn_based(DonorGame)
