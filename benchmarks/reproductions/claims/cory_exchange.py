"""CORY: exchanging roles removes the bias that an observer gets from the answers it has seen."""

import re
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from coevo.agents.population import MakePolicy
from coevo.agents.table import TabularPolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import QUICKLY, Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import ReadRows
from coevo.envs.core.config import plain
from coevo.envs.questions.arithmetic import Digits

LARGEST = 3
QUESTIONS, ANSWERS, COPYING = (LARGEST + 1) ** 2, 10, 2.0
DIGITS = Digits(task="sum", high=LARGEST)
RIGHT = [int(DIGITS.item(place).answer) for place in range(QUESTIONS)]


class Copying(nn.Module):
    """Logits of a question, and what an answer that is shown adds to them."""

    def __init__(self, rows: ReadRows[list[int]]) -> None:
        super().__init__()
        self.of_question_QA = nn.Parameter(torch.zeros(QUESTIONS, ANSWERS, dtype=torch.float64))
        self.of_shown_AA = nn.Parameter(COPYING * torch.eye(ANSWERS, dtype=torch.float64))
        self._rows = rows

    def forward(self, row_N: Tensor) -> Tensor:
        question_N, shown_N = torch.tensor(self._rows.seen(row_N)).T
        nothing_1A = self.of_shown_AA.new_zeros(1, ANSWERS)
        return self.of_question_QA[question_N] + torch.cat([self.of_shown_AA, nothing_1A])[shown_N]


def _read(messages: Sequence[str]) -> list[int]:
    """Return the place of the question, and the answer that is shown; `ANSWERS` is none."""
    a, b, *shown = map(int, re.findall(r"\d+", messages[-1]))
    return [a * (LARGEST + 1) + b, *(shown or [ANSWERS])]


def _maker(seed: int) -> MakePolicy:
    rows = ReadRows(_read)
    return lambda name, **given: TabularPolicy(Copying(rows), rows, name=name)


def _measure(end: Trained) -> dict[str, float]:
    odds = (x.agent.model.of_question_QA.detach().softmax(-1) for x in end.run.learners.values())
    one, two = (float(p_QA[torch.arange(QUESTIONS), torch.tensor(RIGHT)].mean()) for p_QA in odds)
    return {"pioneer": one, "observer": two, "weaker": min(one, two), "gap": abs(one - two)}


CLAIM = Claim(
    property="""With an exchange of roles both parameter sets answer alike without the other's
        answer; without one the observer is worse alone.""",
    source="""Ma et al. 2024, CORY, arXiv 2410.06101 (roles, shared reward, exchange, and its
        ablation); reference: by symmetry of the roles""",
    minutes=6.0,
    on="table",
    setting="""`coevo/pioneer_observer-v0`: the last digit of the sum of two numbers from 0 to 3, 16
        questions with 10 listed answers. A pioneer answers, an observer answers with the pioneer's
        answer before it, and both earn how many answers are right. The logits of
        each are those of the question plus, for the observer, those that the answer shown adds,
        which begin as a habit of copying (2 for the same answer). `cory` and its variant `fixed`:
        256 episodes an update, 100 plain gradient steps of size 12.""",
    measured="""The probability of the right answer to a question alone, for both parameter sets,
        and how far they are apart.""",
    chosen="""Sizes; 100 steps of 12 after a look at 60 updates of 3. The bounds on the gap, below
        0.01 and above 0.02, were set before anything was run.""",
    note="the paper's claim that the divergence from the start model falls is not shown here",
    world=World("coevo/pioneer_observer-v0", 100, {"questions": plain(DIGITS)}, _maker),
    changes={
        **QUICKLY,
        "collect.episodes": 256,
        "optim.lr": 12.0,
        "optim.optimiser": "sgd",
    },
    arms={"exchange": Arm("cory"), "fixed": Arm("cory:fixed")},
    measure=_measure,
    expect=(
        Expect("exchange: right alone, weaker of the two", "exchange.weaker"),
        Expect("exchange: gap", "exchange.gap", 0.0, high=0.01),
        Expect("no exchange: pioneer right alone", "fixed.pioneer"),
        Expect("no exchange: observer right alone", "fixed.observer"),
        Expect("no exchange: gap", "fixed.gap", low=0.02),
    ),
)
