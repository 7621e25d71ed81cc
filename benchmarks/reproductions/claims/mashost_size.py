"""MasHost: a price on every action makes teams small, and they stay as often right."""

import re

from coevo.agents.population import MakePolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import ADAM, Arm, Trained, World, sized
from coevo.envs.discussion.graph_builder import ROLES
from coevo.trainers.schedules import Steps

ROWS, MOVES, LAST = 512, 64, 20
PRICE, EXEMPT = "advantage.transform.add_turn_reward.w", 20
"""What the price is multiplied with, and the updates in which that is 0."""
_AGENT, _NEW = re.compile(rf"\d ({'|'.join(ROLES)})"), re.compile(r"New (\w+) reads")


def read(prompt: str) -> str:
    """Return what the table sees: the question's kind, how many agents, and what the last one is.

    >>> read("Team for a sum of large numbers: 1 writer, 2 lookup (reads 1). New critic reads?")
    'sum, 2 lookup, new critic'
    >>> read("Team for a fact of an encyclopaedia: nobody. [add writer], [exit]?")
    'fact, 0'
    """
    agents, new = _AGENT.findall(prompt), _NEW.search(prompt)
    kind = "sum" if "a sum" in prompt else "fact"
    team = " ".join([str(len(agents)), *agents[-1:]])
    return ", ".join([kind, team, *([f"new {new[1]}"] if new else [])])


def _maker(seed: int) -> MakePolicy:
    return sized(ROWS, MOVES, sees=read)


def _measure(end: Trained) -> dict[str, float]:
    return {name: end.last(LAST, f"outcome/{name}") for name in ("size", "accuracy")}


CLAIM = Claim(
    property="""Where further agents make an answer no more right, a price on the action that adds
        one makes teams less than half as large as without it, and they answer as often right.""",
    source="""Yang et al. 2025, MasHost, arXiv 2506.08507 (a policy that builds teams, penalties of
        single actions, updates without them at first); the formula is a stand-in, figures are
        ours""",
    minutes=2.0,
    on="table",
    setting="""`coevo/graph_builder-v0` with costs apart and `guess=0.9`: a question asks for a sum
        or a fact, and whichever agent answers is right in 90 % of cases. A table sees the kind of
        the question, how many agents there are and what the last one is. `mashost`, its variant
        `free`, in which nothing costs, and `summed`, in which the outcome is less what the team
        costs: 64 episodes in groups of 8 an update, 80 updates of Adam with 0.2, the first 20
        without costs.""",
    measured="""Agents of a team, and how often its answer is right, in the last 20 updates.""",
    theory="""Any team of one or more is right in about 90 % of cases, and none is never right: the
        outcome says to add an agent, and nothing of how many.""",
    chosen="""Sizes and the bounds, before anything was run; `guess`, after that. With guesses right
        in 30 % of cases, the default, teams had 1.17 agents with the price, 1.68 without and 1.00
        with costs in the outcome (means of three seeds): there the outcome alone keeps teams small,
        since the agent that was added last gives the answer.""",
    limits="""Agents are scripts of stated skill. Costs in the outcome make teams as small: that a
        price on single actions is better is not shown. HRPO itself is not held: the formula is a
        stand-in, see `mashost`.""",
    world=World("coevo/graph_builder-v0", 80, {"apart": True, "guess": 0.9}, _maker),
    changes={**ADAM, "collect.episodes": 64, "optim.lr": 0.2},
    arms={
        "mashost": Arm("mashost", {"schedules": {PRICE: Steps(values=(1.0,), every=EXEMPT)}}),
        "free": Arm("mashost:free"),
        "summed": Arm("mashost:summed"),
    },
    measure=_measure,
    expect=(
        Expect("size, price on actions", "mashost.size"),
        Expect("size, nothing costs", "free.size"),
        Expect("size, costs in the outcome", "summed.size"),
        Expect("right, price on actions", "mashost.accuracy", 0.9),
        Expect("right, nothing costs", "free.accuracy", 0.9),
        Expect("right, costs in the outcome", "summed.accuracy", 0.9),
        Expect("size, nothing costs / price on actions", "free.size / mashost.size", low=2.0),
        Expect("right, price - nothing costs", "mashost.accuracy - free.accuracy", low=-0.02),
    ),
)
