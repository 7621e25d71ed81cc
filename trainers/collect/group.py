"""A group: several episodes of one task, by the same policies in the same seats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import DataError
from coevo.trainers.collect.rollout import EpisodeSpec
from coevo.trainers.samplers.curriculum import Proposal


@dataclass(frozen=True)
class Group:
    """Several episodes of one task, by the same policies in the same seats."""

    key: int
    """Tells the groups of one update apart."""
    task: Proposal
    specs: tuple[EpisodeSpec, ...]
    episodes: tuple[Episode, ...] = ()
    """One per spec, once they are played."""
    greedy: Episode | None = None
    """The same task played by the greedy twins of the learners."""

    def __len__(self) -> int:
        return len(self.specs)

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary that JSON can hold; every episode is one line of text.

        Nothing is injected in its specs: what an outer loop adds is never played ahead.
        """
        return {
            "key": self.key,
            "task": asdict(self.task),
            "specs": [asdict(spec) for spec in self.specs],
            "episodes": [episode.to_json() for episode in self.episodes],
            "greedy": None if self.greedy is None else self.greedy.to_json(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Group:
        """Read what `to_dict` wrote; DataError where it is something else."""
        try:
            greedy = data["greedy"]
            return cls(
                data["key"],
                Proposal(**data["task"]),
                tuple(EpisodeSpec(**spec) for spec in data["specs"]),
                tuple(Episode.from_json(line) for line in data["episodes"]),
                None if greedy is None else Episode.from_json(greedy),
            )
        except (KeyError, TypeError) as error:
            raise DataError(f"not a group: {type(error).__name__}: {error}") from None
