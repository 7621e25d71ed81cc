"""Archives: what plays leave for later plays, such as questions that were hard enough.

A play leaves items in the notes of its turns, under `keep`: a list of mappings, JSON-able. An
archive keeps some of them, and gives a later play a few as `options["stored"]` of its reset. What
an item means is the environment's business; read here are only `key` (items with equal keys are
one) and `success` (0..1, how well the play went with it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coevo.envs.core.episode import Episode, Stop
from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers.estimators.option import Table, check_range
from coevo.trainers.samplers.memory import WithoutMemory


class Archive(WithoutMemory):
    """Nothing is kept, nothing is given."""

    def give(self, rng: np.random.Generator) -> dict[str, Any]:
        """Give the options of one play's reset."""
        return {}

    def take(self, episodes: Iterable[Episode], step: int) -> None:
        """Look at what the plays of an update left."""

    def metrics(self) -> dict[str, float]:
        """Give numbers for the log."""
        return {}


@dataclass(kw_only=True)
class KeptItems(Archive):
    """Items that did not go too well are kept, the newest of equal ones, until they expire.

    Published for Search Self-play (arXiv 2510.18821): threshold 1.0 (library default 0.5), wiped
    every 10 updates (library default 5); there equal items pile up between two wipes.
    """

    threshold: float = 1.0
    """Items with a `success` up to this are kept."""
    every: int = 10
    """Updates between two wipes; 0 never wipes."""
    expires: int = 0
    """Updates after which an item goes; 0 keeps it until the next wipe."""
    most: int = 4096
    """Items at most; the oldest go first."""
    given: int = 16
    """Items that a play gets, drawn without repeats."""
    _items: dict[str, dict[str, Any]] = field(init=False, default_factory=dict)
    _seen: int = field(init=False, default=0)
    _again: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        check_range("threshold", self.threshold, 0.0, 1.0)
        for name, least in (("every", 0), ("expires", 0), ("most", 1), ("given", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name}={getattr(self, name)} must be {least} or more")

    def give(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw `given` items, all if there are fewer."""
        items = list(self._items.values())
        drawn = rng.permutation(len(items))[: self.given]
        return {"stored": [dict(items[i]) for i in drawn]}

    def take(self, episodes: Iterable[Episode], step: int) -> None:
        """Keep what plays left in this update; forget what expires with it."""
        self._seen = self._again = 0
        for item in _left(episodes):
            key = str(item.get("key", item))
            self._seen += 1
            self._again += key in self._items
            self._items.pop(key, None)  # the newest of equal items counts, and comes last
            if float(item.get("success", 0.0)) <= self.threshold:
                self._items[key] = {**item, "step": step}
        if self.every and (step + 1) % self.every == 0:
            self._items.clear()
        if self.expires:
            young = ((k, i) for k, i in self._items.items() if step - i["step"] < self.expires)
            self._items = dict(young)
        for key in list(self._items)[: max(0, len(self._items) - self.most)]:
            del self._items[key]

    def metrics(self) -> dict[str, float]:
        """Give the size, and the share of the newest items that were there already."""
        found = {"archive/items": float(len(self._items))}
        return found | ({"archive/again": self._again / self._seen} if self._seen else {})

    def state_dict(self) -> dict[str, Any]:
        """Give the items."""
        return {"items": list(self._items.items())}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        try:
            items = {str(key): dict(item) for key, item in state["items"]}
            if not all(isinstance(item["step"], int) for item in items.values()):
                raise TypeError("an item without its step")
        except (KeyError, TypeError, ValueError) as error:
            why = f"{type(error).__name__}: {error}"
            raise DataError(f"not the state of an archive: {why}") from None
        self._items = items


def _left(episodes: Iterable[Episode]) -> list[Mapping[str, Any]]:
    """Give what whole plays left."""
    whole = (e for e in episodes if e.stop is not Stop.ERROR)
    return [item for e in whole for turn in e.turns for item in turn.notes.get("keep", ())]


ARCHIVE: Table = {"none": Archive, "kept": KeptItems}
"""What is done with what plays leave."""
