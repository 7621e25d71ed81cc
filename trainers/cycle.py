"""What an update is made of: steps, and the page on which each writes what the next ones read.

    cycle = (Collect(), Score(), Credit(), Update(), Recall(), Fit())

A step is a small component of an algorithm's configuration. It declares what it needs of earlier
steps and what it gives to later ones, so that a cycle that cannot work is refused when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from coevo.envs.core.errors import ConfigError
from coevo.trainers.items.items import Items
from coevo.trainers.items.sequences import Batch, Sequences

if TYPE_CHECKING:
    from coevo.trainers.collect.cast import Cast
    from coevo.trainers.collect.collector import Collected
    from coevo.trainers.run import Run


@dataclass
class Page:
    """What one update has produced so far."""

    step: int
    """Updates done before this one."""
    cast: Cast | None = None
    """What the outer loop changes about the episodes that are going to be played."""
    collected: Collected | None = None
    """Episodes of this update, fresh ones first; given as `episodes`."""
    batch: Batch | None = None
    """Their trajectories and token sequences, scored; None where no policy wrote anything."""
    items: dict[str, Sequences | Items] = field(default_factory=dict)
    """Kind -> what a loss of that kind learns from: `advantages`, `pairs`, `demonstrations`."""
    metrics: dict[str, Any] = field(default_factory=dict)
    """What is logged."""
    finish: Callable[[Run], None] | None = None
    """Trains a fork to its end; given by the loop."""
    asked: Collected | None = None
    """What the next steps learn from instead, where judges answered questions."""
    prefix: str = ""
    """Begins the names of what credit and update log."""

    @property
    def episodes(self) -> Collected:
        """What is learnt from: what was collected, and what judges answered."""
        found = self.asked or self.collected
        assert found is not None  # the cycle was checked
        return found

    def log(self, metrics: Mapping[str, Any]) -> None:
        """Note metrics of credit and update, which a cycle may take twice."""
        self.metrics |= {self.prefix + name: value for name, value in metrics.items()}


class Step:
    """Base of every step; subclasses are components with a name."""

    name: str
    moves: ClassVar[bool] = False
    """Whether it may change weights or modules."""
    moves_reference: ClassVar[bool] = False
    """Whether it may change the reference policy."""
    in_ranks: ClassVar[bool] = False
    """Whether several ranks may take it together."""
    casts: ClassVar[bool] = False
    """Whether it changes the episodes that are going to be played."""

    @property
    def needs(self) -> tuple[str, ...]:
        """What earlier steps of the cycle must have given."""
        return ()

    @property
    def gives(self) -> tuple[str, ...]:
        """What later steps may read."""
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

    def __call__(self, run: Run, page: Page) -> None:
        """Do the step."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__")  # abstract

    def __str__(self) -> str:
        """Return it as tables show it."""
        return f"{self.name}({', '.join(self.parts)})" if self.parts else self.name


def in_words(cycle: Sequence[Step]) -> str:
    """Return a cycle on one line."""
    return " > ".join(map(str, cycle))


def check(cycle: Sequence[Step], givers: Mapping[str, str]) -> None:
    """Refuse a cycle in which a step needs what no earlier step gives.

    Args:
        cycle: the steps in order.
        givers: product -> the step that gives it, for the message.

    Raises:
        ConfigError: in one line, for the first such step.
    """
    known: set[str] = set()
    for place, step in enumerate(cycle):
        missing = [need for need in step.needs if need not in known]
        if missing:
            of = givers.get(missing[0])
            hint = f"; put {of} before it" if of else ""
            raise ConfigError(
                f"cycle={in_words(cycle)}: step {place + 1}, {step}, needs {missing[0]}, which no "
                f"earlier step gives{hint}"
            )
        known.update(step.gives)
    if not any(step.moves for step in cycle):
        raise ConfigError(f"cycle={in_words(cycle)}: nothing in it learns; add update")
