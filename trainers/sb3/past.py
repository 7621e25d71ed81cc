"""Past selves of a learner, its opponents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from coevo.agents.models.network import Network, layers_of
from coevo.trainers.sb3.hyperparameters import SelfPlay


class PastSelves:
    """The learner after its newest update, and after some earlier ones.

    Playing only the newest self chases it in circles where no pure strategy is best; older ones in
    between are the opponents of fictitious self-play (Heinrich et al., 2015), a few instead of all.
    There is none to draw before the first `renew`.

    Args:
        settings: how many, how often.
    """

    def __init__(self, settings: SelfPlay) -> None:
        self.settings = settings
        self.kept: list[Network] = []
        """Past selves, oldest first."""
        self.newest: list[Network] = []
        """The learner as it is, alone."""

    def renew(self, now: Network, step: int) -> None:
        """Take over the learner after an update; keep it if its turn has come."""
        self.newest = [replace(now, name="newest_self")]
        if step % self.settings.every == 0:
            self.kept = [*self.kept, replace(now, name="past_self")][-self.settings.size :]

    def draw(self, rng: np.random.Generator) -> Network:
        """Draw the player of one seat for one episode."""
        among = self.newest if rng.random() < self.settings.latest else self.kept
        return among[int(rng.integers(len(among)))]

    def tensors(self) -> dict[str, np.ndarray]:
        """Return the weights of the kept selves, by number and name."""
        return {f"{i}/{k}": t for i, net in enumerate(self.kept) for k, t in net.tensors().items()}

    def restore(self, now: Network, tensors: Mapping[str, np.ndarray]) -> None:
        """Take over the learner and the kept selves of a checkpoint."""
        rows: dict[int, dict[str, np.ndarray]] = {}
        for name, tensor in tensors.items():
            row, _, key = name.partition("/")
            rows.setdefault(int(row), {})[key] = tensor
        self.newest = [replace(now, name="newest_self")]
        self.kept = [
            replace(now, layers=layers_of(rows[i]), name="past_self") for i in sorted(rows)
        ]
