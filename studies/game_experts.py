"""How well random play and the experts of the games do: the references that are not exact.

    python studies/game_experts.py [games, 1000] [environments]

Prints one line per environment: the mean return and its standard error of random play, of the
expert of skill 0.5 and of skill 1; against random play from both seats in turn, or with itself
where partners have one payoff or bargain. Seeds are fixed, and so are the figures.
"""

from __future__ import annotations

import sys

import numpy as np

from coevo.agents import ExpertAgent, RandomAgent
from coevo.agents.agent import Agent
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import list_envs, spec

PLAYED = {"return_vs_random": "random", "return_self_play": None}
"""Metrics -> who has the other seats."""


def score(agent: Agent, env_id: str, games: int) -> tuple[float, float]:
    """Return the mean return and its standard error."""
    played = evaluate(agent, env_id, PLAYED[spec(env_id).metric], games, seed=0)
    scores = np.array(played.task_scores)
    return float(played.value or 0.0), float(scores.std(ddof=1) / np.sqrt(len(scores)))


def main(games: int, env_ids: list[str]) -> None:
    """Print the table."""
    sys.stdout.write("| environment | random | expert:0.5 | expert:1 |\n|---|---|---|---|\n")
    for env_id in env_ids:
        agents = (RandomAgent(), ExpertAgent(0.5), ExpertAgent(1.0))
        found = (score(agent, env_id, games) for agent in agents)
        cells = " | ".join(f"{mean:.4f} ± {error:.4f}" for mean, error in found)
        sys.stdout.write(f"| {env_id} | {cells} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    chosen = sys.argv[2:] or [
        s.id for s in list_envs() if ".games." in s.module and s.metric in PLAYED
    ]
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, chosen)
