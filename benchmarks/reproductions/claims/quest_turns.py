"""How many turns an errand needs: success against the turns allowed, and against the house."""

from collections.abc import Callable

from coevo.agents.load import load_agent
from coevo.benchmarks.reproductions.claim import Claim, Expect, Measures
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.suites.probes import probe, run_probe
from coevo.benchmarks.suites.suite import Settings

GAMES = 200
PLAYERS = {"most": "expert:0.8", "half": "expert:0.5", "random": "random"}
LABELS = {"most": "right 4 times of 5", "half": "right every other time", "random": "at random"}
TURNS, HOUSES = ("5", "3", "2", "1.5", "1"), ("2", "4", "8", "16")


def played(name: str) -> Callable[[int], Measures]:
    """Return what plays the probes `turns` and `house` with an agent."""

    def measure(seed: int) -> Measures:
        found: dict[str, float] = {}
        for cases in ("turns", "house"):
            settings = Settings(games=GAMES, seed=seed)
            nowhere = ResultsFolder(None, "evaluation")
            rows = run_probe(load_agent(name), probe(cases), settings, nowhere)
            found |= {f"{cases}_{k}": row.value or 0.0 for k, row in enumerate(rows)}
        rise = found["turns_0"] - found["turns_4"]
        return {**found, "knee": (found["turns_1"] - found["turns_4"]) / rise}

    return measure


CLAIM = Claim(
    property="""Success in an errand rises with the turns allowed, most of it up to three times the
        shortest way for a player that mostly knows it, and falls as the house grows for one that
        does not.""",
    source="""A Practitioner's Guide to Multi-turn Agentic Reinforcement Learning, 2025,
        arXiv 2510.01132 (turns allowed and sizes of a TextWorld, one at a time); bounds ours""",
    minutes=3.0,
    seeds=3,
    on="scripted",
    setting=f"""`coevo/quest-v0` with one errand, {GAMES} start states, by the probes `turns` (4
        rooms, 3 objects; turns allowed from once to five times the shortest way) and `house` (2
        rooms and 1 object up to 16 and 12, three times the shortest way). Players are the expert
        who makes the right move with probability .8 or .5, and random moves.""",
    measured="""Share of errands done; of the rise in success from once to five times the shortest
        way, the share that three times brings.""",
    chosen="""Bounds after a look at one seed of each player; that the knee lies between once and
        three times was expected before.""",
    limits="""Players are scripts; `quest_matrix` trains on easy and on hard quests.""",
    arms={arm: played(name) for arm, name in PLAYERS.items()},
    expect=(
        *(
            Expect(f"{turns} times the shortest way, {label}", f"{arm}.turns_{k}")
            for arm, label in LABELS.items()
            for k, turns in enumerate(TURNS)
        ),
        *(
            Expect(f"{rooms} rooms, {label}", f"{arm}.house_{k}")
            for arm, label in LABELS.items()
            for k, rooms in enumerate(HOUSES)
        ),
        Expect("share of the rise by three times, 4 of 5", "most.knee", low=0.9),
        Expect("share of the rise by three times, every other", "half.knee"),
        Expect("share of the rise by three times, random", "random.knee"),
        Expect("4 of 5: three times over once", "most.turns_1 - most.turns_4", low=0.2),
        Expect("at random: 2 rooms over 16", "random.house_0 - random.house_3", low=0.2),
    ),
)
