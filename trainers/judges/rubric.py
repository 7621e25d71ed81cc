"""Grades by a rubric: a text of the archive that an outer loop rewrites while the policy learns."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Literal

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.rewards import Rewards, ScoreContext, Scores
from coevo.trainers.judges import question as q
from coevo.trainers.judges.reward_model import AskingModule, last_turns

EQUAL = 1e-6
"""A standard deviation below which all grades count as equal."""


@dataclass
class _Scale:
    """Sums of the grades under one version of a rubric."""

    version: int = -1
    count: float = 0.0
    total: float = 0.0
    square: float = 0.0

    def plus(self, version: int, grades: Sequence[float], *, lasting: bool) -> _Scale:
        """Return the sums with more grades; another version begins anew, unless they last."""
        old = self if lasting or version == self.version else _Scale()
        return _Scale(
            version,
            old.count + len(grades),
            old.total + sum(grades),
            old.square + sum(g * g for g in grades),
        )

    def standard(self, grade: float) -> float:
        """Return by how many standard deviations a grade is above the mean."""
        mean = self.total / self.count
        deviation = math.sqrt(max(self.square / self.count - mean * mean, 0.0))
        return (grade - mean) / deviation if deviation > EQUAL else 0.0


@config
class Rubric(AskingModule):
    """Pays every seat, at its last turn, the points that a role gives its answer by a rubric.

    A rubric has an item on every line, each worth 0 to `points`; the role gets it from the step
    `draw` and answers with their sum. So the scale moves when a rubric is rewritten, and with it
    what a critic has learnt: the reward is the grade less the mean of all grades under this
    version of the rubric, in standard deviations. Source: MPO, arXiv 2504.20157.
    """

    name: Literal["rubric"] = "rubric"
    role: str = "judge"
    """Role that is asked."""
    points: Annotated[int, whole(1)] = 5
    """Most points of an item."""
    scale: Literal["version", "run", "points"] = "version"
    """What grades are measured by: those under the same version, those of the whole run, nothing.
    """

    @functools.cached_property
    def _seen(self) -> dict[str, _Scale]:
        return {"scale": _Scale()}

    @property
    def range(self) -> tuple[float, float]:
        return (-math.inf, math.inf)

    def score(self, episodes: Sequence[Episode], context: ScoreContext) -> Scores:
        judges = self.judges(context)
        if self.role not in judges.injected:
            raise ConfigError(
                f"reward {self.component!r}: {self.role} has no rubric; begin the cycle with "
                f"{{name: inject_text, kind: rubric, role: {self.role}}}"
            )
        rubric = judges.injected[self.role]
        version = int(rubric.id.rpartition("-")[2])
        top = self.points * len([line for line in rubric.text.splitlines() if line.strip()])
        at = last_turns(episodes)
        turns = [episodes[i].turns[k] for i, k in at]
        questions = [q.graded(q.asked_of(t), q.answer_of(t), top) for t in turns]
        table: list[list[Rewards]] = [[{} for _ in e.turns] for e in episodes]
        invalid, grades = {}, {}
        for (i, k), turn, said in zip(at, turns, judges.ask(self.role, questions), strict=True):
            if said.move is None:
                invalid[i, k, turn.agent] = f"{self.role} gave no number of points"
            else:
                grades[i, k] = turn.notes[self.component] = float(said.move)
        seen = self._with(version, list(grades.values()))
        for (i, k), grade in grades.items():
            reward = grade if self.scale == "points" else seen.standard(grade)
            table[i][k][episodes[i].turns[k].agent] = reward
        return Scores(table, version, invalid)

    def fit(self, episodes: Sequence[Episode]) -> Mapping[str, float]:
        graded = [t for e in episodes for t in e.turns if self._graded(t)]
        if not graded:
            return {}
        grades = [float(t.notes[self.component]) for t in graded]
        self._seen["scale"] = self._with(graded[0].versions[self.component], grades)
        return {"grade": fmean(grades)}

    def state_dict(self) -> dict[str, object]:
        return dict(vars(self._seen["scale"]))

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        if not state:
            return
        try:
            sums = [float(str(state[name])) for name in ("count", "total", "square")]
            self._seen["scale"] = _Scale(int(str(state["version"])), *sums)
        except (KeyError, ValueError) as error:
            raise DataError(f"not a state of {self.name!r}: {error}") from None

    def _with(self, version: int, grades: Sequence[float]) -> _Scale:
        return self._seen["scale"].plus(version, grades, lasting=self.scale == "run")

    def _graded(self, turn: Turn) -> bool:
        return self.component in turn.notes and self.component in turn.versions
