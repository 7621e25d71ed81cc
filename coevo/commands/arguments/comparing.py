"""Commands that compare agents or algorithms, and show runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from coevo.commands.arguments.fields import (
    Command,
    Device,
    MaxTokens,
    Pairs,
    Shown,
    Switch,
    Temperature,
)


@dataclass(frozen=True, kw_only=True)
class Compare(Command):
    """Train algorithms side by side at equal budgets, over seeds, and test what separates them.

    A manifest is written first. Every run (algorithm, environment, seed) is a folder, so the
    same command continues after any interruption and ends with the same tables.
    """

    runs: ClassVar[str] = "coevo.commands.compare"
    example: ClassVar[str] = (
        "coevo compare --algos reinforce,grpo,mars --env coevo/kuhn_poker-v0 --seeds 10 "
        "--budget-tokens 2e5 --out runs/kuhn"
    )

    algos: Annotated[str | None, Shown("NAMES")] = None
    """Algorithms, with commas between; mars:plain is a variant, sb3:ppo a baseline."""
    env: Annotated[str | None, Shown("IDS")] = None
    """Environments, with commas between."""
    out: Annotated[str | None, Shown("DIR", "runs/compare-<algos>-<env>")] = None
    """Folder of the comparison; one that exists is continued."""
    seeds: Annotated[int | None, Shown("N", "10", low=1)] = None
    """Seeds per algorithm and environment, from 0 on."""
    budget_tokens: Annotated[str | None, Shown("N|ENV=N,...")] = None
    """Sampled tokens of a run, one number or one per environment."""
    budget_turns: Annotated[str | None, Shown("N|ENV=N,...")] = None
    """Turns of environments in a run: the budget that stable-baselines3 shares."""
    budget: Annotated[str | None, Shown("TIME")] = None
    """Training time of a run, such as 90s or 5m."""
    model: Annotated[str | None, Shown("PATH", "starter, the shipped model")] = None
    """Start model of every run."""
    baseline: Annotated[str | None, Shown("NAME", "the first algorithm")] = None
    """Whom the others are tested against in the headline."""
    points: Annotated[int | None, Shown("N", "20")] = None
    """Evaluations on the way, evenly spaced over the budget."""
    games: Annotated[int | None, Shown("N", "32", low=1)] = None
    """Episodes per opponent of an evaluation on the way; ten times as many at the end."""
    set: Pairs = ()
    """Changes of settings in all algorithms, or in one as in mars.optim.lr=1e-4; filters such as
    sampling.top_p=0.9 are those of measurements."""
    env_option: Pairs = ()
    """Arguments of the environments."""
    temperature: Temperature = None
    """Divides the logits when sampling, in training and in measurements."""
    max_new_tokens: MaxTokens = None
    """Longest reply in tokens."""
    workers: Annotated[int, Shown("N", "one per CPU core")] = 0
    """Runs at a time."""
    on: Annotated[Literal["processes", "ray"], Shown("processes|ray", "processes")] = "processes"
    """Where runs train."""
    threads: Annotated[int | None, Shown("N", "1")] = None
    """CPU threads of a run."""
    device: Device = None
    """Where to compute."""
    retry: Switch = False
    """Train runs again that failed before."""
    json: Switch = False
    """Print JSON and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Tournament(Command):
    """Let agents play each other, and rate them."""

    runs: ClassVar[str] = "coevo.commands.tournament"
    example: ClassVar[str] = (
        "coevo tournament --agents starter,random,oracle --env coevo/leduc_poker-v0 --games 400"
    )

    agents: Annotated[str | None, Shown("NAMES")] = None
    """With commas between: starter, model or run folders, Hub ids, random, oracle, openai:MODEL."""
    env: Annotated[str | None, Shown("ID")] = None
    """Environment; `coevo envs` lists them."""
    out: Annotated[str | None, Shown("DIR", "runs/tournament-<env>")] = None
    """Folder of the tournament; one that exists is continued."""
    games: Annotated[int | None, Shown("N", "400", low=1)] = None
    """Episodes per pair of agents, each task once from each seat."""
    adaptive: Switch = False
    """Play only what the ranking still needs (ResponseGraphUCB), at most --games per pair."""
    exploiter: Annotated[str | None, Shown("N|TIME", "none")] = None
    """Train a fresh exploiter against every agent that has no exact value: tokens, or time."""
    seed: Annotated[int | None, Shown("K", "0")] = None
    """Of tasks and sampling."""
    set: Pairs = ()
    """How the agents' replies are drawn, such as sampling.temperature=0.5 sampling.top_p=0.9."""
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

    folder: Annotated[str, Shown("DIR")]
    """Folder of a run, a comparison or a tournament."""
    out: Annotated[str | None, Shown("FILE", "DIR/report.html")] = None
    """The page; plots are written beside it."""
    episodes: Annotated[int, Shown("N", "400", low=1)] = 400
    """Most episodes in the transcript browser; of more a sample is taken over seeds and steps."""
