"""Bargaining: split a pool that each values differently (Lewis et al., 2017); OpenSpiel's.

Agents        player_0 (offers first), player_1; the values are private
Observation   chat: rules, then the pool, the own values and the offers so far
Action        text ending in what the own side keeps, e.g. [keep 1-0-2], or in [agree]
Reward        the value of the own share once a player agrees, 0 to 10
Ends          at an agreement, or without one after ten offers, which pays nothing
Options       game="bargaining(max_turns=6)": 2 to 20 offers; discount 0.5 to 1 per offer from the
              third on; prob_end 0 to 0.5
References    the best split pays each seat on average half of the highest joint value; computed
              over all of OpenSpiel's 1000 pools
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.openspiel import OpenSpielTask

ITEMS = ("books", "hats", "balls")
DEMANDS = (9.0, 8.0, 7.0, 6.0, 5.0)
"""The least that the expert asks for in its first, second, ... offer; the last one stays."""


class Bargaining(OpenSpielTask):
    env_id = "coevo/bargaining-v0"
    default_game: ClassVar[str] = "bargaining"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "max_turns": range(2, 21),
        "discount": (1.0, 0.95, 0.9, 0.8, 0.5),
        "prob_end": (0.0, 0.05, 0.1, 0.2, 0.5),
    }
    title: ClassVar[str] = "Bargaining"

    def rules_text(self, player: int) -> str:
        settings = self.game.get_parameters()
        later = [f"After {settings['max_turns']} offers without an agreement nobody gets anything."]
        if settings["discount"] < 1:
            later.append(f"From the third offer on all values shrink by {settings['discount']:g}.")
        if settings["prob_end"] > 0:
            later.append(f"After an offer the talk may end, with chance {settings['prob_end']:g}.")
        order = "first" if player == 0 else "second"
        return (
            "Bargaining for two players about a pool of books, hats and balls. Each item has a "
            "value for you, and another one for the other, which you do not see; for either the "
            "whole pool is worth 10. In turn the players offer a split: [keep 1-0-2] keeps one "
            "book, no hat and two balls, and leaves the rest to the other. Instead of an offer a "
            "player may agree to the last one. Then each gets the value of its share. "
            f"{' '.join(later)}\n"
            f"You are player_{player} and offer {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        if action == state.agree_action():
            return "agree"
        return f"keep {'-'.join(map(str, kept(state, action)))}"

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        pool, values = state.instance().pool, state.instance().values[player]
        left = int(self.game.get_parameters()["max_turns"]) - len(state.offers())
        said = [f"player_{i % 2} keeps {_row(o.quantities)}" for i, o in enumerate(state.offers())]
        worth = ", ".join(f"{n[:-1]} {v}" for v, n in zip(values, ITEMS, strict=True))
        return (
            f"Pool: {_row(pool)}.\n"
            f"Worth of one to you: {worth}.\n"
            f"Offers: {'; '.join(said) or 'none yet'}.\n"
            f"Offers left, yours and the other's: {left}."
        )

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        now, offers = state.instance(), state.offers()
        rows = ["-".join(map(str, row)) for row in (now.pool, now.values[player])]
        last = "-".join(map(str, offers[-1].quantities)) if offers else "nothing"
        left = int(self.game.get_parameters()["max_turns"]) - len(offers)
        return f"Pool {rows[0]}, worth {rows[1]} to you. Other keeps {last}. Offers left: {left}"

    def terse_moves(self, state: pyspiel.State, player: int) -> str:
        last = self.name_of(state, player, state.legal_actions()[-1])
        offer = f"keep {'-'.join(map(str, state.instance().pool))}"
        return f"{offer} or less{', agree' if last == 'agree' else ''}"

    def draw_state(self, state: pyspiel.State) -> str:
        if not state.history():
            return "no pool yet"
        now = state.instance()
        lines = [f"pool: {_row(now.pool)}"]
        lines += [f"worth to player_{p}: {_row(values)}" for p, values in enumerate(now.values)]
        for number, offer in enumerate(state.offers()):
            lines.append(f"player_{number % 2} keeps {_row(offer.quantities)}")
        return "\n".join(lines)

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Ask for less from offer to offer, and agree to what is as good as the next demand.

        Of the splits that are worth enough it offers those that leave the most items, and with the
        last word it takes what it can get.
        """
        values, pool, offers = (
            state.instance().values[player],
            state.instance().pool,
            state.offers(),
        )
        made = [o for i, o in enumerate(offers) if i % 2 == player]
        demand = DEMANDS[min(len(made), len(DEMANDS) - 1)]
        last = len(offers) + 1 >= int(self.game.get_parameters()["max_turns"])
        if offers:
            share = sum(
                v * (n - k) for v, n, k in zip(values, pool, offers[-1].quantities, strict=True)
            )
            if share >= demand or (last and share > 0):
                return {state.agree_action(): 1.0}
        worth = {
            a: sum(v * k for v, k in zip(values, kept(state, a), strict=True))
            for a in state.legal_actions()
            if a != state.agree_action()
        }
        enough = [a for a, w in worth.items() if w >= demand]
        fewest = min(sum(kept(state, a)) for a in enough)
        return {a: 1.0 for a in enough if sum(kept(state, a)) == fewest}


def kept(state: pyspiel.State, action: int) -> tuple[int, ...]:
    """Return the books, hats and balls that an offer keeps."""
    said = str(state.action_to_string(0, action))
    return tuple(int(word) for word in said.replace(",", " ").split() if word.isdigit())


def best_split(pool: Sequence[int], values: Sequence[Sequence[int]]) -> int:
    """Return the highest joint value of a split: every item goes to who values it more.

    >>> best_split([1, 2, 3], [[8, 1, 0], [4, 0, 2]])
    16
    """
    return sum(n * max(pair) for n, pair in zip(pool, zip(*values, strict=True), strict=True))


def _row(numbers: Sequence[int]) -> str:
    return ", ".join(f"{name} {n}" for n, name in zip(numbers, ITEMS, strict=True))


raw_env, env = turn_based(Bargaining)
