"""Modules made of modules.

A weighted sum and a gated reward report one component each. Estimators that treat components
apart (decoupled normalisation, Lagrangian weights) are given the parts instead, so compose only
what belongs together.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import inf
from typing import Annotated, Any, Literal

from coevo.envs.core.config import config, real
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.rewards import (
    Reward,
    RewardModule,
    Rewards,
    ScoreContext,
    Scores,
    Table,
    so_far,
)


class Composed(RewardModule):
    """Passes learning and checkpoints on to its parts, which must differ in component."""

    @property
    @abstractmethod
    def modules(self) -> tuple[RewardModule, ...]:
        """The modules that are composed."""

    @abstractmethod
    def combine(self, given: Sequence[Rewards]) -> Rewards:
        """Return one reward made of what each part gives after one reply."""

    def _check_parts(self) -> None:
        parts = [part.component for part in self.modules]
        if not parts or len(set(parts)) < len(parts):
            raise ConfigError(
                f"{self.component!r} is made of {parts}: one part or more, all components different"
            )

    @property
    def per_turn(self) -> bool:
        return all(part.per_turn for part in self.modules)

    @property
    def version(self) -> int:
        """Sum of the parts' versions: goes up whenever one of them changes."""
        return sum(part.version for part in self.modules)

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        return self.combine([part.score_turn(episode, turn) for part in self.modules])

    def score_earlier(self, episode: Episode, turn: Turn) -> Mapping[int, Rewards]:
        new = [part.score_earlier(episode, turn) for part in self.modules]
        touched = sorted({at for rewards in new for at in rewards})
        return {at: self._change(episode, turn, at, [n.get(at, {}) for n in new]) for at in touched}

    def _change(self, episode: Episode, turn: Turn, at: int, new: Sequence[Rewards]) -> Rewards:
        before = [_given_before(part, episode, turn, at) for part in self.modules]
        old = self.combine(before)
        now = self.combine([_added(b, n) for b, n in zip(before, new, strict=True)])
        return {agent: reward - old.get(agent, 0.0) for agent, reward in now.items()}

    @property
    def roles_asked(self) -> tuple[str, ...]:
        return tuple(role for part in self.modules for role in part.roles_asked)

    @property
    def heads_asked(self) -> tuple[str, ...]:
        return tuple(role for part in self.modules for role in part.heads_asked)

    def score(self, episodes: Sequence[Episode], context: ScoreContext) -> Scores:
        """Combine the parts' tables; each part sees the whole batch once.

        What is invalid for one part is invalid for the whole.
        """
        parts = [part.score(episodes, context) for part in self.modules]
        table = [
            [self.combine(given) for given in zip(*turns, strict=True)]
            for turns in zip(*(part.table for part in parts), strict=True)
        ]
        invalid = {at: reason for part in parts for at, reason in part.invalid.items()}
        for episode, turn, agent in invalid:
            table[episode][turn].pop(agent, None)
        return Scores(table, sum(part.version for part in parts), invalid)

    def table(self, episodes: Sequence[Episode]) -> Table:
        return self.score(episodes, ScoreContext()).table

    def fit(self, episodes: Sequence[Episode]) -> Mapping[str, float]:
        return {
            f"{part.component}/{metric}": value
            for part in self.modules
            for metric, value in part.fit(episodes).items()
        }

    def state_dict(self) -> dict[str, object]:
        return {part.component: part.state_dict() for part in self.modules}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        for part in self.modules:
            own = state.get(part.component)
            if not isinstance(own, Mapping):
                raise DataError(
                    f"state of {self.component!r} holds {list(state)}, not {part.component!r}"
                )
            part.load_state_dict(own)


def _given_before(part: RewardModule, episode: Episode, turn: Turn, at: int) -> Rewards:
    """Add up what a part gave the reply in place `at` until the turn before this one."""
    given = dict(part.score_turn(so_far(episode, at), episode.turns[at]))
    for place, other in enumerate(episode.turns[at + 1 :], at + 1):
        if other is turn:
            break
        given = _added(given, part.score_earlier(so_far(episode, place), other).get(at, {}))
    return given


def _added(one: Rewards, other: Rewards) -> Rewards:
    return {a: one.get(a, 0.0) + other.get(a, 0.0) for a in dict.fromkeys([*one, *other])}


class OfTerms(Composed):
    """Gives each seat a number that follows from what named modules give it."""

    terms: Mapping[str, Reward]
    """Name of a term -> the module that it stands for."""

    @property
    def modules(self) -> tuple[RewardModule, ...]:
        return tuple(self.terms.values())

    @property
    def range(self) -> tuple[float, float]:
        """Unknown: any number may follow."""
        return (-inf, inf)

    @abstractmethod
    def paid(self, terms: Mapping[str, float]) -> float:
        """Return the reward of a seat with these terms."""

    def combine(self, given: Sequence[Rewards]) -> Rewards:
        agents = dict.fromkeys(agent for rewards in given for agent in rewards)
        named = [dict(zip(self.terms, (r.get(a, 0.0) for r in given), strict=True)) for a in agents]
        return {agent: self.paid(terms) for agent, terms in zip(agents, named, strict=True)}


@config
class WeightedSum(Composed):
    """Gives the weighted sum of what its parts give."""

    name: Literal["weighted_sum"] = "weighted_sum"
    parts: tuple[Reward, ...]
    weights: tuple[Annotated[float, real()], ...] = ()
    """One for each part; 1 each where none are given."""
    component: str = "sum"

    def __post_init__(self) -> None:
        self._check_parts()
        if self.weights and len(self.weights) != len(self.parts):
            raise ConfigError(f"weights={self.weights}: {len(self.parts)} parts need one each")

    @property
    def modules(self) -> tuple[RewardModule, ...]:
        return self.parts

    @property
    def range(self) -> tuple[float, float]:
        # A range may be infinite, and 0 times infinity is not a number.
        pairs = self._weighted([part.range for part in self.parts])
        ends = [sorted(w * end if w else 0.0 for end in range_) for w, range_ in pairs]
        return sum(low for low, _ in ends), sum(high for _, high in ends)

    def combine(self, given: Sequence[Rewards]) -> Rewards:
        agents = dict.fromkeys(agent for rewards in given for agent in rewards)
        return {a: sum(w * r[a] for w, r in self._weighted(given) if a in r) for a in agents}

    def _weighted(self, values: Sequence[Any]) -> list[tuple[float, Any]]:
        return list(zip(self.weights or (1.0,) * len(self.parts), values, strict=True))


@config
class Gated(Composed):
    """Gives what a module gives, but only where another one gives enough after the same reply.

    For example `{name: gated, module: {name: length_penalty, unit: characters}, when: format,
    least: 0.05}` charges for length only where the reply is legal.
    """

    name: Literal["gated"] = "gated"
    module: Reward
    """What is given."""
    when: Reward
    """What has to be earned."""
    least: Annotated[float, real()]
    """Smallest reward of `when` that opens the gate; a seat that `when` does not reward gets 0."""
    component: str = ""
    """The module's own where none is given."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "component", self.component or self.module.component)
        self._check_parts()

    @property
    def modules(self) -> tuple[RewardModule, ...]:
        return self.module, self.when

    @property
    def range(self) -> tuple[float, float]:
        return min(0.0, self.module.range[0]), max(0.0, self.module.range[1])

    def combine(self, given: Sequence[Rewards]) -> Rewards:
        rewards, when = given
        return {a: r if when.get(a, -inf) >= self.least else 0.0 for a, r in rewards.items()}
