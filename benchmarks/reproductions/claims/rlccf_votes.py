"""RLCCF: models that are strong on different questions teach each other by votes."""

from collections.abc import Mapping

import torch
from torch import Tensor

from coevo.agents.population import MakePolicy
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.envs.core.config import plain
from coevo.envs.questions.arithmetic import Digits

DIGITS = Digits(task="sum", high=4)
QUESTIONS, ANSWERS, MODELS = len(DIGITS), 10, 3
ASKED = [DIGITS.item(place) for place in range(QUESTIONS)]
STRONG, NOISE = 4.0, 1.5
"""Logit of the right answer on a model's own third; deviation of all logits."""


def _prompt(place: int) -> str:
    return f"Debate: {ASKED[place].question} Reply [move]."


def starts(seed: int) -> Tensor:
    """Return the logits of every model at the start, [N, Q, A]."""
    rng = torch.Generator().manual_seed(seed)
    logits_NQA = NOISE * torch.randn(MODELS, QUESTIONS, ANSWERS, generator=rng, dtype=torch.float64)
    for place, asked in enumerate(ASKED):
        logits_NQA[place % MODELS, place, int(asked.answer)] += STRONG
    return logits_NQA


def _maker(seed: int) -> MakePolicy:
    rows, logits_NQA = Rows(), starts(seed)
    for place in range(QUESTIONS):
        rows.add(rows.key([_prompt(place)], ASKED[place].choices), ANSWERS)

    def make(name: str, **given: object) -> TabularPolicy:
        table = Table(QUESTIONS, ANSWERS)
        with torch.no_grad():
            table.logits_RA.copy_(logits_NQA[int(name.rpartition("_")[2])])
        return TabularPolicy(table, rows, name=name)

    return make


def accuracy(learnt: Mapping[str, Tensor]) -> float:
    """Return the probability of the right answer, over all questions."""
    right = [learnt[_prompt(place)][int(ASKED[place].answer)] for place in range(QUESTIONS)]
    return float(torch.stack(right).mean())


def _measure(end: Trained) -> dict[str, float]:
    names = list(end.run.learners)
    first_NQA = starts(end.seed)[: len(names)].softmax(-1)
    right_Q = torch.tensor([int(asked.answer) for asked in ASKED])
    first = first_NQA[:, torch.arange(QUESTIONS), right_Q].mean()
    return {
        "first": float(first),
        "last": sum(accuracy(end.learnt(name)) for name in names) / len(names),
    }


CLAIM = Claim(
    property="""Models that are strong on different questions become right on all by learning from
        their common vote; each from its own vote alone does not.""",
    source="""Yuan et al. 2025, RLCCF, arXiv 2508.12338 (the vote, its weights, and the comparison
        with TTRL, where a model learns from its own vote); the figures are ours""",
    minutes=5.0,
    on="table",
    setting="""`coevo/debate-v0` in one round with listed answers: the last digit of the sum of two
        numbers from 0 to 4, 25 questions with 10 answers. Three tables, each with normal logits of
        deviation 1.5 and, on a third of the questions, 4 more for the right answer. `rlccf` and its
        variant `votes`: 20 groups of 16 episodes an update, 60 updates of Adam with 0.2. The
        control is one table that learns from its own votes (TTRL).""",
    measured="The probability of the right answer, the mean over the models, exactly.",
    chosen="""Sizes, the start and the learning rate, before anything was run. The bounds are those
        of our earlier experiment with 60 questions, set before: 0.2 above the control.""",
    note="tables cannot generalise, so that the vote of all becomes better is not shown here",
    world=World(
        "coevo/debate-v0", 60, {"rounds": 1, "listed": True, "questions": plain(DIGITS)}, _maker
    ),
    changes={"collect.episodes": 320, "optim.lr": 0.2, "optim.warmup": 0},
    arms={
        "rlccf": Arm("rlccf"),
        "votes": Arm("rlccf:votes"),
        "alone": Arm("rlccf:votes", options={"agents": 1}),
    },
    measure=_measure,
    expect=(
        Expect("right at the start", "rlccf.first"),
        Expect("right after RLCCF", "rlccf.last"),
        Expect("right after plain votes of all", "votes.last"),
        Expect("right after its own votes", "alone.last"),
        Expect("RLCCF above its own votes", "rlccf.last - alone.last", low=0.2),
        Expect("plain votes above its own votes", "votes.last - alone.last", low=0.2),
    ),
)
