"""Commands that compare agents or algorithms, and show runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from tyro.conf import Positional

from coevo.commands.arguments.fields import (
    Command,
    Device,
    MaxTokens,
    Pairs,
    Switch,
    Temperature,
    shown,
)


@dataclass(frozen=True, kw_only=True)
class Compare(Command):
    """Train algorithms side by side at equal budgets, over seeds, and test what separates them.

    A manifest is written first. Every cell (algorithm, environment, seed) is a run folder, so the
    same command continues after any interruption and ends with the same tables.
    """

    runs: ClassVar[str] = "coevo.commands.compare"
    example: ClassVar[str] = (
        "coevo compare --algos reinforce,grpo,mars --env coevo/kuhn_poker-v0 --seeds 10 "
        "--budget-tokens 2e5 --out runs/kuhn"
    )

    algos: Annotated[str | None, shown("NAMES")] = None
    """Algorithms, with commas between; mars:plain is a variant, sb3:ppo a baseline."""
    env: Annotated[str | None, shown("IDS")] = None
    """Environments, with commas between."""
    out: Annotated[str | None, shown("DIR", "runs/compare-<algos>-<env>")] = None
    """Folder of the comparison; one that exists is continued."""
    seeds: Annotated[int | None, shown("N", "10")] = None
    """Seeds per algorithm and environment, from 0 on."""
    budget_tokens: Annotated[str | None, shown("N|ENV=N,...")] = None
    """Sampled tokens of a cell, one number or one per environment."""
    budget_turns: Annotated[str | None, shown("N|ENV=N,...")] = None
    """Turns of environments in a cell: the budget that stable-baselines3 shares."""
    budget: Annotated[str | None, shown("TIME")] = None
    """Training time of a cell, such as 90s or 5m."""
    model: Annotated[str | None, shown("PATH", "seed, the shipped model")] = None
    """Start model of every cell."""
    baseline: Annotated[str | None, shown("NAME", "the first algorithm")] = None
    """Whom the others are tested against in the headline."""
    points: Annotated[int | None, shown("N", "20")] = None
    """Evaluations on the way, evenly spaced over the budget."""
    games: Annotated[int | None, shown("N", "32")] = None
    """Plays per opponent of an evaluation on the way; ten times as many at the end."""
    set: Pairs = ()
    """Changes of slots in all algorithms, or in one as in mars.optim.lr=1e-4."""
    env_option: Pairs = ()
    """Arguments of the environments."""
    temperature: Temperature = None
    """Divides the logits when sampling, in training and in measurements."""
    max_new_tokens: MaxTokens = None
    """Longest reply in tokens."""
    workers: Annotated[int, shown("N", "one per CPU core")] = 0
    """Cells at a time."""
    on: Annotated[Literal["processes", "ray"], shown("processes|ray", "processes")] = "processes"
    """Where cells run."""
    threads: Annotated[int | None, shown("N", "1")] = None
    """CPU threads of a cell."""
    device: Device = None
    """Where to compute."""
    retry: Switch = False
    """Run cells again that failed before."""
    json: Switch = False
    """Print JSON and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Tournament(Command):
    """Let agents play each other, and rate them."""

    runs: ClassVar[str] = "coevo.commands.tournament"
    example: ClassVar[str] = (
        "coevo tournament --agents seed,random,oracle --env coevo/leduc_poker-v0 --games 400"
    )

    agents: Annotated[str | None, shown("NAMES")] = None
    """With commas between: seed, model or run folders, Hub ids, random, oracle, openai:MODEL."""
    env: Annotated[str | None, shown("ID")] = None
    """Environment; `coevo envs` lists them."""
    out: Annotated[str | None, shown("DIR", "runs/tournament-<env>")] = None
    """Folder of the tournament; one that exists is continued."""
    games: Annotated[int | None, shown("N", "400")] = None
    """Plays per pair of agents, each deal once from each seat."""
    adaptive: Switch = False
    """Play only what the ranking still needs (ResponseGraphUCB), at most --games per pair."""
    exploiter: Annotated[str | None, shown("N|TIME", "none")] = None
    """Train a fresh exploiter against every agent that has no exact value: tokens, or time."""
    seed: Annotated[int | None, shown("K", "0")] = None
    """Of deals and sampling."""
    env_option: Pairs = ()
    """Arguments of the environment."""
    device: Device = None
    """Where to compute."""
    json: Switch = False
    """Print JSON and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Report(Command):
    """Write one self-contained HTML page about a run, a comparison or a tournament."""

    runs: ClassVar[str] = "coevo.commands.report"
    example: ClassVar[str] = "coevo report runs/kuhn"

    folder: Annotated[Positional[str], shown("DIR")]
    """Folder of a run, a comparison or a tournament."""
    out: Annotated[str | None, shown("FILE", "DIR/report.html")] = None
    """The page; plots are written beside it."""
    episodes: Annotated[int, shown("N", "400")] = 400
    """Most plays in the transcript browser; of more a sample is taken over seeds and steps."""


@dataclass(frozen=True, kw_only=True)
class Watch(Command):
    """Follow a run or a comparison in this terminal."""

    runs: ClassVar[str] = "coevo.commands.watch"
    example: ClassVar[str] = "coevo watch runs/mars-kuhn_poker-0"

    folder: Annotated[Positional[str], shown("DIR")]
    """Folder of a run or a comparison."""
    every: Annotated[float, shown("SECONDS", "1")] = 1.0
    """How often to look."""
    once: Switch = False
    """Print what there is and end."""


@dataclass(frozen=True, kw_only=True)
class Serve(Command):
    """Serve an agent as an OpenAI-compatible chat API."""

    runs: ClassVar[str] = "coevo.commands.serve"
    example: ClassVar[str] = "coevo serve --agent seed --port 8000"

    agent: Annotated[str, shown("NAME|PATH", "seed")] = "seed"
    """A language model: seed, a model or run folder, a Hub id."""
    host: Annotated[str, shown("ADDRESS", "127.0.0.1, this machine alone")] = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, shown("N", "8000")] = 8000
    """Port to listen on; 0 takes a free one."""
    device: Device = None
    """Where to compute."""
