"""Numbers about the plays of one update, logged whatever the algorithm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from coevo.envs.core.episode import Episode


def rollout_metrics(seats: Sequence[str], episodes: Sequence[Episode]) -> dict[str, float]:
    """Summarise plays: returns per seat and component, win rate by seat, forfeits, lengths."""
    count = len(episodes)
    metrics: dict[str, float] = {}
    for seat in seats:
        returns = np.array([e.total(seat, "payoff") for e in episodes])
        metrics[f"return/{seat}"] = float(returns.mean())
        metrics[f"win_rate/{seat}"] = float((returns > 0).mean())
        turns = sum(t.agent == seat for e in episodes for t in e.turns)
        illegal = sum(e.illegal_replies(seat) for e in episodes)
        metrics[f"illegal_rate/{seat}"] = illegal / max(turns, 1)
    metrics |= _by_player(episodes)
    stops = Counter(str(e.stop) for e in episodes)
    metrics |= {f"stop/{name}": n / count for name, n in sorted(stops.items())}
    metrics["forfeit_rate"] = stops.get("forfeit", 0) / count
    metrics["turns"] = sum(len(e.turns) for e in episodes) / count
    for component in sorted({c for e in episodes for t in e.turns for c in t.rewards}):
        total = sum(e.total(a, component) for e in episodes for a in e.agents)
        metrics[f"reward/{component}"] = total / count / len(seats)
    return metrics


def _by_player(episodes: Sequence[Episode]) -> dict[str, float]:
    """Mean payoff of each player where several sit at one table: seats rotate between them."""
    paid: dict[str, list[float]] = {}
    for episode in episodes:
        players = {t.agent: t.player for t in episode.turns}
        for seat, player in players.items():
            paid.setdefault(player, []).append(episode.total(seat, "payoff"))
    if len(paid) < 2:
        return {}
    return {f"return/{player}": float(np.mean(values)) for player, values in sorted(paid.items())}
