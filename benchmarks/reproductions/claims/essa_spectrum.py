"""ESSA: few singular values are learnt where all entries are not, and only in the right subspace.

The payoffs of the bandit are a matrix T / max |T|, T = U diag(t) V' of rank 8, two of whose t are
negative. The policy is a table W of the same shape with logits 32 W[context]. It starts at
U0 diag(s0) V0' with s0 near 0.3, in a subspace near the right one (noise of 0.05 an entry), or in a
random one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from coevo.agents.population import MakePolicy, Shared
from coevo.agents.table import TabularPolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect, Found
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import BANDIT, ReadRows

SIZE, RANK, SHARP = 32, 8, 32.0


def _basis(rng: np.random.Generator, near: np.ndarray | None = None) -> np.ndarray:
    """Return orthonormal columns, [SIZE, RANK]; near others, or anywhere."""
    noise = rng.normal(size=(SIZE, RANK))
    found: np.ndarray = np.linalg.qr(noise if near is None else near + 0.05 * noise)[0]
    # QR may flip columns, which would flip what their singular values mean.
    return found if near is None else found * np.sign((found * near).sum(0))


def _target(matrix: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return U, t and V of the matrix behind the payoffs."""
    rng = np.random.default_rng([matrix, 17])
    u, v = _basis(rng), _basis(rng)
    t = np.linspace(1.0, 0.3, RANK)
    t[rng.choice(RANK, 2, replace=False)] *= -1
    return u, t, v


def payoffs(matrix: int) -> np.ndarray:
    u, t, v = _target(matrix)
    full: np.ndarray = u * t @ v.T
    return full / np.abs(full).max()


def _options(seed: int) -> dict[str, Any]:
    return {"payoffs": tuple(map(tuple, payoffs(seed).tolist()))}


class LowRank(nn.Module):
    """Logits of moves by context."""

    def __init__(self, start: np.ndarray, rows: ReadRows[int]) -> None:
        super().__init__()
        self.matrix, self._rows = nn.Parameter(torch.tensor(start)), rows

    def forward(self, row_N: Tensor) -> Tensor:
        return SHARP * self.matrix[torch.tensor(self._rows.seen(row_N))]


def starts(*, wrong: bool = False) -> Callable[[int], MakePolicy]:
    """Return what makes the policy of a seed, near the right subspace or in a random one."""

    def maker(seed: int) -> MakePolicy:
        rng = np.random.default_rng([seed, 18])
        u, _, v = _target(seed)
        left, right = (_basis(rng, None if wrong else near) for near in (u, v))
        # All a little different: equal singular values have no vectors of their own.
        start = left * np.linspace(0.35, 0.25, RANK) @ right.T

        def make(name: str, **given: Any) -> TabularPolicy:
            rows = ReadRows(lambda said: int(said[-1].split()[1]))
            return TabularPolicy(LowRank(start, rows), rows, name=name)

        return make

    return maker


def _measure(end: Trained) -> dict[str, float]:
    """Return the expected payoff of the mean genome, 0 for uniform play and 1 for the best."""
    matrix_CA = end.run.learners["policy"].agent.model.matrix.detach()
    p_CA, paid_CA = (SHARP * matrix_CA).softmax(-1), torch.tensor(payoffs(end.seed))
    even, best = paid_CA.mean(), paid_CA.max(1).values.mean()
    return {"score": float(((p_CA * paid_CA).sum(1).mean() - even) / (best - even))}


def _over_control(found: Found) -> list[float]:
    control = max((found[arm]["score"] for arm in ("small", "middle", "large")), key=sum)
    return [a - b for a, b in zip(found["essa"]["score"], control, strict=True)]


def _plain(step: float) -> Arm:
    return Arm(
        "essa:plain_es",
        {"cycle.sample_generation.by.sigma": step, "cycle.sample_generation.by.rate": step},
    )


CLAIM = Claim(
    property="""At equal evaluations an evolution strategy learns the singular values of a good
        start, and not all its entries; in a wrong subspace it stays low.""",
    source="""Korotyshova et al. 2025, ESSA, arXiv 2507.04453 (a small space is searched well, and
        the start is a ceiling)""",
    minutes=8.0,
    on="toy",
    setting="""Payoffs of rank 8 in 32 contexts of 32 arms, a policy that starts in a subspace near
        the right one. `essa`: 50 generations of 24 members, each of which plays the same 32 tasks:
        1,200 evaluations; nothing is differentiated. CMA-ES on the 8 singular values (`evolve`);
        the plain strategy on all 1,024 entries (`plain_es`), with three step sizes, the naive
        control; `evolve` in a random subspace, where it must stay low: what the start does not span
        it cannot reach.""",
    measured="Expected payoff of the mean genome: 0 for uniform play, 1 for the best.",
    chosen="""Sizes and step sizes, before the figures were seen, but for the largest step of the
        control, added when the middle one had done better than the small one (0.21, 0.46, 0.68 over
        three seeds: still rising). The control counts by its best step size.""",
    world=World(BANDIT, 50, _options, starts()),
    changes={"population": Shared()},
    arms={
        "start": Arm("essa:evolve", steps=0),
        "essa": Arm("essa:evolve"),
        "small": _plain(0.01),
        "middle": _plain(0.03),
        "large": _plain(0.1),
        "wrong": Arm("essa:evolve", maker=starts(wrong=True)),
    },
    measure=_measure,
    expect=(
        Expect("start", "start.score"),
        Expect("essa, 8 singular values", "essa.score"),
        Expect("plain_es, 1,024 entries, steps of 0.01", "small.score"),
        Expect("plain_es, 1,024 entries, steps of 0.03", "middle.score"),
        Expect("plain_es, 1,024 entries, steps of 0.1", "large.score"),
        Expect("essa minus the best plain_es", _over_control, low=0.2),
        Expect("essa, random subspace", "wrong.score"),
        Expect("essa, right minus random subspace", "essa.score - wrong.score", low=0.2),
    ),
)
