"""A finite table of things and what is true of them, for games of questions and clues."""

from __future__ import annotations

PROPERTIES = (
    "flies",
    "swims",
    "has fur",
    "lays eggs",
    "has legs",
    "eats meat",
    "lives on farms",
    "fits in a hand",
)
_TABLE = """
bat      flies, has fur, has legs, eats meat, fits in a hand
bee      flies, lays eggs, has legs, lives on farms, fits in a hand
cat      has fur, has legs, eats meat, lives on farms
cow      has fur, has legs, lives on farms
dolphin  swims, eats meat
eagle    flies, lays eggs, has legs, eats meat
frog     swims, lays eggs, has legs, eats meat, fits in a hand
goose    flies, swims, lays eggs, has legs, lives on farms
mouse    has fur, has legs, lives on farms, fits in a hand
otter    swims, has fur, has legs, eats meat
salmon   swims, lays eggs, eats meat
snake    lays eggs, eats meat
"""
TRUE_OF: dict[str, frozenset[str]] = {
    name: frozenset(part.strip() for part in rest.split(","))
    for name, _, rest in (line.partition(" ") for line in _TABLE.strip().splitlines())
}
"""Thing -> the properties that it has."""
THINGS = tuple(TRUE_OF)


def table() -> str:
    """Return the table as lines of a prompt.

    >>> table().splitlines()[4]
    'dolphin: swims, eats meat'
    """
    return "\n".join(
        f"{thing}: {', '.join(p for p in PROPERTIES if p in has)}" for thing, has in TRUE_OF.items()
    )
