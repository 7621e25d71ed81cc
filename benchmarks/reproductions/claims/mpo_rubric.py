"""MPO: a rubric that asks for keywords is hacked where it stays, and not where it is rewritten.

An essay has a quality, a length, a number of keywords and an amount of flattery, 0 to 5. The judge
stands for a model that reads a rubric, an item a line: `+quality` gives the essay's points in it,
`-length` five less those. Nothing is paid; no learner reads the true quality.
"""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from coevo.agents.population import MakePolicy
from coevo.agents.table import MOVES, Table, TabularPolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import QUICKLY, Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import BANDIT, ReadRows
from coevo.envs.core.config import config
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.steps import Every, RewriteText
from coevo.trainers.steps.writers import Proposer, Written

ESSAYS, POINTS, LAST = 32, 5, 10
FEATURES = ("quality", "length", "keyword", "flattery")
WANTED = frozenset({"quality"})
"""What a reviewer never writes against."""
COST = 0.6
"""Quality that a point of keywords takes."""
ERROR = 1.0
"""Standard deviation of the judge, in points."""
LINES = 12
"""Longest rubric: a table has 64 columns, and a sum of 12 items 61 values."""
HACKED, ORACLE = "+quality\n+keyword", "+quality"


@functools.lru_cache(maxsize=64)
def essays(draw: int) -> tuple[str, ...]:
    rng = np.random.default_rng([draw, 12])
    length_A, keyword_A, flattery_A = rng.integers(POINTS + 1, size=(3, ESSAYS))
    left_A = POINTS - 0.5 - COST * keyword_A + rng.normal(size=ESSAYS) * 0.5
    quality_A = np.clip(np.rint(left_A), 0, POINTS).astype(int)
    rows = zip(quality_A, length_A, keyword_A, flattery_A, strict=True)
    return tuple(
        f"{n}: " + ", ".join(f"{name} {x}" for name, x in zip(FEATURES, row, strict=True))
        for n, row in enumerate(rows)
    )


def features(text: str) -> dict[str, int]:
    """Return the features of the first essay in a text."""
    return {name: int(re.findall(rf"{name} (\d)", text)[0]) for name in FEATURES}


def world_of(seed: int) -> dict[str, Any]:
    every = essays(seed)
    shares = {name: tuple(features(text)[name] / POINTS for text in every) for name in FEATURES}
    payoffs = ((0.0,) * ESSAYS,)
    return {"seat": "writer_0", "names": every, "payoffs": payoffs, "outcomes": shares}


def points(rubric: str, found: Mapping[str, int]) -> int:
    r"""Return the sum of the items of a rubric."""
    items = rubric.split()
    return sum(found[i[1:]] if i[0] == "+" else POINTS - found[i[1:]] for i in items)


class Grader(nn.Module):
    """Logits of points, by a rubric and an essay that are read in the prompt of a row."""

    def __init__(self, rows: ReadRows[int]) -> None:
        super().__init__()
        self._rows = rows

    def forward(self, row_N: Tensor) -> Tensor:
        sum_N = torch.tensor(self._rows.seen(row_N), dtype=torch.float64)
        away_NA = torch.arange(MOVES, dtype=torch.float64) - sum_N.unsqueeze(1)
        return -0.5 * (away_NA / ERROR) ** 2


def makers(seed: int) -> MakePolicy:
    """Return what makes the writer, a table, and the judge."""
    # a prompt without a rubric gets no points
    rows = ReadRows(lambda said: 0 if len(said) < 2 else points(said[0], features(said[-1])))
    return lambda name, **given: TabularPolicy(
        Grader(rows) if name == "judge" else Table(), rows, name=name
    )


@config
class Reviewer(Proposer):
    """Writes an item against what is unusually frequent among the best-graded essays.

    It stands for a meta-reviewer. A feature other than quality that is more frequent among the
    best-graded third of the essays, each counted once, than among those of the start policy, which
    is uniform, by two standard errors, gets an item against it.
    """

    name: Literal["reviewer"] = "reviewer"

    def __call__(self, run: Any, parent: Artifact, found: Any, rng: np.random.Generator) -> Written:
        """Add items to the rubric."""
        items = str(parent.payload).split()
        moves = dict.fromkeys(str(e.turns[-1].move) for _, e in found[-(len(found) // 3) :])
        best = [features(move) for move in moves]  # equal essays are one observation
        legal = [features(text) for text in found[0][1].turns[-1].legal or ()]
        for name in (n for n in FEATURES if n not in WANTED and len(items) < LINES):
            usual = np.array([x[name] for x in legal])
            error = usual.std() / math.sqrt(len(best))
            if np.mean([x[name] for x in best]) - usual.mean() > 2 * error:
                items.append(f"-{name}")
        return Written("\n".join(items))


def _reviewed(made: Algorithm, seed: int) -> Algorithm:
    review = Every(updates=10, first=9, step=RewriteText(by=Reviewer()))
    cycle = tuple(review if isinstance(step, Every) else step for step in made.cycle)
    return replace(made, cycle=cycle)


def _first(rubric: str) -> dict[str, Any]:
    return {"cycle.inject_text.first": (rubric,)}


def _at_start(seed: int) -> dict[str, float]:
    """Return the true quality of the start policy, to which all essays are alike."""
    return {"quality": fmean(features(text)["quality"] for text in essays(seed)) / POINTS}


def _measure(end: Trained) -> dict[str, float]:
    written = [a["born_at"] for a in end.run.archive.state_dict() if a["parents"]]
    grade, most = "reward/rubric/grade", POINTS * len(HACKED.split())
    return {
        "quality": end.last(LAST, "outcome/quality"),
        "first": end.first(grade) / most,
        "last": fmean(update[grade] / most for update in end.log[-LAST:]),
        "jump": jump([update["loss/value"] for update in end.log], written),
        "written": float(len(written)),
    }


def jump(losses: Sequence[float], written: Sequence[int]) -> float:
    """Return the mean loss of updates after one that wrote a rubric, over the first loss."""
    after = [k + 1 for k in written if k + 1 < len(losses)]
    return fmean(losses[k] for k in after) / losses[0] if after else 0.0


CLAIM = Claim(
    property="""Under a fixed rubric grades rise and true quality falls; rewritten against what is
        exploited, it leads to the quality of an oracle's rubric, and the critic is not shaken.""",
    source="Kim et al. 2025, MPO, arXiv 2504.20157 (on par with hand-crafted rubrics, no hacking)",
    minutes=2.0,
    on="toy",
    setting="""32 essays, whose keywords cost quality; the first rubric asks for quality, which the
        judge sees with an error, and for keywords. `mpo`: a table, 64 essays an update, 120
        updates, a review after every ten, by a script; `fixed`, the control, in which the first
        rubric stays; `fixed` with the oracle's rubric, which asks for quality alone; `unscaled`, in
        which grades are measured by those of the whole run.""",
    measured="""True quality in the last ten updates and at the start, as shares of the best; the
        grade under the fixed rubric; the value loss of the update that follows a rewritten rubric,
        over that of the first update, whose critic knows nothing.""",
    chosen="""Beforehand: that quality falls and the grade rises under the fixed rubric, that nine
        tenths of the oracle's quality are reached, that the loss stays below twice the first. After
        a look at two seeds: learning rate, updates, what a keyword costs, that a reviewer counts
        equal essays once (else it writes against whatever the policy has settled on), and the first
        loss as the measure.""",
    world=World(BANDIT, 120, world_of, makers),
    changes={**QUICKLY, "optim.lr": 0.03, "optim.epochs": 4, "optim.grad_norm": 10.0},
    arms={
        "start": _at_start,
        "mpo": Arm("mpo", _first(HACKED), edit=_reviewed),
        "fixed": Arm("mpo:fixed", _first(HACKED), edit=_reviewed),
        "oracle": Arm("mpo:fixed", _first(ORACLE), edit=_reviewed),
        "unscaled": Arm("mpo:unscaled", _first(HACKED), edit=_reviewed),
    },
    measure=_measure,
    expect=(
        Expect("start: quality", "start.quality"),
        Expect("fixed rubric: quality", "fixed.quality"),
        Expect("fixed rubric minus start: quality", "fixed.quality - start.quality", high=0.0),
        Expect("fixed rubric: grade gained", "fixed.last - fixed.first", low=0.05),
        Expect("oracle's rubric: quality", "oracle.quality"),
        Expect("MPO: quality", "mpo.quality"),
        Expect("MPO over oracle: quality", "mpo.quality / oracle.quality", 1.0, low=0.9),
        Expect("MPO: rubrics written", "mpo.written"),
        Expect("MPO: value loss after one", "mpo.jump", 1.0, high=2.0),
        Expect("unscaled: value loss after one", "unscaled.jump"),
        Expect("value loss after one, unscaled minus MPO", "unscaled.jump - mpo.jump", low=0.0),
        Expect("unscaled: quality", "unscaled.quality"),
    ),
)
