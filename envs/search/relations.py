"""What invented worlds are about: types of entities, relations between them, sentences for both."""

from coevo.envs.search.grammar import Relation

COMPACT = (
    Relation("capital", "land", "town", ("capital",)),
    Relation("mayor", "town", "person", ("mayor",)),
    Relation("twin", "town", "town", ("twin",)),
    Relation("home", "person", "town", ("home",)),
    Relation("boss", "person", "person", ("boss",)),
    Relation("friends", "person", "person", ("friend",), functional=False),
)
"""Relations of the compact world."""
COMPACT_SHARES = {"land": 1, "town": 2, "person": 3}

WIDE = (
    Relation(
        "born_in",
        "person",
        "city",
        ("birthplace", "native city"),
        ("{s} was born in {o}.", "The birthplace of {s} is {o}.", "{o} is where {s} was born."),
    ),
    Relation(
        "mentor",
        "person",
        "person",
        ("mentor", "first teacher"),
        ("The mentor of {s} was {o}.", "{s} learned everything from {o}.", "{o} taught {s}."),
    ),
    Relation(
        "works_for",
        "person",
        "org",
        ("employer",),
        ("{s} works for {o}.", "The employer of {s} is {o}.", "{s} is paid by {o}."),
    ),
    Relation(
        "in_region",
        "city",
        "region",
        ("region",),
        ("{s} lies in {o}.", "The region of {s} is {o}.", "{s} is a city of {o}."),
    ),
    Relation(
        "mayor",
        "city",
        "person",
        ("mayor", "head of the council"),
        ("The mayor of {s} is {o}.", "{s} is governed by {o}.", "{o} heads the council of {s}."),
    ),
    Relation(
        "founder",
        "org",
        "person",
        ("founder",),
        ("{s} was founded by {o}.", "The founder of {s} is {o}.", "{o} set up {s}."),
    ),
    Relation(
        "hq",
        "org",
        "city",
        ("head office", "seat"),
        ("The head office of {s} is in {o}.", "{s} has its seat in {o}.", "{s} is run from {o}."),
    ),
    Relation(
        "capital",
        "region",
        "city",
        ("capital",),
        ("The capital of {s} is {o}.", "{s} is ruled from {o}.", "{o} is the capital of {s}."),
    ),
    Relation(
        "river",
        "city",
        "river",
        ("river",),
        ("The river of {s} is the {o}.", "{s} stands on the {o}.", "The {o} flows through {s}."),
    ),
    Relation(
        "mouth",
        "river",
        "city",
        ("mouth", "port"),
        ("The mouth of the {s} is at {o}.", "The {s} meets the sea at {o}.", "{o} is its port."),
    ),
    Relation(
        "author",
        "book",
        "person",
        ("author", "writer"),
        ("The author of {s} is {o}.", "{s} was written by {o}.", "{o} wrote {s}."),
    ),
    Relation(
        "setting",
        "book",
        "city",
        ("setting", "scene"),
        ("The setting of {s} is {o}.", "{s} takes place in {o}.", "{o} is the scene of {s}."),
    ),
)
"""Relations of the wide world, all functional."""
MEMBERS = Relation(
    "members",
    "org",
    "person",
    ("member",),
    ("The members of {s} include {o}.", "{o} is a member of {s}.", "{s} counts {o} as a member."),
    functional=False,
)
"""The relation of the wide world that has no single answer."""
WIDE_SHARES = {"person": 4, "city": 3, "org": 2, "book": 1, "region": 1, "river": 1}

FILLER = (
    "Little else is recorded.",
    "Visitors rarely stay for long.",
    "The archives of that year were lost.",
    "Opinions about this differ.",
    "A short notice appeared in the almanac.",
    "Winters are said to be mild.",
    "Nobody has counted the steps.",
    "The festival is held in spring.",
)
