"""The archive of a run: artifacts with an id, parents, and what became of them.

An artifact is anything that an outer loop tries, credits and replaces: an instruction, a rubric, a
reward formula, the genome of a generation. It is proposed once and never changes; what changes is
its weight, how often it was used, and what was measured of it. What is pruned stays on record
without its content, so that a lineage never breaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from torch import Tensor

from coevo.envs.core.errors import ConfigError, DataError, unknown

Kind = Literal["instruction", "rubric", "formula", "experience", "program", "genome", "snapshot"]


@dataclass
class Artifact:
    """One thing that an outer loop has tried."""

    id: str
    """Its kind and its number, such as `formula-3`."""
    kind: Kind
    payload: Any
    """Its content, JSON-able; None once it was pruned."""
    parents: tuple[str, ...] = ()
    """Ids of those that it was made from."""
    of: str = ""
    """Parameter set that it belongs to, where it is of one."""
    born_at: int = 0
    """Updates done when it was proposed."""
    weight: float = 0.0
    """How well it does, as those that select see it."""
    uses: int = 0
    """Episodes in which it took part."""
    stats: dict[str, float] = field(default_factory=dict)
    """What was measured of it."""
    note: str = ""
    """Why it failed, where it did."""
    descriptor: tuple[float, ...] = ()
    """How it behaves, in numbers: grids and novelty compare by it."""
    objectives: tuple[float, ...] = ()
    """What it earns, component by component, where no sum of them decides."""
    island: int = 0
    """Part of the population that it belongs to, where there are several."""
    pruned_at: int | None = None
    """Updates done when it was given up; None while it lives."""
    tensors: dict[str, Tensor] = field(default_factory=dict, compare=False)
    """Content that is no JSON; empty once it was pruned."""


class Archive:
    """Artifacts by id, oldest first."""

    def __init__(self) -> None:
        self._artifacts: dict[str, Artifact] = {}

    def __len__(self) -> int:
        """Return the number of artifacts, pruned ones included."""
        return len(self._artifacts)

    def __getitem__(self, name: str) -> Artifact:
        if name not in self._artifacts:
            raise unknown("artifact", name, self._artifacts)
        return self._artifacts[name]

    def living(self, kind: Kind, of: str = "") -> list[Artifact]:
        """Return the artifacts of a kind that were not pruned, oldest first."""
        return [a for a in self.record(kind, of) if a.pruned_at is None]

    def record(self, kind: Kind, of: str = "") -> list[Artifact]:
        """Return the artifacts of a kind, pruned ones included, oldest first.

        Those of a parameter set only, where `of` names one.
        """
        return [a for a in self._artifacts.values() if a.kind == kind and of in ("", a.of)]

    def propose(
        self,
        kind: Kind,
        payload: Any,
        *,
        parents: Sequence[str] = (),
        of: str = "",
        step: int = 0,
        weight: float = 0.0,
        tensors: Mapping[str, Tensor] | None = None,
    ) -> Artifact:
        """Add an artifact and return it; its payload is JSON-able, and its parents must be here."""
        content = dict(tensors or {})
        return self.add(
            Artifact("", kind, payload, tuple(parents), of, step, weight, tensors=content)
        )

    def add(self, candidate: Artifact) -> Artifact:
        """Give a candidate an id and keep it; its parents must be here."""
        for parent in candidate.parents:
            self[parent]
        candidate.id = f"{candidate.kind}-{len(self.record(candidate.kind))}"
        self._artifacts[candidate.id] = candidate
        return candidate

    def evaluate(self, name: str, note: str = "", **stats: float) -> None:
        """Note what was measured of an artifact, and why it failed, if it did."""
        self[name].stats |= stats
        self[name].note = note or self[name].note

    def credit(self, name: str, reward: float, rate: float, uses: int = 1) -> None:
        """Move a weight towards a mean reward: w <- (1 - rate) w + rate reward.

        >>> archive = Archive()
        >>> one = archive.propose("instruction", "Think.", weight=0.5)
        >>> archive.credit(one.id, 1.0, rate=0.5, uses=16)
        >>> one.weight, one.uses
        (0.75, 16)
        """
        artifact = self[name]
        artifact.weight = (1 - rate) * artifact.weight + rate * reward
        artifact.uses += uses

    def prune(self, names: Iterable[str], step: int) -> None:
        """Give artifacts up: they stay on record, without their content."""
        for name in names:
            artifact = self[name]
            artifact.payload, artifact.tensors = None, {}
            artifact.pruned_at = step

    def lineage(self, name: str) -> list[Artifact]:
        """Return an artifact and everything that it was made from, oldest first.

        >>> archive = Archive()
        >>> one = archive.propose("formula", "g1")
        >>> two = archive.propose("formula", "g1 * g2", parents=[one.id])
        >>> [a.id for a in archive.lineage(two.id)]
        ['formula-0', 'formula-1']
        """
        wanted = {name}
        for artifact in reversed(self._artifacts.values()):  # parents are older
            if artifact.id in wanted:
                wanted.update(artifact.parents)
        return [self[n] for n in self._artifacts if n in wanted] or [self[name]]

    def lineages(self) -> dict[str, str]:
        """Return the best that lives of each kind, with what it was made from, newest first.

        >>> archive = Archive()
        >>> one = archive.propose("formula", "g1")
        >>> two = archive.propose("formula", "g1 * g2", parents=[one.id], weight=0.5)
        >>> archive.lineages()
        {'formula': 'formula-1 (0.5), made from formula-0'}
        """
        found: dict[str, str] = {}
        for kind in dict.fromkeys(a.kind for a in self._artifacts.values()):
            if living := self.living(kind):
                best = max(reversed(living), key=lambda a: a.weight)
                older = [a.id for a in self.lineage(best.id)[-2::-1]]
                made = f", made from {', '.join(older)}" if older else ""
                found[kind] = f"{best.id} ({best.weight:.4g}){made}"
        return found

    def metrics(self) -> dict[str, float]:
        """Return numbers for the log: how many live of each kind, and the highest weight."""
        found = {}
        for kind in dict.fromkeys(a.kind for a in self._artifacts.values()):
            living = self.living(kind)
            found[f"archive/{kind}"] = float(len(living))
            if living:
                found[f"archive/{kind}/weight"] = max(a.weight for a in living)
        return found

    def state_dict(self) -> list[dict[str, Any]]:
        names = [f.name for f in fields(Artifact) if f.name != "tensors"]
        return [{n: getattr(a, n) for n in names} for a in self._artifacts.values()]

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors of all artifacts, `ID/NAME`."""
        return {f"{a.id}/{n}": t for a in self._artifacts.values() for n, t in a.tensors.items()}

    def load_state_dict(
        self, state: Iterable[Mapping[str, Any]], tensors: Mapping[str, Tensor]
    ) -> None:
        """Take back what `state_dict` and `tensors` gave.

        Raises:
            DataError: it is no archive, or an artifact names a parent that is not before it.
        """
        found: dict[str, Artifact] = {}
        for entry in state:
            artifact = _artifact(entry)
            for parent in artifact.parents:
                if parent not in found:
                    raise DataError(
                        f"the archive is damaged: {artifact.id} was made from {parent}, which is "
                        "not in it before that"
                    )
            found[artifact.id] = artifact
        for name, tensor in tensors.items():
            owner, _, part = name.rpartition("/")
            if owner not in found:
                raise DataError(f"the archive is damaged: {name} belongs to no artifact in it")
            found[owner].tensors[part] = tensor
        self._artifacts = found


def _artifact(entry: Mapping[str, Any]) -> Artifact:
    try:
        made = Artifact(**entry)
        made.parents, made.stats = tuple(made.parents), dict(made.stats)
        made.descriptor, made.objectives = tuple(made.descriptor), tuple(made.objectives)
        if made.kind not in get_args(Kind):
            raise ConfigError(f"{made.id} is a {made.kind!r}")
    except (TypeError, ValueError) as error:
        raise DataError(f"the archive is damaged: {' '.join(str(error).split())}") from None
    return made
