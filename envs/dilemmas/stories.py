"""Scenes that tell a 2x2 game in words: what the choices are called, and what comes of them."""

from __future__ import annotations

from typing import NamedTuple

Ends = tuple[str, str, str, str]
"""What one player gets: both first; first alone; second alone; both second ("alone": the own choice
against the other's other one)."""


class Story(NamedTuple):
    """A game told as a scene; `{other}` is the other player's name."""

    game: str
    """Name of a 2x2 table of the catalogue, which pays."""
    scene: str
    choices: tuple[str, str]
    """Words of action 0 and of action 1; they are the moves."""
    ends: Ends
    """What player_0 gets, in words that rank as the payoffs do."""
    ends_of_second: Ends | None = None
    """What player_1 gets, where the game is not symmetric."""

    def end(self, player: int, own: int, other: int) -> str:
        """Return what comes of two choices for a player."""
        ends = self.ends if player == 0 else self.ends_of_second or self.ends
        return ends[2 * own + other]


DILEMMA, STAG, CHICKEN, SIDES = (
    "prisoners_dilemma",
    "stag_hunt",
    "chicken",
    "battle_of_sexes_melting_pot",
)

STORIES = {
    "suspects": Story(
        DILEMMA,
        "You and {other} are held for the same theft, in two cells. The police ask each of you to "
        "give evidence against the other.",
        ("keep silent", "give evidence"),
        (
            "both of you are held for a month",
            "you go to prison for ten years, and {other} goes free at once",
            "you go free at once, and {other} goes to prison for ten years",
            "both of you go to prison for five years",
        ),
    ),
    "bakeries": Story(
        DILEMMA,
        "You and {other} own the two bakeries on a square and set the price of bread for the week.",
        ("keep the price", "cut the price"),
        (
            "each of you has half of the customers and a good profit",
            "nearly all customers go to {other}, and you earn nothing",
            "nearly all customers come to you, and you have the largest profit of all",
            "each of you has half of the customers and a small profit",
        ),
    ),
    "river": Story(
        DILEMMA,
        "You and {other} lead two villages that drink from one river and have waste to get rid of. "
        "To carry it away takes work.",
        ("carry it away", "pour it in"),
        (
            "the water is clean, and you have done the work",
            "the water is dirty, and you have done the work as well",
            "the water is hardly dirty, and you have done no work",
            "the water is foul, and you have done no work",
        ),
    ),
    "hunters": Story(
        STAG,
        "You and {other} hunt in one forest. A deer takes two to catch, one at each end of the "
        "valley; a rabbit takes one.",
        ("wait for the deer", "chase rabbits"),
        (
            "you share a deer, which feeds you for weeks",
            "no deer is caught, and you go home hungry",
            "you have all the rabbits, enough for some days",
            "each of you has half of the rabbits, enough for a day or two",
        ),
    ),
    "workshop": Story(
        STAG,
        "You and {other} think of opening a workshop, which neither can run alone. Each has a job.",
        ("give up the job", "stay in the job"),
        (
            "the workshop opens, and you earn far more than before",
            "there is no workshop, and you have no job",
            "there is no workshop; you keep your job and are paid for extra hours",
            "there is no workshop; you keep your job as it is",
        ),
    ),
    "bridge": Story(
        CHICKEN,
        "You and {other} drive carts towards each other. The bridge between you has room for one.",
        ("give way", "drive on"),
        (
            "you both wait a little and cross in turn",
            "you wait long, and {other} crosses at once",
            "you cross at once, and {other} waits long",
            "the carts collide, and both are wrecks",
        ),
    ),
    "kitchen": Story(
        CHICKEN,
        "You and {other} share a flat. The kitchen has to be clean before the landlord comes.",
        ("clean it", "leave it"),
        (
            "it takes each of you half an hour",
            "it takes you an hour, and {other} rests",
            "you rest, and {other} cleans for an hour",
            "the landlord finds it dirty, and you both have to move out",
        ),
    ),
    "evening": Story(
        SIDES,
        "You and {other} want to spend the evening together and cannot reach each other. There is "
        "a concert, and there is a match.",
        ("go to the concert", "go to the match"),
        (
            "you are together, at what you like best",
            "you are alone all evening",
            "you are alone all evening",
            "you are together, at what you like less",
        ),
        (
            "you are together, at what you like less",
            "you are alone all evening",
            "you are alone all evening",
            "you are together, at what you like best",
        ),
    ),
    "plugs": Story(
        SIDES,
        "You and {other} build machines that are sold together, if one fits into the other. There "
        "are two kinds of plug.",
        ("build round plugs", "build square plugs"),
        (
            "the machines fit and sell, and the plug is the one you already make",
            "the machines do not fit, and nothing is sold",
            "the machines do not fit, and nothing is sold",
            "the machines fit and sell, but you have to buy new tools",
        ),
        (
            "the machines fit and sell, but you have to buy new tools",
            "the machines do not fit, and nothing is sold",
            "the machines do not fit, and nothing is sold",
            "the machines fit and sell, and the plug is the one you already make",
        ),
    ),
}
"""Every story by name."""
