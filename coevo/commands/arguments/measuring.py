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
    Switch,
    Temperature,
    shown,
)


@dataclass(frozen=True, kw_only=True)
class Evaluate(Command):
    """Play an agent against another, every deal once from each seat."""

    runs: ClassVar[str] = "coevo.commands.evaluate"
    example: ClassVar[str] = (
        "coevo evaluate --agent runs/mars-kuhn_poker-0 --env coevo/kuhn_poker-v0 --opponent oracle"
    )

    agent: Annotated[str, shown("NAME|PATH")]
    """Who is measured: seed, a model or run folder, a Hub id, random, first_legal, oracle."""
    env: EnvId
    """Environment; `coevo envs` lists them."""
    opponent: Annotated[str, shown("NAME|PATH", "random")] = "random"
    """Who has the other seats; self for self-play."""
    games: Annotated[int, shown("N", "400")] = 400
    """Plays, rounded up so that each deal is played from every seat."""
    seed: Annotated[int, shown("K", "0")] = 0
    """Of deals and sampling."""
    greedy: Switch = False
    """Take the most probable token instead of sampling."""
    temperature: Temperature = None
    """Divides the logits when sampling."""
    max_new_tokens: MaxTokens = None
    """Longest reply in tokens."""
    env_option: Pairs = ()
    """Arguments of the environment, such as prompt_style=full."""
    device: Device = None
    """Where to compute."""
    json: Switch = False
    """Print JSON and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Exploitability(Command):
    """Compute exactly what a perfect opponent would gain against an agent."""

    runs: ClassVar[str] = "coevo.commands.exploitability"
    example: ClassVar[str] = "coevo exploitability --agent seed --env coevo/kuhn_poker-v0"

    agent: Annotated[str, shown("NAME|PATH")]
    """Who is measured: seed, a model or run folder, a Hub id, random, first_legal, oracle."""
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
