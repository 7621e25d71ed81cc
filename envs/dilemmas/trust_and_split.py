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
(arXiv 2511.19405); all hands of a play follow from its seed, whatever the players do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from coevo.envs.core.env import ANSWER_FORMAT
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import aec_factory
from coevo.envs.core.parsing import answer
from coevo.envs.dilemmas.options import flag, hand_values, rising
from coevo.envs.dilemmas.rounds import (
    MESSAGE_FORMAT,
    MESSAGE_LENGTH,
    TERSE_MESSAGE,
    RepeatedGame,
)
from coevo.envs.dilemmas.split import HANDS, beats, split_payoff

VALUES = (10.0, 1.0)
COINS = 10
CLAIMS_LISTED = 4
"""Claims that a terse prompt writes out; of more it gives the first and the last."""


class TrustAndSplit(RepeatedGame):
    """Repeated division of coins with private hands and cheap talk.

    Args:
        coins: to divide each round.
        values: worth of a coin to the upper and to the lower hand.
        claims: numbers of coins that may be claimed; None for 0 to `coins`.
        alternate: let the upper hand alternate; who has it first is drawn.
        public: show both hands.
        messages: whether both speak before they claim.
        **kwargs: of RepeatedGame.
    """

    env_id = "coevo/trust_and_split-v0"

    def __init__(
        self,
        *,
        coins: int = COINS,
        values: Sequence[float] | str = VALUES,
        claims: Sequence[int] | str | None = None,
        alternate: bool = False,
        public: bool = False,
        messages: bool = True,
        **kwargs: Any,
    ) -> None:
        if isinstance(coins, bool) or not isinstance(coins, int) or not 1 <= coins <= 100:
            raise ConfigError(f"coins={coins!r} must be a whole number from 1 to 100")
        self.coins = coins
        self.values = hand_values(values)
        self.claims = rising("claims", claims, coins)
        self.alternate, self.public = flag("alternate", alternate), flag("public", public)
        super().__init__(messages=messages, **kwargs)
        given = {
            "coins": (coins, COINS),
            "alternate": (alternate, False),
            "public": (public, False),
        }
        given |= {"messages": (messages, True), "rounds": (self.rounds, 10)}
        self.options |= {name: value for name, (value, usual) in given.items() if value != usual}
        if self.values != VALUES:
            self.options["values"] = list(self.values)
        if claims is not None:
            self.options["claims"] = [int(c) for c in self.claims]
        self.payoff_range = (0.0, float(self.rounds * coins * max(self.values)))

    # ---- Rules ----------------------------------------------------------------------------------

    def _seats(self) -> Sequence[str]:
        return ["player_0", "player_1"]

    def _choices(self, agent: str) -> Sequence[str]:
        return self.claims

    def _new_game(self) -> None:
        self.hands = [self._deal(number) for number in range(self.rounds)]
        self.history: list[dict[str, Any]] = []
        self.points = np.zeros(2)

    def _deal(self, number: int) -> tuple[str, str]:
        """Draw two different hands; where the upper hand alternates, swap them if need be."""
        first, second = (HANDS[int(i)] for i in self.np_random.choice(3, size=2, replace=False))
        wanted = (self.starter + number) % 2
        if self.alternate and _upper((first, second)) != wanted:
            first, second = second, first
        return first, second

    def _worth(self, number: int) -> tuple[float, float]:
        """Give what a coin is worth to each seat in a round."""
        high, low = self.values
        return (high, low) if _upper(self.hands[number]) == 0 else (low, high)

    def _resolve(self, moves: dict[str, str]) -> dict[str, float]:
        claims = [int(moves[a]) for a in self.possible_agents]
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
        return dict(zip(self.possible_agents, map(float, paid), strict=True))

    def _facts(self, agent: str) -> dict[str, Any]:
        me = self.possible_agents.index(agent)
        hands = self.hands[self.round]
        shown = {"hands": list(hands)} if self.public else {}
        return {
            "history": [dict(entry) for entry in self.history],
            "coins": self.coins,
            "values": list(self.values),
            "hand": hands[me],
            **shown,
        }

    def _outcome(self) -> dict[str, float]:
        """Give efficiency, mean claims by own value and mean rewards, over the rounds played."""
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
            **{f"mean_reward/{a}": float(m) for a, m in zip(self._seats(), means, strict=True)},
        }

    # ---- Words: full style ----------------------------------------------------------------------

    def _rules(self, agent: str) -> str:
        high, low = self.values
        other = self.others(agent)[0]
        hidden = "Both hands are shown." if self.public else "You see only your own hand."
        hands = "different every round and drawn at random"
        if self.alternate:
            hands = "different every round, so that the upper hand alternates"
        example = ANSWER_FORMAT.format(example=answer(self.claims[-1]))
        return (
            f"You are {agent}. With {other} you divide {self.coins} coins in each of {self.rounds} "
            "rounds. In every round each of you holds another hand, rock, paper or scissors, "
            f"{hands}. Rock beats scissors, scissors beat paper, paper beats rock: whoever holds "
            f"the better one has the upper hand. To the upper hand a coin is worth {high:g} points "
            f"in that round, to the lower hand {low:g}. {hidden}\n{self._talk_rule()}"
            "Then both say at the same time how many coins they keep. If the two numbers add up "
            f"to {self.coins} or less, each gets what it said and the rest is lost; if they add up "
            "to more, the coins are shared in proportion to the numbers.\n"
            f"Your goal is to get as many points as you can over all rounds.\n{example}"
            f"{chr(10) + MESSAGE_FORMAT if self.messages else ''}"
        )

    def _talk_rule(self) -> str:
        if not self.messages:
            return ""
        return (
            f"First each of you sends the other one message, up to {MESSAGE_LENGTH} characters; "
            "who speaks second reads the first message before. The order changes every round.\n"
        )

    def _situation(self, agent: str) -> str:
        lines = [*self._news(agent), *self.heard(agent)]
        if self.speaking(agent):
            return "\n".join([*lines, f"Your message to {self.others(agent)[0]}?"])
        moves = ", ".join(map(answer, self.claims))
        return "\n".join([*lines, f"How many coins do you keep? Legal moves: {moves}"])

    def _news(self, agent: str) -> list[str]:
        """Tell of the last round and the new hand, once a round."""
        if self.messages and not self.speaking(agent):
            return []
        me, other = self.possible_agents.index(agent), self.others(agent)[0]
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

    # ---- Words: terse style ---------------------------------------------------------------------

    def _terse(self, agent: str) -> str:
        me, hands = self.possible_agents.index(agent), self.hands[self.round]
        high, low = (f"{v:g}" for v in self.values)
        shown = f"Win {high}, lose {low}. You: {hands[me]}."
        if self.public:
            mine, theirs = (high, low) if _upper(hands) == me else (low, high)
            shown = f"Each is worth {mine} to you, {theirs} to other."
        parts = [f"Split {self.coins}.", shown, self._terse_last(me)]
        parts += self.heard(agent, TERSE_MESSAGE)
        return " ".join([*parts, "Answer [say: text]" if self.speaking(agent) else self._keep()])

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

    def _draw(self) -> str:
        lines = [
            f"round {number}: {' against '.join(hands)}, claims {entry['claims']}, "
            f"points {' '.join(f'{p:.4g}' for p in entry['paid'])}"
            for number, (hands, entry) in enumerate(
                zip(self.hands, self.history, strict=False), start=1
            )
        ]
        if not self.over:
            lines.append(f"round {self.round + 1}: {' against '.join(self.hands[self.round])}")
            lines += [f'{a}: "{text}"' for a, text in self.said.items()]
        return "\n".join([*lines, f"points: {' '.join(f'{p:.5g}' for p in self.points)}"])


def _upper(hands: tuple[str, str]) -> int:
    """Give the seat with the upper hand."""
    return 0 if beats(*hands) else 1


raw_env = TrustAndSplit
env = aec_factory(TrustAndSplit)
