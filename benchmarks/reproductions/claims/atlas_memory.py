"""ATLAS: lessons that a teacher keeps in memory shorten a student's way; nothing is trained."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect, Measures, near
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.grids.quest import EXPLORER, Quest

ENV, OPTIONS = "coevo/quest-v0", {"rooms": 9, "objects": 6, "steps": 1, "cap": 40.0}
HOUSES, PHASES, ERRANDS = 20, 3, 6
SLIPS, RIGHT, ABOVE = 0.1, 0.8, 0.1
"""Share of wrong lessons, of right votes, and the variance of votes above which one arbitrates."""
Lesson = tuple[str, str]
"""What is known of, such as a door or an object; every lesson says which room."""


@dataclass
class Memory:
    """Lessons: the room behind a door, or where an object lies."""

    rooms: dict[Lesson, str] = field(default_factory=dict)
    written: int = 0
    wrong: int = 0
    """Lessons that were written, and those of them that were wrong."""
    passed: int = 0
    """Wrong ones that were kept."""
    arbitrated: int = 0

    def way(self, start: str, end: str | None) -> str | None:
        """Return the first step of a shortest way through known doors."""
        queue, seen = deque([(start, "")]), {start}
        while queue:
            room, first = queue.popleft()
            if room == end:
                return first
            for (of, heading), beyond in self.rooms.items():
                if of == room and beyond not in seen:
                    seen.add(beyond)
                    queue.append((beyond, first or f"go {heading}"))
        return None


def _walk(env: TextEnv, memory: Memory, rng: np.random.Generator) -> dict[Lesson, str]:
    """Do an errand by what is known, and at random where nothing is; return what was seen."""
    seen = dict[Lesson, str]()
    own = Memory(dict(memory.rooms))
    while env.awaiting:
        now = env.info(EXPLORER)
        for thing in now["here"]:
            seen.setdefault((thing, "lies"), now["room"])
        move = _move(own, now, env.task.legal(EXPLORER) or (), rng)
        env.step(f"[{move}]")
        if move.startswith("go") and env.awaiting:
            door = (now["room"], move.removeprefix("go "))
            seen[door] = own.rooms[door] = env.info(EXPLORER)["room"]
        thing = now["errand"][0]
        if own.rooms.get((thing, "lies")) == now["room"] and thing not in now["here"]:
            del own.rooms[thing, "lies"]
    return seen


def _move(
    own: Memory, now: Mapping[str, Any], legal: Sequence[str], rng: np.random.Generator
) -> str:
    thing, room = now["errand"]
    for wanted in (f"take {thing}", f"put {thing}" if now["room"] == room else ""):
        if wanted in legal:
            return wanted
    goal = room if now["carried"] == thing else own.rooms.get((thing, "lies"))
    known = own.way(now["room"], goal)
    doors = [move for move in legal if move.startswith("go")]
    return known if known and known in doors else doors[int(rng.integers(len(doors)))]


def _teach(memory: Memory, seen: Mapping[Lesson, str], arbiter: bool, rng: Any) -> None:
    """Write lessons, some of them wrong; keep those that the judges, or an arbiter, take."""
    for lesson, room in seen.items():
        if lesson in memory.rooms:
            continue
        others = sorted({*seen.values()} - {room})
        wrong = bool(others) and rng.random() < SLIPS
        votes = np.where(rng.random(3) < RIGHT, not wrong, wrong)
        escalated = arbiter and votes.var() > ABOVE
        memory.written += 1
        memory.wrong += wrong
        memory.arbitrated += escalated
        if not wrong if escalated else votes.mean() > 0.5:
            memory.rooms[lesson] = others[int(rng.integers(len(others)))] if wrong else room
            memory.passed += wrong


def _errands(start: int, count: int, rng: np.random.Generator) -> Iterator[TextEnv]:
    env = make(ENV, **OPTIONS)
    for _ in range(count):
        env.reset(seed=start)
        assert isinstance(env.task, Quest)
        rooms, places = env.task.rooms, env.task.place
        thing = sorted(places)[int(rng.integers(len(places)))]
        others = [name for cell, name in rooms.items() if cell != places[thing]]
        room = others[int(rng.integers(len(others)))]
        env.reset(seed=start, options={"errands": [[thing, room]]})
        yield env


def _longer(env: TextEnv) -> float:
    """Return the turns over those of the shortest way."""
    return env.episode.outcome["turns"] / env.episode.outcome["shortest"]


def taught(arbiter: bool) -> Callable[[int], Measures]:
    """Return what teaches a student over phases, and measures it with its memory frozen."""

    def measure(seed: int) -> Measures:
        rng, found = np.random.default_rng(seed), list[dict[str, float]]()
        memories = [Memory() for _ in range(HOUSES)]
        for number, memory in enumerate(memories):
            one: dict[str, float] = {}
            for phase in range(PHASES):
                took = []
                for env in _errands(HOUSES * seed + number, ERRANDS, rng):
                    seen = _walk(env, memory, rng)
                    took.append(_longer(env))
                    _teach(memory, seen, arbiter, rng)
                one[f"phase {phase + 1}"] = fmean(took)
            found.append(one)
        for number, (memory, one) in enumerate(zip(memories, found, strict=True)):
            others = {"frozen": memory, "none": Memory(), "elsewhere": memories[number - 1]}
            for name, known in others.items():
                took = []
                for env in _errands(HOUSES * seed + number, ERRANDS, rng):
                    _walk(env, known, rng)
                    took.append(_longer(env))
                one[name] = fmean(took)
        means = {key: fmean(one[key] for one in found) for key in found[0]}
        written, wrong, passed, asked = np.array(
            [[m.written, m.wrong, m.passed, m.arbitrated] for m in memories]
        ).sum(0)
        return {**means, "passed": passed / wrong, "asked": asked / written}

    return measure


CLAIM = Claim(
    property="""Lessons that are kept from a student's errands shorten the ways of later ones, and
        of others once the memory is frozen; an arbiter who is asked where judges disagree lets
        fewer wrong lessons pass than the judges alone.""",
    source="""ATLAS 2025, https://github.com/Arc-Computer/ATLAS (memory of lessons without
        gradients, tokens fall over phases, transfer with frozen memory; judges that escalate);
        bounds are ours""",
    minutes=1.0,
    on="scripted",
    setting=f"""`coevo/quest-v0`, {HOUSES} houses of 9 rooms and 6 objects, one errand an episode,
        {PHASES} phases of {ERRANDS} errands in a house. A scripted student walks known doors to
        where an object is known to lie, and at random otherwise. A scripted teacher writes down
        which door leads where and what lies where, a tenth of it wrong. Three judges are each right
        with probability {RIGHT}; where their votes have a variance above {ABOVE}, that is wherever
        they disagree, an arbiter decides who is always right; without one, the majority.""",
    measured="""Turns over those of the shortest way: by phase; with the memory frozen, on errands
        drawn anew; without a memory; with that of another house. Share of the wrong lessons that
        are kept, and of all lessons that the arbiter was asked about.""",
    theory="""Of three judges all are wrong in .008 of the cases, and two or three in .104; they
        disagree in .48.""",
    chosen="""Sizes and bounds before the figures; those of wrong lessons after a look at one seed,
        in which a share of all lessons was too small to tell.""",
    limits="Student, teacher and judges are scripts in the place of language models.",
    arms={"arbiter": taught(True), "majority": taught(False)},
    expect=(
        *(Expect(f"turns, phase {k}", f"arbiter.phase {k}") for k in range(1, PHASES + 1)),
        Expect("turns, memory frozen", "arbiter.frozen"),
        Expect("turns, no memory", "arbiter.none"),
        Expect("turns, memory of another house", "arbiter.elsewhere"),
        Expect("turns, memory frozen, judges alone", "majority.frozen"),
        Expect("last phase over the first", "arbiter.phase 3 / arbiter.phase 1", high=0.8),
        Expect("frozen over none", "arbiter.frozen / arbiter.none", high=0.8),
        near("wrong lessons that pass, arbiter", "arbiter.passed", 0.008, within=0.02),
        near("wrong lessons that pass, judges alone", "majority.passed", 0.104, within=0.05),
        near("lessons that the arbiter sees", "arbiter.asked", 0.48, within=0.05),
    ),
)
