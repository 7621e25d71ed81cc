"""Trust-and-Split: tell the other your hand or not, then divide coins that one of you values more.

Agents        player_0, player_1
Observation   chat: rules, then each round the own hand, what the other said, how the last round
              went: who had the upper hand, what both claimed
Action        first one message each, <message>text</message> or [say: text]; then, both at once,
              text ending in the number of coins to keep, e.g. [5] or <proposal>5</proposal>
Reward        coins kept x what a coin is worth to the seat (10 with the upper hand, else 1),
              at the end of each round; messages pay nothing
Ends          after `rounds` rounds
Options       rounds; coins; values: worth of a coin with the upper and the lower hand; claims: the
              numbers that may be claimed, e.g. [0, 5, 10]; alternate: the upper hand changes every
              round instead of being drawn; messages: false for play without talk; public: both
              hands are shown; unparsable: claim that is played for a reply without one
References    return of a seat in self-play over 10 rounds: random claims 225, both claim
              everything 275, all to the upper hand 500

Two different hands of rock, paper and scissors are dealt each round. One's own hand does not tell
who has the upper hand; both do. Claims p share the coins out as n p_i / max(n, p_0 + p_1). The
player who starts to talk is drawn and then alternates. From the AdAlign-LLM paper
(arXiv 2511.19405); all hands of an episode follow from its seed, whatever the players do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import simultaneous
from coevo.envs.core.parsing import answer
from coevo.envs.core.quoting import quote_line
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.experts import claim_of_hand, split_claim
from coevo.envs.dilemmas.rounds import (
    MESSAGE_FORMAT,
    MESSAGE_LENGTH,
    RepeatedGame,
    RoundsConfig,
)
from coevo.envs.dilemmas.split import HANDS, beats, split_payoff

CLAIMS_LISTED = 4
"""Claims that a terse prompt writes out; of more it gives the first and the last."""


@config
class TrustAndSplitConfig(RoundsConfig):
    messages: Annotated[bool, Field(strict=True)] = True
    """Whether both speak before they claim."""
    coins: Annotated[int, whole(1, 100)] = 10
    """To divide each round."""
    values: tuple[Annotated[float, real(above=0)], Annotated[float, real(0)]] = (10.0, 1.0)
    """Worth of a coin to the upper and to the lower hand."""
    claims: tuple[Annotated[int, whole(0)], ...] | None = None
    """Numbers of coins that may be claimed, rising; None for 0 to `coins`."""
    alternate: Annotated[bool, Field(strict=True)] = False
    """Let the upper hand alternate; who has it first is drawn."""
    public: Annotated[bool, Field(strict=True)] = False
    """Show both hands."""

    def __post_init__(self) -> None:
        if self.values[0] < self.values[1]:
            raise ConfigError(
                f"values={list(self.values)}: the worth to the upper hand comes first"
            )
        if self.claims is not None and (
            len(self.claims) < 2
            or list(self.claims) != sorted(set(self.claims))
            or self.claims[-1] > self.coins
        ):
            raise ConfigError(
                f"claims={list(self.claims)} must be two or more rising whole numbers from 0 to "
                f"{self.coins}"
            )


class TrustAndSplit(RepeatedGame[TrustAndSplitConfig]):
    """Repeated division of coins with private hands and cheap talk."""

    env_id = "coevo/trust_and_split-v0"
    config_class = TrustAndSplitConfig
    seats = ("player_0", "player_1")

    def __init__(self, config: TrustAndSplitConfig) -> None:
        self.coins, self.values = config.coins, config.values
        self.claims = [str(c) for c in config.claims or range(config.coins + 1)]
        self.alternate, self.public = config.alternate, config.public
        super().__init__(config)
        self.payoff_range = (0.0, float(self.rounds * self.coins * max(self.values)))

    # ---- Rules ----------------------------------------------------------------------------------

    def choices(self, seat: str) -> Sequence[str]:
        return self.claims

    def new_game(self, rng: np.random.Generator) -> None:
        self.hands = [self._deal(rng, number) for number in range(self.rounds)]
        self.history: list[dict[str, Any]] = []
        self.points = np.zeros(2)

    def _deal(self, rng: np.random.Generator, number: int) -> tuple[str, str]:
        """Draw two different hands; where the upper hand alternates, swap them if need be."""
        first, second = (HANDS[int(i)] for i in rng.choice(3, size=2, replace=False))
        wanted = (self.starter + number) % 2
        if self.alternate and _upper((first, second)) != wanted:
            first, second = second, first
        return first, second

    def _worth(self, number: int) -> tuple[float, float]:
        """Return what a coin is worth to each seat in a round."""
        high, low = self.values
        return (high, low) if _upper(self.hands[number]) == 0 else (low, high)

    def resolve(self, moves: Mapping[str, str]) -> dict[str, float]:
        claims = [int(moves[a]) for a in self.seats]
        worth = self._worth(self.round)
        paid = split_payoff(claims, worth, self.coins)
        self.points = self.points + paid
        self.history.append(
            {
                "claims": claims,
                "values": list(worth),
                "upper": _upper(self.hands[self.round]),
                "paid": paid.tolist(),
            }
        )
        return dict(zip(self.seats, map(float, paid), strict=True))

    def facts(self, seat: str) -> dict[str, Any]:
        me = self.seats.index(seat)
        hands = self.hands[self.round]
        shown = {"hands": list(hands)} if self.public else {}
        return {
            "history": [dict(entry) for entry in self.history],
            "coins": self.coins,
            "values": list(self.values),
            "hand": hands[me],
            **shown,
        }

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Deal the other's hand and all later ones again."""
        me, now = self.seats.index(seat), self.hands[self.round]
        self.hands[self.round :] = [self._deal(rng, n) for n in range(self.round, self.rounds)]
        while self.hands[self.round][me] != now[me]:
            self.hands[self.round] = self._deal(rng, self.round)
        if self.public:
            self.hands[self.round] = now
        return True

    def expert(self, seat: str, skill: float) -> Replies:
        """Return a message that names the hand, mostly, or a claim that depends on both hands."""
        if self.phase == "message":
            return claim_of_hand(self.hands[self.round][self.seats.index(seat)], skill)
        good = split_claim(self.info(seat), [int(c) for c in self.claims])
        return mostly(self.claims, dict(zip(self.claims, good, strict=True)), skill)

    def outcome(self) -> dict[str, float]:
        """Return efficiency, mean claims by own value and mean rewards, over the rounds played."""
        if not self.history:
            return {}
        claims = np.array([entry["claims"] for entry in self.history], dtype=float)
        seats = np.arange(2)
        upper = np.array([entry["upper"] for entry in self.history])[:, None] == seats
        best = len(self.history) * self.coins * max(self.values)
        means = self.points / len(self.history)
        return {
            "efficiency": float(self.points.sum() / best),
            "claim_high": float(claims[upper].mean()),
            "claim_low": float(claims[~upper].mean()),
            "mean_reward": float(means.mean()),
            **{f"mean_reward/{a}": float(m) for a, m in zip(self.seats, means, strict=True)},
        }

    # ---- Full style ----------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        high, low = self.values
        other = self.others(seat)[0]
        hidden = "Both hands are shown." if self.public else "You see only your own hand."
        hands = "different every round and drawn at random"
        if self.alternate:
            hands = "different every round, so that the upper hand alternates"
        return (
            f"You are {seat}. With {other} you divide {self.coins} coins in each of {self.rounds} "
            "rounds. In every round each of you holds another hand, rock, paper or scissors, "
            f"{hands}. Rock beats scissors, scissors beat paper, paper beats rock: whoever holds "
            f"the better one has the upper hand. To the upper hand a coin is worth {high:g} points "
            f"in that round, to the lower hand {low:g}. {hidden}\n{self._talk_rule()}"
            "Then both say at the same time how many coins they keep. If the two numbers add up "
            f"to {self.coins} or less, each gets what it said and the rest is lost; if they add up "
            "to more, the coins are shared in proportion to the numbers.\n"
            "Your goal is to get as many points as you can over all rounds."
            f"{chr(10) + MESSAGE_FORMAT if self.messages else ''}"
        )

    def _talk_rule(self) -> str:
        if not self.messages:
            return ""
        return (
            f"First each of you sends the other one message, up to {MESSAGE_LENGTH} characters; "
            "who speaks second reads the first message before. The order changes every round.\n"
        )

    def situation(self, seat: str) -> str:
        lines = [*self._news(seat), *self.heard(seat)]
        if self.phase == "message":
            return "\n".join([*lines, f"Your message to {self.others(seat)[0]}?"])
        moves = ", ".join(map(answer, self.claims))
        return "\n".join([*lines, f"How many coins do you keep? Legal moves: {moves}"])

    def _news(self, seat: str) -> list[str]:
        """Return the last round and the new hand, once a round."""
        if self.messages and self.phase != "message":
            return []
        me, other = self.seats.index(seat), self.others(seat)[0]
        lines = [f"Round {self.round + 1} of {self.rounds}."]
        if self.history:
            last = self.history[-1]
            upper = f"you had the upper hand and {other} the lower one"
            lower = f"{other} had the upper hand and you the lower one"
            lines.append(
                f"Last round {upper if last['upper'] == me else lower}. You claimed "
                f"{last['claims'][me]}, {other} claimed {last['claims'][1 - me]}; you got "
                f"{last['paid'][me]:.4g} points. Your points so far: {self.points[me]:.5g}."
            )
        hands = self.hands[self.round]
        lines.append(f"Your hand: {hands[me]}.")
        if self.public:
            place = "upper" if _upper(hands) == me else "lower"
            lines.append(f"{other} holds {hands[1 - me]}: you have the {place} hand.")
        return lines

    # ---- Terse style ---------------------------------------------------------------------------

    def terse(self, seat: str) -> str:
        me, hands = self.seats.index(seat), self.hands[self.round]
        high, low = (f"{v:g}" for v in self.values)
        shown = f"Win {high}, lose {low}. You: {hands[me]}."
        if self.public:
            mine, theirs = (high, low) if _upper(hands) == me else (low, high)
            shown = f"Each is worth {mine} to you, {theirs} to other."
        parts = [f"Split {self.coins}.", shown, self._terse_last(me)]
        parts += self.heard_tersely(seat)
        return " ".join([*parts, "Answer [say: text]" if self.phase == "message" else self._keep()])

    def _keep(self) -> str:
        if len(self.claims) <= CLAIMS_LISTED:
            return f"Answer {' or '.join(map(answer, self.claims))}"
        return f"Answer {answer(self.claims[0])} to {answer(self.claims[-1])}"

    def _terse_last(self, me: int) -> str:
        """Say who had the upper hand in the last round, and what both claimed: own claim first."""
        if not self.history:
            return "Last: none."
        last = self.history[-1]
        place = "won" if last["upper"] == me else "lost"
        return f"Last: {place} {last['claims'][me]}, other {last['claims'][1 - me]}."

    def draw(self) -> str:
        lines = [
            f"round {number}: {' against '.join(hands)}, claims {entry['claims']}, "
            f"points {' '.join(f'{p:.4g}' for p in entry['paid'])}"
            for number, (hands, entry) in enumerate(
                zip(self.hands, self.history, strict=False), start=1
            )
        ]
        if not self.over:
            lines.append(f"round {self.round + 1}: {' against '.join(self.hands[self.round])}")
            lines += [f"{a}: {quote_line(text, MESSAGE_LENGTH)}" for a, text in self.said.items()]
        return "\n".join([*lines, f"points: {' '.join(f'{p:.5g}' for p in self.points)}"])


def _upper(hands: tuple[str, str]) -> int:
    """Return the seat with the upper hand."""
    return 0 if beats(*hands) else 1


raw_env, env, parallel_env = simultaneous(TrustAndSplit)
