"""Modules made of modules: a weighted sum, and a gate.

Both report one component. Estimators that treat components apart (decoupled normalisation,
Lagrangian weights) are given the parts instead, so compose only what belongs together.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import inf

from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.rewards.arguments import check_number
from coevo.envs.rewards.module import Payments, RewardModule


class _Composed(RewardModule):
    """Passes learning and checkpoints on to its parts, which must differ in name."""

    def __init__(self, name: str, parts: Sequence[RewardModule]) -> None:
        strange = [part for part in parts if not isinstance(part, RewardModule)]
        if strange:
            raise ConfigError(f"{name!r} is made of reward modules, given {strange[0]!r}")
        names = [part.name for part in parts]
        if not parts or len(set(names)) < len(names):
            raise ConfigError(f"{name!r} is made of {names}: one part or more, all names different")
        self.name = name
        self.parts = tuple(parts)
        self.online = all(part.online for part in parts)
        # Whoever pays without wanting anything keeps the whole from paying nobody.
        wants = [part.wants for part in parts]
        self.wants = " or ".join(wants) if all(wants) else ""

    @abstractmethod
    def combine(self, paid: Sequence[Payments]) -> Payments:
        """Make one reward of what each part pays after one reply."""

    @property
    def version(self) -> int:  # type: ignore[override]
        """Sum of the parts' versions: goes up whenever one of them changes."""
        return sum(part.version for part in self.parts)

    def score_turn(self, episode: Episode, turn: Turn) -> Payments:
        """Combine what the parts pay after this reply."""
        return self.combine([part.score_turn(episode, turn) for part in self.parts])

    def score_earlier(self, episode: Episode, turn: Turn) -> Mapping[int, Payments]:
        """Give by how much the combination for earlier replies changes with what falls due now."""
        due = [part.score_earlier(episode, turn) for part in self.parts]
        touched = sorted({at for paid in due for at in paid})
        return {at: self._change(episode, turn, at, [d.get(at, {}) for d in due]) for at in touched}

    def _change(self, episode: Episode, turn: Turn, at: int, due: Sequence[Payments]) -> Payments:
        before = [_paid_before(part, episode, turn, at) for part in self.parts]
        old = self.combine(before)
        new = self.combine([_added(b, d) for b, d in zip(before, due, strict=True)])
        return {agent: reward - old.get(agent, 0.0) for agent, reward in new.items()}

    def score(self, episodes: Sequence[Episode]) -> list[list[Payments]]:
        """Combine the parts' tables; each part sees the whole batch once."""
        tables = [part.score(episodes) for part in self.parts]
        return [
            [self.combine(paid) for paid in zip(*turns, strict=True)]
            for turns in zip(*tables, strict=True)
        ]

    def fit(self, episodes: Sequence[Episode]) -> Mapping[str, float]:
        """Let every part learn; metrics are reported as `part/metric`."""
        return {
            f"{part.name}/{metric}": value
            for part in self.parts
            for metric, value in part.fit(episodes).items()
        }

    def state_dict(self) -> dict[str, object]:
        """Give the parts' states by name."""
        return {part.name: part.state_dict() for part in self.parts}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Take back what `state_dict` gave."""
        for part in self.parts:
            own = state.get(part.name)
            if not isinstance(own, Mapping):
                raise DataError(f"state of {self.name!r} holds {list(state)}, not {part.name!r}")
            part.load_state_dict(own)


def _paid_before(part: RewardModule, episode: Episode, turn: Turn, at: int) -> Payments:
    """Add up what a part paid the reply in place `at` until the turn before this one."""
    paid = dict(part.score_turn(episode, episode.turns[at]))
    for other in episode.turns[at + 1 :]:
        if other is turn:
            break
        paid = _added(paid, part.score_earlier(episode, other).get(at, {}))
    return paid


def _added(one: Payments, other: Payments) -> Payments:
    return {a: one.get(a, 0.0) + other.get(a, 0.0) for a in dict.fromkeys([*one, *other])}


class WeightedSum(_Composed):
    """Pays the weighted sum of what its parts pay.

    Args:
        parts: the modules.
        weights: one for each; 1 each where none are given.
        name: component name of the sum.
    """

    def __init__(
        self,
        parts: Sequence[RewardModule],
        weights: Sequence[float] | None = None,
        *,
        name: str = "sum",
    ) -> None:
        super().__init__(name, parts)
        given = weights if weights is not None else (1.0,) * len(self.parts)
        self.weights = tuple(check_number("weights", weight) for weight in given)
        if len(self.weights) != len(self.parts):
            raise ConfigError(f"weights={self.weights}: {len(self.parts)} parts need one each")
        pairs = list(zip(self.weights, self.parts, strict=True))
        # A range may be infinite, and 0 times infinity is not a number.
        ends = [sorted(w * end if w else 0.0 for end in part.range) for w, part in pairs]
        self.range = (sum(low for low, _ in ends), sum(high for _, high in ends))

    def combine(self, paid: Sequence[Payments]) -> Payments:
        """Give sum_i w_i r_i for every agent that some part pays."""
        agents = dict.fromkeys(agent for payments in paid for agent in payments)
        weighted = list(zip(self.weights, paid, strict=True))
        return {a: sum(w * p[a] for w, p in weighted if a in p) for a in agents}


class Gate(_Composed):
    """Pays what a module pays, but only where another one pays enough after the same reply.

    For example `Gate(LengthPenalty(unit="characters"), when=FormatReward(), least=0.05)` charges
    for length only where the reply is legal.

    Args:
        module: what is paid.
        when: what has to be earned.
        least: smallest reward of `when` that opens the gate; an agent that `when` does not pay
            is not paid.
        name: component name; the module's own where none is given.
    """

    def __init__(
        self, module: RewardModule, *, when: RewardModule, least: float, name: str = ""
    ) -> None:
        super().__init__(name or module.name, (module, when))
        self.least = check_number("least", least)
        self.wants = module.wants
        self.range = (min(0.0, module.range[0]), max(0.0, module.range[1]))

    def combine(self, paid: Sequence[Payments]) -> Payments:
        """Give the module's reward, 0 where the gate is shut."""
        module, when = paid
        return {a: r if when.get(a, -inf) >= self.least else 0.0 for a, r in module.items()}
