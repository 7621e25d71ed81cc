"""Hanabi: play cards in order that only the partner sees (Bard et al., 2020); OpenSpiel's `hanabi`.

Agents        player_0 (moves first), player_1; each sees the other's cards, not its own
Observation   chat: rules, then what the partner did, stacks, tokens, discards, the partner's cards
              and what is known of the own ones
Action        text ending in [play 1], [discard 1], [tell red], [tell 2], ...
Reward        the change of the common score for both: 1 for each card played, all of it lost with
              the last life
Ends          when the last life is lost, all stacks are complete, or each seat has moved once more
              after the last card was drawn
Options       game="hanabi(colors=3,...)": colors and ranks 1 to 5, hand_size 2 to 5,
              max_information_tokens 1 to 8, max_life_tokens 1 to 3
References    no play scores more than colours times ranks, nor more than one for each card that is
              drawn and one more for each seat: 25 here, 4 in Mini Hanabi and 4 in Simple Hanabi
              (the sizes of MARS, arXiv 2510.15414)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.openspiel import OpenSpielTask
from coevo.envs.games.states import clean_name, decisions

COLOURS = {"R": "red", "Y": "yellow", "G": "green", "W": "white", "B": "blue"}
SHORT = 2
"""Cards in the deck from which on the expert gives any hint rather than use up the deck."""
COPIES = "three cards of rank 1, one of the highest rank and two of every other"


class Hanabi(OpenSpielTask):
    """Hanabi for two partners, with a deck of any size."""

    env_id = "coevo/hanabi-v0"
    default_game: ClassVar[str] = (
        "hanabi(players=2,colors=5,ranks=5,hand_size=5,max_information_tokens=8,max_life_tokens=3)"
    )
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "colors": range(1, 6),
        "ranks": range(1, 6),
        "hand_size": range(2, 6),
        "max_information_tokens": range(1, 9),
        "max_life_tokens": range(1, 4),
    }
    title: ClassVar[str] = "Hanabi"

    def rules_text(self, player: int) -> str:
        size = self.game.get_parameters()
        colours = ", ".join(list(COLOURS.values())[: size["colors"]])
        order = "first" if player == 0 else "second"
        return (
            f"Hanabi for two partners, who win or lose together. The deck has the colours "
            f"{colours} and the ranks 1 to {size['ranks']}: in every colour {COPIES}. Each holds "
            f"{size['hand_size']} cards, which only the partner sees. You build one stack of each "
            "colour, from rank 1 up. In turn a player does one of these. Play a card: if it is the "
            "next one of its stack it scores 1 point, else it is lost and costs a life. Discard a "
            "card: it is lost, and a token comes back. Tell, for one token: name a colour or a "
            "rank that the partner holds, and all cards of it are shown. After playing or "
            "discarding the cards close up and a new one comes in at the end. A complete stack "
            f"brings a token back too. There are {size['max_life_tokens']} lives, and at most "
            f"{size['max_information_tokens']} tokens; with the last life all points are lost. "
            "When the deck is empty each player moves once more.\n"
            f"You are player_{player} and move {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return move_name(state, player, action)

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        now = table(state, player)
        since = partner_moves(state, player)
        news = f"Since your last move: player_{1 - player} did: {since}.\n" if since else ""
        partner = "; ".join(
            f"{n}: {COLOURS[c.colour]} {c.rank}, which knows {_hinted(c)}"
            for n, c in enumerate(now.partner, start=1)
        )
        own = "; ".join(f"{n}: {_possible(c)}" for n, c in enumerate(now.own, start=1))
        return (
            f"{news}Lives {now.lives}, tokens {now.tokens}, cards in the deck {now.deck}.\n"
            f"Stacks: {', '.join(f'{COLOURS[c]} {n}' for c, n in now.stacks.items())}. "
            f"Discarded: {now.discards or 'nothing'}.\n"
            f"Your partner's cards: {partner}.\nYour cards: {own}."
        )

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        now = table(state, player)
        stacks = " ".join(f"{c}{n}" for c, n in now.stacks.items())
        partner = " ".join(f"{c.colour}{c.rank}" for c in now.partner)
        own = " ".join(c.hint for c in now.own)
        return f"Lives {now.lives} tokens {now.tokens}. Stacks {stacks}. Other {partner}. You {own}"

    def terse_moves(self, state: pyspiel.State, player: int) -> str:
        names = list(self.legal_moves(state, player))
        told = [name.removeprefix("tell ") for name in names if name.startswith("tell")]
        kinds = [k for k in ("play", "discard") if any(n.startswith(k) for n in names)]
        numbered = [f"{k} 1-{len(table(state, player).own)}" for k in kinds]
        return ", ".join([*numbered, *([f"tell {'/'.join(told)}"] if told else [])])

    def draw_state(self, state: pyspiel.State) -> str:
        return str(state).strip()

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Play what must fit, tell what can be played, discard what is of no use or the oldest."""
        now = table(state, player)
        by_name = {self.move_name(state, player, a): a for a in state.legal_actions()}
        late = telling(now, anything=True) if now.deck <= SHORT else ()
        wanted = [*fitting(now), *telling(now), *late, *useless(now), "discard 1"]
        chosen = next((name for name in wanted if name in by_name), None)
        return {by_name[chosen] if chosen else state.legal_actions()[-1]: 1.0}


@dataclass(frozen=True)
class Card:
    """One card as its owner or the partner knows it."""

    colour: str
    """Letter of the colour; X where the seat that looks does not see it."""
    rank: str
    """Rank; X where the seat that looks does not see it."""
    hint: str
    """What hints revealed to its owner: colour and rank, X for what was not named."""
    colours: str
    """Colours that it may have, for its owner."""
    ranks: str
    """Ranks that it may have, for its owner."""

    def fits(self, stacks: Mapping[str, int]) -> bool:
        """Return whether its owner knows that it is the next one of its stack."""
        return all(stacks[c] + 1 == int(r) for c in self.colours for r in self.ranks)

    def is_useless(self, stacks: Mapping[str, int]) -> bool:
        """Return whether its owner knows that its stack is past it."""
        return all(stacks[c] >= int(r) for c in self.colours for r in self.ranks)


@dataclass(frozen=True)
class HanabiView:
    """The table as one seat sees it."""

    lives: int
    tokens: int
    stacks: dict[str, int]
    deck: int
    discards: str
    own: tuple[Card, ...]
    partner: tuple[Card, ...]


_CARD = re.compile(r"^(..) \|\| (..)\|([A-Z]+)([0-9]+)$", re.MULTILINE)


def table(state: pyspiel.State, player: int) -> HanabiView:
    """Read OpenSpiel's text of what a player sees."""
    seen = str(state.observation_string(player))
    fields = dict(re.findall(r"^([A-Z][a-z ]+): ?(.*)$", seen, re.MULTILINE))
    hands = [
        tuple(Card(c[0][0], c[0][1], *c[1:]) for c in _CARD.findall(hand))
        for hand in seen.partition("Hands:")[2].split("-----")
    ]
    own = next(i for i, hand in enumerate(hands) if all(c.rank == "X" for c in hand))
    return HanabiView(
        lives=int(fields["Life tokens"]),
        tokens=int(fields["Info tokens"]),
        stacks={pile[0]: int(pile[1]) for pile in fields["Fireworks"].split()},
        deck=int(fields["Deck size"]),
        discards=fields["Discards"].strip(),
        own=hands[own],
        partner=hands[1 - own],
    )


def most_points(game: pyspiel.Game) -> int:
    """Return a bound on the score: a card that is played is replaced as long as there is a deck.

    >>> most_points(pyspiel.load_game(Hanabi.default_game))
    25
    """
    size = game.get_parameters()
    colours, ranks = int(size["colors"]), int(size["ranks"])
    copies = 3 if ranks == 1 else 3 + 2 * (ranks - 2) + 1
    deck = colours * copies - game.num_players() * int(size["hand_size"])
    return min(colours * ranks, deck + game.num_players())


def move_name(state: pyspiel.State, player: int, action: int) -> str:
    """Name a move: play, discard or tell."""
    kind, *_, last = clean_name(state.action_to_string(player, action)).split()
    if kind == "Reveal":
        return f"tell {COLOURS.get(last, last)}"
    return f"{kind.lower()} {int(last) + 1}"


def partner_moves(state: pyspiel.State, player: int) -> str:
    """Name what the other has done since this seat's last move; drawn cards are left out."""
    said: list[str] = []
    for past, actions in decisions(state):
        if player in actions:
            said = []
        said += [move_name(past, p, a) for p, a in actions.items() if p == 1 - player]
    return ", ".join(said)


def fitting(now: HanabiView) -> Iterator[str]:
    """Name the plays that must succeed."""
    return (f"play {n}" for n, card in enumerate(now.own, start=1) if card.fits(now.stacks))


def useless(now: HanabiView) -> Iterator[str]:
    """Name the discards that lose nothing."""
    return (f"discard {n}" for n, c in enumerate(now.own, start=1) if c.is_useless(now.stacks))


def telling(now: HanabiView, anything: bool = False) -> Iterator[str]:
    """Name what to tell of the partner's cards that can be played and are not known to be.

    What makes a card known to fit comes first.
    """
    wanted: list[tuple[bool, str]] = []
    for card in now.partner:
        next_one = now.stacks[card.colour] + 1 == int(card.rank)
        if not (next_one or anything) or card.fits(now.stacks):
            continue
        by_rank = Card(card.colour, card.rank, "", card.colours, card.rank)
        by_colour = Card(card.colour, card.rank, "", card.colour, card.ranks)
        for told, name in ((by_rank, card.rank), (by_colour, COLOURS[card.colour])):
            if (told.colours, told.ranks) != (card.colours, card.ranks):
                wanted.append((not told.fits(now.stacks), f"tell {name}"))
    return (name for _, name in sorted(wanted))


def _hinted(card: Card) -> str:
    named = [COLOURS.get(card.hint[0], ""), card.hint[1].replace("X", "")]
    return " ".join(word for word in named if word) or "nothing"


def _possible(card: Card) -> str:
    return f"{' or '.join(COLOURS[c] for c in card.colours)}, rank {' or '.join(card.ranks)}"


raw_env, env = turn_based(Hanabi)
