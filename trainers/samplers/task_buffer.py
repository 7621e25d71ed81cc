"""Archives: what episodes leave for later episodes, such as questions that were hard enough.

An episode leaves items in the notes of its turns, under `keep`: a list of mappings, JSON-able. An
archive keeps some of them, and gives a later play a few as `options["stored"]` of its reset. What
an item means is the environment's business; read here are only `key` (items with equal keys are
one) and `success` (0..1, how well the play went with it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import numpy as np

from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.errors import DataError
from coevo.trainers.samplers.kept import WithoutMemory


class TaskStore(WithoutMemory):
    """Nothing is kept, nothing is given."""

    config: Any = None
    """The settings that it goes by."""

    def give(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the options of one episode's reset."""
        return {}

    def take(self, episodes: Iterable[Episode], step: int) -> None:
        """Look at what the episodes of an update left."""

    def metrics(self) -> dict[str, float]:
        return {}


@config
class KeptTasks:
    """Items that did not go too well are kept, the newest of equal ones, until they expire.

    Published for Search Self-play (arXiv 2510.18821): threshold 1.0 (library default 0.5), wiped
    every 10 updates (library default 5); there equal items pile up between two wipes.
    """

    name: Literal["kept_tasks"] = "kept_tasks"
    threshold: Annotated[float, real(0, 1)] = 1.0
    """Items with a `success` up to this are kept."""
    every: Annotated[int, whole(0)] = 10
    """Updates between two wipes; 0 never wipes."""
    expires: Annotated[int, whole(0)] = 0
    """Updates after which an item goes; 0 keeps it until the next wipe."""
    most: Annotated[int, whole(1)] = 4096
    """Items at most; the oldest go first."""
    given: Annotated[int, whole(1)] = 16
    """Items that an episode gets, drawn without repeats."""

    def store(self) -> KeptTaskStore:
        return KeptTaskStore(self)


class KeptTaskStore(TaskStore):
    """The items that are kept."""

    def __init__(self, config: KeptTasks) -> None:
        self.config = config
        self._items: dict[str, dict[str, Any]] = {}
        self._seen = self._again = 0

    def give(self, rng: np.random.Generator) -> dict[str, Any]:
        items = list(self._items.values())
        drawn = rng.permutation(len(items))[: self.config.given]
        return {"stored": [dict(items[i]) for i in drawn]}

    def take(self, episodes: Iterable[Episode], step: int) -> None:
        self._seen = self._again = 0
        for item in _left(episodes):
            key = str(item.get("key", item))
            self._seen += 1
            self._again += key in self._items
            self._items.pop(key, None)  # the newest of equal items counts, and comes last
            if float(item.get("success", 0.0)) <= self.config.threshold:
                self._items[key] = {**item, "step": step}
        if self.config.every and (step + 1) % self.config.every == 0:
            self._items.clear()
        if self.config.expires:
            young = (
                (k, i) for k, i in self._items.items() if step - i["step"] < self.config.expires
            )
            self._items = dict(young)
        for key in list(self._items)[: max(0, len(self._items) - self.config.most)]:
            del self._items[key]

    def metrics(self) -> dict[str, float]:
        """Return the size, and the share of the newest items that were there already."""
        found = {"task_buffer/items": float(len(self._items))}
        return found | ({"task_buffer/again": self._again / self._seen} if self._seen else {})

    def state_dict(self) -> dict[str, Any]:
        return {"items": list(self._items.items())}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        try:
            items = {str(key): dict(item) for key, item in state["items"]}
            if not all(isinstance(item["step"], int) for item in items.values()):
                raise TypeError("an item without its step")
        except (KeyError, TypeError, ValueError) as error:
            why = f"{type(error).__name__}: {error}"
            raise DataError(f"not the state of an archive: {why}") from None
        self._items = items


def _left(episodes: Iterable[Episode]) -> list[Mapping[str, Any]]:
    whole = (e for e in episodes if e.stop is not StopReason.ERROR)
    return [item for e in whole for turn in e.turns for item in turn.notes.get("keep", ())]


TaskBuffer = Annotated[KeptTasks, choice()]
