"""Predicted: the tasks whose risk is predicted to be high, or is little known (MPTS, 2501.11039).

More tasks are drawn than are played. A Gaussian process predicts the risk of each, 1 - its mean
success, from the numbers in which its first seat sees it (`Task.array`), and the tasks with the
largest mean + `explore` deviations are played. It knows the latest tasks, so that what a policy has
learnt in the meantime is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import DataError
from coevo.trainers.samplers.curriculum import Curriculum, Proposal, Seen, Source, TaskSettings

Floats = NDArray[np.float64]

UNKNOWN = (0.5, 0.5)
"""Mean and deviation of the risk of a task of which nothing is known."""


@config
class Predicted:
    """Tasks by the risk that is predicted for them."""

    counts_episodes: ClassVar[bool] = True
    name: Literal["predicted"] = "predicted"
    candidates: Annotated[float, real(1)] = 1.5
    """Tasks that are drawn for each that is played."""
    explore: Annotated[float, real(0)] = 3.0
    """Deviations that are added to the predicted mean."""
    warmup: Annotated[int, whole(1)] = 50
    """Updates in which tasks are played as they come."""
    window: Annotated[int, whole(2, 2048)] = 256
    """Tasks that are remembered, the latest."""
    noise: Annotated[float, real(above=0)] = 0.1
    """Deviation of a measured risk around the true one."""

    def start(
        self, sources: Mapping[str, Source], collect: TaskSettings, seed: int
    ) -> PredictedTasks:
        return PredictedTasks(sources, collect, seed, self)


class PredictedTasks(Curriculum):
    """The latest tasks with their risks, and what they predict."""

    def __init__(
        self, sources: Mapping[str, Source], collect: TaskSettings, seed: int, config: Predicted
    ) -> None:
        super().__init__(sources, collect, seed)
        self.config = config
        self.seen: list[tuple[str, list[float], float]] = []
        """Environment, numbers of the task, and its risk."""
        self._agreed: float | None = None

    def propose(self, step: int, groups: int, batch: int = 0) -> list[Proposal]:
        if step < self.config.warmup or len(self.seen) < 2:
            return super().propose(step, groups, batch)
        drawn = super().propose(step, round(groups * self.config.candidates), batch)
        score = [mean + self.config.explore * std for mean, std in self._predicted(drawn)]
        best = sorted(np.argsort(np.negative(score), kind="stable")[:groups].tolist())
        return [drawn[i] for i in best]

    def observe(self, seen: Sequence[Seen], step: int) -> None:
        super().observe(seen, step)
        played = [(p, 1 - np.mean(x)) for p, x in seen if len(x)]
        risks = [float(risk) for _, risk in played]
        self._agreed = None
        if len(self.seen) > 1 and len({*risks}) > 1:
            means = [mean for mean, _ in self._predicted([p for p, _ in played])]
            self._agreed = rank_correlation(means, risks)
        found = [(p.env, self._numbers(p), r) for (p, _), r in zip(played, risks, strict=True)]
        self.seen = [*self.seen, *found][-self.config.window :]

    def metrics(self) -> dict[str, float]:
        """Return the rank correlation of the risks of the update with what was predicted."""
        found = {} if self._agreed is None else {"curriculum/rank_correlation": self._agreed}
        return super().metrics() | found

    def _predicted(self, tasks: Sequence[Proposal]) -> list[tuple[float, float]]:
        """Return mean and deviation of the risk of every task, from those of its environment."""
        out: list[tuple[int, tuple[float, float]]] = []
        for id in dict.fromkeys(p.env for p in tasks):
            known = [(x, r) for env, x, r in self.seen if env == id]
            mine = [i for i, p in enumerate(tasks) if p.env == id]
            if not known:
                out += [(i, UNKNOWN) for i in mine]
                continue
            x_KF = np.array([x for x, _ in known])
            at_MF = np.array([self._numbers(tasks[i]) for i in mine])
            if x_KF.shape[1] != at_MF.shape[1]:
                at_MF = np.zeros((len(mine), 1))
            mean_M, std_M = posterior(
                x_KF, np.array([r for _, r in known]), at_MF, self.config.noise
            )
            out += zip(mine, zip(mean_M.tolist(), std_M.tolist(), strict=True), strict=True)
        return [found for _, found in sorted(out)]

    def _numbers(self, task: Proposal) -> list[float]:
        """Return what the first seat sees of a task, in numbers."""
        env = self.sources[task.env].env.fresh()
        env.reset(seed=task.seed, options={**self.collect.options, **task.options})
        return [float(x) for x in env.task.array(env.agent_selection)]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "seen": [list(one) for one in self.seen]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        try:
            self.seen = [(str(e), [float(v) for v in x], float(r)) for e, x, r in state["seen"]]
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"not the state of predicted tasks: {error!r}") from None


def posterior(x_KF: Floats, risk_K: Floats, at_MF: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return mean and deviation of a Gaussian process around the mean risk.

    Its kernel is s^2 exp(-|x - x'|^2 / 2 l^2), l half of the median distance of the known tasks, s
    the deviation of their risks, at least `noise`.

    >>> x_KF = np.array([[0.0], [1.0]])
    >>> mean_M, std_M = posterior(x_KF, np.array([0.0, 1.0]), np.array([[0.0], [9.0]]), 0.1)
    >>> mean_M.round(2).tolist(), std_M.round(2).tolist()
    ([0.02, 0.5], [0.1, 0.5])
    """
    from scipy.spatial.distance import cdist  # half a second to import, which few runs need

    apart_KK = cdist(x_KF, x_KF)
    width = 0.5 * float(np.median(apart_KK[apart_KK > 0])) if (apart_KK > 0).any() else 1.0
    scale, mean = max(float(risk_K.std()), noise), float(risk_K.mean())

    def kernel(apart: Floats) -> Floats:
        return scale**2 * np.exp(-0.5 * (apart / width) ** 2)

    inner_KK = kernel(apart_KK) + noise**2 * np.eye(len(x_KF))
    cross_MK = kernel(cdist(at_MF, x_KF))
    solved_KM = np.linalg.solve(inner_KK, cross_MK.T)
    mean_M = mean + solved_KM.T @ (risk_K - mean)
    rest_M = scale**2 - (cross_MK * solved_KM.T).sum(1)
    return mean_M, np.sqrt(rest_M.clip(0.0))


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's correlation; 0 where one of both is constant.

    >>> rank_correlation([1.0, 2.0, 3.0], [0.1, 0.9, 0.3])
    0.5
    """
    from scipy.stats import spearmanr  # slow to import, and rarely needed

    if len({*one}) < 2 or len({*other}) < 2:
        return 0.0
    return float(spearmanr(one, other).statistic)
