"""Bonuses for observations that are new: in the episode, in the whole run, or in both."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from math import sqrt
from typing import Annotated, Literal

from coevo.envs.core.config import config, real
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.errors import DataError
from coevo.envs.core.rewards import RewardModule, Table


@config
class ExplorationBonus(RewardModule):
    """Pays a reply for the message that its seat reads next, if that is new.

    `global`: beta / sqrt(N), N being how often the message was read in the whole run, this time
    included; `episodic`: beta if the seat reads it for the first time in the episode; `product`:
    the former at the first time in an episode. The last reply of a seat has no next message. Counts
    grow once per update. Source: Henaff, Jiang, Raileanu 2023, arXiv 2306.03236: episodic bonuses
    help where episodes share little, global ones where they share much, the product in both.
    """

    name: Literal["exploration_bonus"] = "exploration_bonus"
    scope: Literal["global", "episodic", "product"] = "product"
    """Where a message must be new."""
    beta: Annotated[float, real(0)] = 0.1
    """Largest bonus of a reply."""
    per_turn = False

    @functools.cached_property
    def _counts(self) -> Counter[str]:
        return Counter()

    @property
    def range(self) -> tuple[float, float]:
        return (0.0, self.beta)

    def table(self, episodes: Sequence[Episode]) -> Table:
        table: Table = [[{} for _ in e.turns] for e in episodes]
        for episode, rewards in zip(episodes, table, strict=True):
            met: set[tuple[str, str]] = set()
            for place, seat, read in _read(episode):
                if place >= 0:
                    rewards[place][seat] = self.beta * self._new(read, (seat, read) in met)
                met.add((seat, read))
        return table

    def _new(self, read: str, met: bool) -> float:
        if self.scope != "global" and met:
            return 0.0
        return 1.0 if self.scope == "episodic" else 1 / sqrt(self._counts[read] + 1)

    def fit(self, episodes: Sequence[Episode]) -> Mapping[str, float]:
        """Count what was read."""
        self._counts.update(read for e in episodes for _, _, read in _read(e))
        return {"messages": float(len(self._counts))}

    def state_dict(self) -> dict[str, object]:
        return {"counts": dict(self._counts)}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        counts = state.get("counts", {})
        if not isinstance(counts, Mapping):
            raise DataError(f"not a state of {self.name!r}: expected counts of messages")
        self._counts.clear()
        self._counts.update({str(read): int(n) for read, n in counts.items()})


def _read(episode: Episode) -> Iterator[tuple[int, str, str]]:
    """Return what every seat reads, as a hash, and the place of its reply before; -1 for none."""
    before: dict[str, int] = {}
    for place, turn in enumerate(episode.turns if episode.stop is not StopReason.ERROR else ()):
        content = str(turn.chat[-1]["content"]) if turn.chat else ""
        digest = blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8)
        yield before.get(turn.agent, -1), turn.agent, digest.hexdigest()
        before[turn.agent] = place
