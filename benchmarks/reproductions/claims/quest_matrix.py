"""Quests: who learns in small houses fails in large ones, and less so the other way round."""

from collections.abc import Callable
from statistics import fmean

from coevo.agents.agent import Agent
from coevo.agents.registry import scripted
from coevo.benchmarks.reproductions.claim import Claim, Expect, Found, Measures
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, played, sized

ENV, UPDATES, GAMES = "coevo/quest-v0", 80, 200
ROWS, WORDS = 4096, 10
"""Rows of a table; moves of three objects and four ways."""
HOUSES = {
    "easy": {"rooms": 2, "objects": 3, "steps": 1},
    "hard": {"rooms": 4, "objects": 3, "steps": 2},
}


def sees(terse: str) -> str:
    """Return what matters of a prompt beside the moves: the object, what is carried, the goal."""
    room = terse.removeprefix("You are in the ").partition(".")[0]
    carried = terse.partition("You carry ")[2].partition(".")[0]
    thing, _, rest = terse.partition(": put the ")[2].partition(" down in the ")
    return f"{thing} {carried} {rest.partition('.')[0] == room}"


def _world(level: str) -> World:
    options = {**HOUSES[level], "reward": "step"}
    return World(ENV, UPDATES, options, lambda seed: sized(ROWS, WORDS, sees=sees))


def _done(agent: Agent, seed: int) -> dict[str, float]:
    """Return the share of errands that an agent does in either kind of house."""
    return {
        level: played(_world(level), agent, GAMES, seed)["done"] / HOUSES[level]["steps"]
        for level in HOUSES
    }


def _measure(end: Trained) -> Measures:
    return _done(end.policy(), end.seed)


def _lost(trained: str, other: str) -> Callable[[Found], list[float]]:
    """Return what is lost in a house by having learnt in the other one, seed by seed."""
    return lambda found: [
        own - away for own, away in zip(found[trained][trained], found[other][trained], strict=True)
    ]


def _asymmetry(found: Found) -> list[float]:
    hard, easy = _lost("hard", "easy")(found), _lost("easy", "hard")(found)
    return [fmean(hard) - fmean(easy)]


CLAIM = Claim(
    property="""Who learns in small houses on one errand does fewer errands in large houses than who
        learnt there, and loses more by the change of house than who comes from large houses to
        small ones.""",
    source="""A Practitioner's Guide to Multi-turn Agentic Reinforcement Learning, 2025,
        arXiv 2510.01132 (training on easy and hard TextWorlds, tests on both); bounds ours""",
    minutes=3.0,
    seeds=3,
    on="table",
    setting=f"""`coevo/quest-v0` with 3 objects and three times the shortest way: 2 rooms and one
        errand (easy), or 4 rooms and two (hard). A table sees the object that is wanted, what is
        carried, whether the room is the right one, and the moves, which tell the doors and what
        lies there; no map and no memory. GRPO, {UPDATES} updates of 32 episodes, 8 of each house;
        every errand is paid.""",
    measured=f"Share of errands done in {GAMES} other houses of either kind.",
    chosen="""Property and bounds before anything was run. Sizes after one seed with 6 rooms, 50
        updates and steps of 50, in which who learnt in hard houses did .12 of the errands there,
        where random moves do .08.""",
    limits="""The table cannot know a house that it was never in, so that what is learnt is to take
        what is wanted, to carry nothing else and to lay it down where it belongs.""",
    world=_world("easy"),
    changes={
        **PLAIN,
        "collect.episodes": 32,
        "collect.group_size": 8,
        "optim.lr": 100.0,
    },
    arms={
        "random": lambda seed: _done(scripted("random"), seed),
        "easy": Arm("grpo"),
        "hard": Arm("grpo", world=_world("hard")),
    },
    measure=_measure,
    expect=(
        Expect("easy houses, at random", "random.easy"),
        Expect("easy houses, learnt in easy ones", "easy.easy"),
        Expect("easy houses, learnt in hard ones", "hard.easy"),
        Expect("hard houses, at random", "random.hard"),
        Expect("hard houses, learnt in easy ones", "easy.hard"),
        Expect("hard houses, learnt in hard ones", "hard.hard"),
        Expect("easy houses: learnt there over random", "easy.easy - random.easy", low=0.2),
        Expect("hard houses: learnt there over random", "hard.hard - random.hard", low=0.1),
        Expect("hard houses: lost by who learnt in easy ones", _lost("hard", "easy"), low=0.05),
        Expect("easy houses: lost by who learnt in hard ones", _lost("easy", "hard")),
        Expect("how much more the former is", _asymmetry, low=0.0),
    ),
)
