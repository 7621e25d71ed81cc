"""C2: a judge that may reject a rubric loses nothing to rubrics that mislead it."""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from coevo.agents.agent import Agent, Reply, Request
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.envs.core.chat import Chat
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.parsing import Status
from coevo.envs.core.rewards import ScoreContext
from coevo.trainers.judges.judge import Judge
from coevo.trainers.judges.roles import JudgeRole, Roles

TASKS, ADVERSARIAL, VERIFIER = 400, 0.3, 0.85
TRUE = {"proof": 2.0, "clarity": 1.0, "length": 0.0, "praise": -0.5}
HELPFUL, MISLEADING = "Look at: proof, clarity", "Look at: length, praise"
WORDS = tuple(TRUE)
ALONE, GUIDED = 1.5, 0.5
"""Deviation of what the judge makes of a reply without a rubric, and with one."""


def features(text: str) -> dict[str, int]:
    return {name: int(x) for name, x in re.findall(r"(\w+) (-?\d)", text) if name in TRUE}


class Critic(Agent):
    """Stands for a model as the judge: it adds up what a rubric names, or everything, with errors.

    It tells a rubric that helps from one that misleads in 85 % of the cases.
    """

    name, version = "judge", 0

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        said = [self._said(str(r.chat[-1]["content"])) for r in requests]
        return [Reply(f"[{word}]", [1], [2], [0.0]) for word in said]

    def _said(self, text: str) -> str:
        if "Does this rubric help" in text:
            right = self._rng.random() < VERIFIER
            return "yes" if (HELPFUL in text) == right else "no"
        named = [
            w for w in WORDS if "Rubric" not in text or w in text.partition("Look at:")[2][:20]
        ]
        one, other = (
            sum(features(re.findall(rf'{place}: "([^"]*)"', text)[0])[w] for w in named)
            for place in ("First", "Second")
        )
        error = self._rng.normal() * math.sqrt(2) * (GUIDED if "Rubric" in text else ALONE)
        return "first" if one - other + error > 0 else "second"


class Writer(Agent):
    """Stands for a model that writes rubrics: three in ten mislead."""

    name, version = "writer", 0

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        bad = self._rng.random(len(requests)) < ADVERSARIAL
        return [Reply(f"[{(HELPFUL, MISLEADING)[int(b)]}]", [1], [2], [0.0]) for b in bad]


def _tasks(rng: np.random.Generator) -> list[Episode]:
    """Return two replies to every task."""
    found = []
    for task, _ in itertools.product(range(TASKS), range(2)):
        text = ", ".join(
            f"{name} {x}" for name, x in zip(TRUE, rng.integers(-2, 3, 4), strict=True)
        )
        chat: Chat = ({"role": "user", "content": f"Task {task}."},)
        turn = Turn("player_0", chat, f"[{text}]", text, Status.LEGAL, None)
        found.append(Episode("e", 0, {}, ("player_0",), str(task), [turn], StopReason.FINISHED))
    return found


def judged(module: Judge) -> Callable[[int], Mapping[str, float]]:
    """Return what measures how often the better reply is preferred."""

    def measure(seed: int) -> Mapping[str, float]:
        rng = np.random.default_rng(seed)
        episodes = _tasks(rng)
        agents = {"judge": Critic(rng), "writer": Writer(rng)}
        bound = {name: JudgeRole(policy=name) for name in agents}
        table = module.score(episodes, ScoreContext(judges=Roles(bound, agents))).table
        right = []
        for place in range(0, len(episodes), 2):
            true = [_worth(episodes[place + k]) for k in range(2)]
            paid = [table[place + k][0]["player_0"] for k in range(2)]
            if true[0] != true[1]:
                right.append(0.5 + 0.5 * np.sign((true[0] - true[1]) * (paid[0] - paid[1])))
        return {"right": float(np.mean(right))}

    return measure


def _worth(episode: Episode) -> float:
    found = features(episode.turns[0].text)
    return sum(TRUE[name] * x for name, x in found.items())


RUBRICS = (HELPFUL, MISLEADING)

CLAIM = Claim(
    property="""With three rubrics in ten that mislead, a judge that rejects those which it
        takes for misleading prefers the better reply more often than one without rubrics, and
        than one that follows them all.""",
    source="""Kawabata, Sugawara 2026, C2, arXiv 2604.13618 (a critical verifier follows only
        rubrics that it deems helpful: up to 6.5 points on RM-Bench); the order of the three was
        set before""",
    minutes=0.3,
    on="formula",
    setting="""400 pairs of replies with four features, of which two make them good. The judge,
        a script in the place of a language model, adds up all features, with an error, or those
        that a rubric names, with a smaller error; it recognises a misleading rubric in 85 %.
        Reward `judge` with `rubric_by`, asked in both orders.""",
    measured="Share of pairs in which the better reply is preferred, half for a tie.",
    chosen="""Features and errors, before anything was run. The bounds were 0, which no difference
        at all would have met.""",
    limits="""Scripts: neither the writer of rubrics nor the verifier learns. The source trains
        the writer by DPO on rubrics that raise the margin, the verifier by GRPO.""",
    arms={
        "none": judged(Judge(how="pairwise")),
        "always": judged(
            Judge(how="pairwise", rubric_by="writer", rubrics=RUBRICS, critical=False)
        ),
        "gated": judged(Judge(how="pairwise", rubric_by="writer", rubrics=RUBRICS)),
    },
    expect=(
        Expect("right, no rubric", "none.right"),
        Expect("right, every rubric followed", "always.right"),
        Expect("right, rubrics may be rejected", "gated.right"),
        Expect("rejecting minus no rubric", "gated.right - none.right", low=0.01),
        Expect("rejecting minus following all", "gated.right - always.right", low=0.01),
    ),
)
