"""The page of agents side by side in every environment, from stored evaluations."""

from __future__ import annotations

from pathlib import Path

from coevo.benchmarks.files import short
from coevo.benchmarks.suites.table import Evaluated, read_evaluated, side_by_side
from coevo.envs import list_envs
from coevo.envs.core.registry import by_family

EVALUATIONS = Path(__file__).parents[1] / "benchmarks" / "results" / "zero_shot"
"""A folder of `coevo evaluate --suite all --out FOLDER` per agent."""
ORDER = ("random", "expert", "starter", "smollm2", "smollm2_taught")
"""Folders in the order of the columns; others follow."""


def score_pages() -> dict[str, str]:
    """Return the page of zero-shot play."""
    env_ids = [e.id for _, members in by_family(list_envs()) for e in members]
    known = sum(e.starter_trained for e in list_envs())
    parts = [
        "# Zero-shot play",
        "What agents earn without training; of these environments the starter model has learnt "
        f"{known}, the other agents none. `smollm2_taught` is SmolLM2 after 100 lessons of eight "
        "replies each, random legal moves in the 35 games whose seats are player_0 and player_1: "
        "the form, no skill. A value is a mean payoff ± half of its 95 % interval "
        "over start states (20 an environment, SmolLM2 4), by the metric named: against random "
        "play, against the oracle, or of a seat in self-play. The references are constants of the "
        "benchmark; the best known is the oracle, or the best play that was found. A dash stands "
        "for what is not known: an environment without an expert, or one that an agent has not "
        "played yet.",
        "A reply is unread if no move, answer or verdict was found in it, and a near miss if it "
        "came close to a legal move ([how replies are read](replies.md)). Tokens are those that "
        "the agent read and wrote; what it reads again counts again.",
        side_by_side(stored(), env_ids, linked),
        "## Your own agent",
        "A row of your own costs what the command says before it begins; it can be interrupted at "
        "any moment, and the same command continues.",
        "```text\ncoevo evaluate --suite all --agent openai:MODEL --games 20 --out runs/mine "
        "--beside benchmarks/results/zero_shot/random benchmarks/results/zero_shot/expert\n```",
    ]
    return {"zero_shot": "\n\n".join(parts) + "\n"}


def stored() -> list[Evaluated]:
    """Return the stored evaluations, those of `ORDER` first."""
    folders = sorted(p for p in EVALUATIONS.iterdir() if p.is_dir())
    known = [p for name in ORDER for p in folders if p.name == name]
    return [read_evaluated(p) for p in (*known, *(p for p in folders if p not in known))]


def linked(env_id: str) -> str:
    """Return a link to the page of an environment."""
    name = short(env_id)
    return f"[{name}](environments/{name}.md)"
