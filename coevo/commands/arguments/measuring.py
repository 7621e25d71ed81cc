"""Commands that measure one agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from coevo.commands.arguments.fields import (
    Command,
    Device,
    EnvId,
    MaxTokens,
    Pairs,
    Shown,
    Switch,
    Temperature,
)


@dataclass(frozen=True, kw_only=True)
class Evaluate(Command):
    """Measure an agent: against another, on a suite, in a scenario, along an axis of change.

    With --out everything finished is kept, and the same command continues after an interruption.
    """

    runs: ClassVar[str] = "coevo.commands.evaluate"
    example: ClassVar[str] = (
        "coevo evaluate --agent runs/mars-kuhn_poker-0 --env coevo/kuhn_poker-v0 --opponent oracle"
    )

    agent: Annotated[str | None, Shown("NAME|PATH")] = None
    """Who is measured: starter, a model or run folder, a Hub id, openai:MODEL, random, first_legal,
    oracle, or expert:SKILL with a skill from 0 to 1."""
    env: Annotated[str | None, Shown("ID")] = None
    """One environment; `coevo envs` lists them."""
    suite: Annotated[str | None, Shown("NAME")] = None
    """All environments of a kind, each by its own metric: games, dilemmas, societies, ..."""
    scenario: Annotated[str | None, Shown("NAME|all")] = None
    """Unfamiliar company in some seats, drawn anew for every episode."""
    axis: Annotated[str | None, Shown("players|payoffs|partners")] = None
    """More players, other payoffs or other partners, step by step; --env picks the game."""
    generations: Annotated[str | None, Shown("RUN")] = None
    """All checkpoints of a run instead of an agent: is a later one better?"""
    opponent: Annotated[
        str | None, Shown("NAME|PATH", "random; self where the task is cooperative")
    ] = None
    """With --env: who has the other seats, named as --agent is; self for self-play."""
    games: Annotated[
        int | None, Shown("N", "400; 320 per environment of a suite, 100 per scenario, else 200")
    ] = None
    """Episodes, rounded up so that each task is played from every seat."""
    samples: Annotated[int | None, Shown("K", "none")] = None
    """Play each task K times, in --games episodes of their own, for pass@k, avg@k and pass^k."""
    seed: Annotated[int, Shown("K", "0")] = 0
    """Of tasks and sampling."""
    greedy: Switch = False
    """Take the most probable token instead of sampling."""
    temperature: Temperature = None
    """Divides the logits when sampling."""
    max_new_tokens: MaxTokens = None
    """Longest reply in tokens."""
    set: Pairs = ()
    """Further settings of sampling, such as sampling.top_p=0.9, as of `coevo train`."""
    env_option: Pairs = ()
    """Arguments of the environment, such as prompt_style=full."""
    out: Annotated[str | None, Shown("DIR", "nothing is written")] = None
    """Folder of the results; one that exists is continued."""
    device: Device = None
    """Where to compute."""
    json: Switch = False
    """Print JSON and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Exploitability(Command):
    """Compute exactly what a perfect opponent would gain against an agent."""

    runs: ClassVar[str] = "coevo.commands.exploitability"
    example: ClassVar[str] = "coevo exploitability --agent starter --env coevo/kuhn_poker-v0"

    agent: Annotated[str, Shown("NAME|PATH")]
    """Who is measured: starter, a model or run folder, a Hub id, random, first_legal, oracle."""
    env: EnvId
    """A small two-player environment with OpenSpiel rules, such as Kuhn or Leduc poker."""
    temperature: Temperature = None
    """Divides the logits."""
    env_option: Pairs = ()
    """Arguments of the environment, such as prompt_style=full."""
    device: Device = None
    """Where to compute."""
    json: Switch = False
    """Print JSON and nothing else."""
