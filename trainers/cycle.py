"""What an update is made of: steps, and the context that they share.

    cycle = (Collect(), BuildBatch(), ComputeAdvantages(), Update(), ReplayUpdate(), FitRewards())

A step is a small component of an algorithm's configuration. It declares what it needs of earlier
steps and what it gives to later ones, so that a cycle that cannot work is refused when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from coevo.agents.population import Population
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Archive
from coevo.trainers.batch import Batch
from coevo.trainers.collect.collector import Collected, Collector
from coevo.trainers.collect.rollout import Variation
from coevo.trainers.items import Items
from coevo.trainers.judges.roles import Roles
from coevo.trainers.learners.algorithm_settings import AlgorithmSettings
from coevo.trainers.learners.learner import Learner
from coevo.trainers.progress import Limits, Progress
from coevo.trainers.values.value_state import ValueState


@dataclass(frozen=True)
class Fork:
    """A run inside a run."""

    path: Path
    """Folder in which it is written."""
    collector: Collector
    finish: Callable[[], Progress]
    """Trains it to its end, or continues where it was stopped; returns where it stands then."""


@dataclass(kw_only=True)
class UpdateContext:
    """What the steps of one update share: the parts of the run, and what earlier steps produced."""

    step: int = 0
    """Updates done before this one."""
    seed: int = 0
    algorithm: AlgorithmSettings
    cycle: Sequence[Step] = ()
    limits: Limits
    progress: Progress
    """Where the run stands, with what this update has used so far."""
    envs: Mapping[str, TextEnv]
    """Environment id -> an environment that was never reset."""
    population: Population
    learners: Mapping[str, Learner]
    """Parameter set -> learner."""
    collector: Collector
    judges: Roles
    archive: Archive
    values: ValueState
    estimator_state: dict[str, Any]
    """State of estimators and losses, kept from update to update."""
    device: str = "cpu"
    """Where models are loaded."""
    episodes_logged: int = 0
    """Episodes of an update that may be written to the log."""
    fork: Callable[[Mapping[str, Any], str], Fork]
    """Makes a run inside this run, from changed settings and a name."""

    variation: Variation | None = None
    """Change to the episodes that are going to be played."""
    collected: Collected | None = None
    """Episodes of this update, fresh ones first; given as `episodes`."""
    batch: Batch | None = None
    """Their trajectories and contexts; None where no policy wrote anything."""
    items: dict[str, Batch | Items] = field(default_factory=dict)
    """Kind -> what a loss of that kind learns from: `advantages`, `pairs`, `demonstrations`."""
    metrics: dict[str, Any] = field(default_factory=dict)
    answers: Collected | None = None
    """Answers of judges to questions, from which the next steps learn instead of `collected`."""
    prefix: str = ""
    """Start of the names of the metrics of `log`."""

    @property
    def episodes(self) -> Collected:
        """Episodes to learn from."""
        found = self.answers or self.collected
        assert found is not None  # the cycle was checked
        return found

    @property
    def rate(self) -> float:
        """Factor on the learning rates."""
        return self.algorithm.optim.rate_at(self.step)

    def weigh(self, weights: Mapping[str, float]) -> None:
        """Let the steps of this update that come now weigh reward components by these numbers."""
        made: Any = self.algorithm  # the protocol does not say that it is a dataclass
        known = self.algorithm.advantage.reward_weights
        advantage = replace(self.algorithm.advantage, reward_weights={**known, **weights})
        self.algorithm = replace(made, advantage=advantage)

    def log(self, metrics: Mapping[str, Any]) -> None:
        """Log metrics of the advantages and the update, which a cycle may compute twice."""
        self.metrics |= {self.prefix + name: value for name, value in metrics.items()}

    def note_signal(self, found: bool) -> None:
        """Log in `signal` whether any step of this update had something to learn from: 1 or 0."""
        self.metrics["signal"] = max(float(found), self.metrics.get("signal", 0.0))

    def count(self, *, tokens: int = 0, turns: int = 0) -> None:
        """Add tokens of learners and turns to the progress of the run."""
        self.progress = self.progress.plus(tokens=tokens, turns=turns)

    def count_judges(self) -> None:
        """Log the questions to judges since the last call, and count the tokens of learners."""
        counts, tokens = self.judges.spent()
        for name, count in counts.items():
            self.metrics[name] = self.metrics.get(name, 0.0) + count
        self.count(tokens=tokens)


class Step:
    """Base of every step; subclasses are components with a name."""

    name: str
    moves: ClassVar[bool] = False
    """Whether it may change weights or modules."""
    moves_reference: ClassVar[bool] = False
    """Whether it may change the reference policy."""
    in_ranks: ClassVar[bool] = False
    """Whether several ranks may take it together."""
    varies_episodes: ClassVar[bool] = False
    """Whether it sets `variation`."""
    reads_values: ClassVar[bool] = False
    """Whether outputs of networks over arrays are values of moves, and no logits."""
    beside: ClassVar[tuple[str, ...]] = ()
    """Names of steps without which a cycle cannot have it."""
    reads_magnet: ClassVar[bool] = False
    """Whether it reads the magnets of learners."""

    @property
    def needs(self) -> tuple[str, ...]:
        """What earlier steps of the cycle must have given."""
        return ()

    @property
    def gives(self) -> tuple[str, ...]:
        """What later steps may read."""
        return ()

    @property
    def marks(self) -> tuple[str, ...]:
        """Marks that it may write on turns."""
        return ()

    @property
    def roles_asked(self) -> tuple[str, ...]:
        """Roles of judges that it asks, or makes items for."""
        return ()

    @property
    def heads_asked(self) -> tuple[str, ...]:
        """Those of the roles whose reward head its items are for."""
        return ()

    @property
    def needs_reference(self) -> bool:
        """Whether it reads log-probabilities of the reference policy."""
        return False

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the components that make it what it is, for tables."""
        return ()

    def __call__(self, ctx: UpdateContext) -> None:
        """Do the step."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__")  # abstract

    def __str__(self) -> str:
        """Return it as tables show it."""
        return f"{self.name}({', '.join(self.parts)})" if self.parts else self.name


def in_words(cycle: Sequence[Step]) -> str:
    """Return a cycle on one line."""
    return " > ".join(map(str, cycle))


def check(cycle: Sequence[Step], givers: Mapping[str, str]) -> None:
    """Refuse a cycle in which a step needs what no earlier step gives, or a step that is not there.

    `givers` maps a product to the step that gives it, for the one-line ConfigError.
    """
    known: set[str] = set()
    names = {step.name for step in cycle}
    for place, step in enumerate(cycle):
        missing = [need for need in step.needs if need not in known]
        if missing:
            of = givers.get(missing[0])
            hint = f"; put {of} before it" if of else ""
            raise ConfigError(
                f"cycle={in_words(cycle)}: step {place + 1}, {step}, needs {missing[0]}, which no "
                f"earlier step gives{hint}"
            )
        if absent := [name for name in step.beside if name not in names]:
            raise ConfigError(
                f"cycle={in_words(cycle)}: step {place + 1}, {step}, works with {absent[0]} alone; "
                f"add {absent[0]}"
            )
        known.update(step.gives)
    if not any(step.moves for step in cycle):
        raise ConfigError(f"cycle={in_words(cycle)}: nothing in it learns; add update")
