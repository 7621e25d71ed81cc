"""What every command takes: typed records that tyro turns into options.

Light on purpose: the module that carries a command out (`runs`) is imported only when it runs.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

from tyro.conf import Positional, UseAppendAction, arg


def _shown(metavar: str, default: str = "") -> Any:
    """Name a value in the help; say what is done where it is not given."""
    return arg(metavar=metavar, help_behavior_hint=f"(default: {default})" if default else "")


Pairs = Annotated[UseAppendAction[tuple[tuple[str, ...], ...]], _shown("KEY=VALUE")]
"""`--option a=1 b=2 --option c=3`."""
EnvId = Annotated[str, _shown("ID")]
Temperature = Annotated[float | None, _shown("T", "1")]
MaxTokens = Annotated[int | None, _shown("N", "16 for terse prompts, 128 for full ones")]
Switch = Annotated[bool, arg(help_behavior_hint="")]
Device = Annotated[str | None, _shown("auto|cpu|cuda", "auto")]


@dataclass(frozen=True, kw_only=True)
class Command:
    """What all commands have in common."""

    runs: ClassVar[str]
    """Module with `run(args) -> exit status`."""
    example: ClassVar[str]
    """Last line of the help."""


@dataclass(frozen=True, kw_only=True)
class Envs(Command):
    """List the environments."""

    runs: ClassVar[str] = "coevo.commands.envs"
    example: ClassVar[str] = "coevo envs --json"

    json: Switch = False
    """Print JSON and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Algos(Command):
    """List the algorithms, or show one: formula, slots, defaults beside the published values."""

    runs: ClassVar[str] = "coevo.commands.algos"
    example: ClassVar[str] = "coevo algos mars"

    name: Annotated[Positional[str | None], _shown("NAME", "list all")] = None
    """The algorithm to show."""
    json: Switch = False
    """Print JSON and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Train(Command):
    """Train a model by self-play; measure it before and after.

    A run ends at the first of its limits (--steps, --budget, --budget-tokens). Everything is
    written to its folder as it happens, so that --resume continues after any interruption.
    """

    runs: ClassVar[str] = "coevo.commands.train"
    example: ClassVar[str] = "coevo train mars --env coevo/kuhn_poker-v0 --budget 4m --seed 1"

    algo: Annotated[Positional[str | None], _shown("ALGO")] = None
    """Algorithm; `coevo algos` lists them."""
    env: Annotated[str | None, _shown("ID")] = None
    """Environment; `coevo envs` lists them."""
    model: Annotated[str | None, _shown("PATH", "seed, the shipped model")] = None
    """Start model: a folder, a run folder, or owner/name on the Hugging Face Hub."""
    steps: Annotated[int | None, _shown("N")] = None
    """Limit: updates."""
    budget: Annotated[str | None, _shown("TIME", "4m, if there is no other limit")] = None
    """Limit: training time, evaluation not counted, such as 90s, 5m or 1h30m."""
    budget_tokens: Annotated[float | None, _shown("N")] = None
    """Limit: sampled tokens, such as 2e6."""
    seed: Annotated[int | None, _shown("K", "0")] = None
    """Root of all randomness."""
    out: Annotated[str | None, _shown("DIR", "runs/<algo>-<env>-<seed>")] = None
    """Folder of the run."""
    variant: Annotated[str | None, _shown("NAME")] = None
    """Variant of the algorithm; `coevo algos ALGO` lists them."""
    set: Pairs = ()
    """Changes of the algorithm's slots, such as optim.lr=1e-3 loss.regularise.magnet.coef=0.2."""
    env_option: Pairs = ()
    """Arguments of the environment, such as prompt_style=full illegal=mask."""
    device: Device = None
    """Where to compute."""
    threads: Annotated[int | None, _shown("N", "0, torch's choice")] = None
    """CPU threads; equal results need equal numbers."""
    temperature: Temperature = None
    """Divides the logits when sampling."""
    max_new_tokens: MaxTokens = None
    """Longest reply in tokens."""
    resume: Annotated[str | None, _shown("DIR")] = None
    """Continue this run; a limit given here replaces the old ones, counted from the start."""
    config: Annotated[str | None, _shown("FILE")] = None
    """Repeat the run that this config.yaml describes."""
    no_eval: Switch = False
    """Skip the tables before and after."""
    eval_games: Annotated[int, _shown("N", "400")] = 400
    """Games per opponent in the tables."""


@dataclass(frozen=True, kw_only=True)
class Evaluate(Command):
    """Play an agent against another, every deal once from each seat."""

    runs: ClassVar[str] = "coevo.commands.evaluate"
    example: ClassVar[str] = (
        "coevo evaluate --agent runs/mars-kuhn_poker-0 --env coevo/kuhn_poker-v0 --opponent oracle"
    )

    agent: Annotated[str, _shown("NAME|PATH")]
    """Who is measured: seed, a model or run folder, a Hub id, random, first_legal, oracle."""
    env: EnvId
    """Environment; `coevo envs` lists them."""
    opponent: Annotated[str, _shown("NAME|PATH", "random")] = "random"
    """Who has the other seats; self for self-play."""
    games: Annotated[int, _shown("N", "400")] = 400
    """Plays, rounded up so that each deal is played from every seat."""
    seed: Annotated[int, _shown("K", "0")] = 0
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

    agent: Annotated[str, _shown("NAME|PATH")]
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


@dataclass(frozen=True, kw_only=True)
class Play(Command):
    """Play against an agent in this terminal."""

    runs: ClassVar[str] = "coevo.commands.play"
    example: ClassVar[str] = "coevo play --env coevo/tic_tac_toe-v0 --agent oracle --seat 1"

    env: EnvId
    """Environment; `coevo envs` lists them."""
    agent: Annotated[str, _shown("NAME|PATH", "seed")] = "seed"
    """Who has the other seats."""
    seat: Annotated[int, _shown("K", "0, the first")] = 0
    """Your seat."""
    seed: Annotated[int | None, _shown("K", "another one every time")] = None
    """Of the deal and the agent's sampling."""
    temperature: Temperature = None
    """Divides the agent's logits."""
    env_option: Pairs = ()
    """Arguments of the environment."""


@dataclass(frozen=True, kw_only=True)
class Replay(Command):
    """Tell a recorded play turn by turn, in words."""

    runs: ClassVar[str] = "coevo.commands.replay"
    example: ClassVar[str] = "coevo replay runs/mars-kuhn_poker-0 --episode -1"

    file: Annotated[Positional[str], _shown("FILE")]
    """A file of episodes, or the folder of a run."""
    episode: Annotated[int, _shown("N", "1, the first")] = 1
    """Which one; -1 is the last."""


@dataclass(frozen=True, kw_only=True)
class Check(Command):
    """Check an algorithm's claim at a small scale: our figures beside the reference's.

    Exit status 1 when the property does not hold.
    """

    runs: ClassVar[str] = "coevo.commands.check"
    example: ClassVar[str] = "coevo check tis_cosine --seeds 3"

    name: Annotated[Positional[str | None], _shown("NAME|all")] = None
    """The check to run, or all of them."""
    list: Switch = False
    """List the checks with their expected minutes."""
    seeds: Annotated[int, _shown("N", "5")] = 5
    """Repetitions, from seed 0 on."""
    json: Switch = False
    """Print JSON and nothing else."""


@dataclass(frozen=True, kw_only=True)
class SeedModelBuild(Command):
    """Make the seed model from transcripts of scripted play of every environment."""

    runs: ClassVar[str] = "coevo.commands.seed_model_build"
    example: ClassVar[str] = "coevo seed-model build --minutes 20"

    out: Annotated[str | None, _shown("DIR", "where the shipped model lies")] = None
    """Folder of the model."""
    minutes: Annotated[float | None, _shown("M", "26")] = None
    """Limit of the training time."""
    turns: Annotated[int | None, _shown("N", "450000")] = None
    """Transcript turns in all."""


@dataclass(frozen=True, kw_only=True)
class SeedModelCheck(Command):
    """Check what the seed model promises: legal answers, better than random, room to learn."""

    runs: ClassVar[str] = "coevo.commands.seed_model_check"
    example: ClassVar[str] = "coevo seed-model check --json"

    model: Annotated[str, _shown("PATH", "seed, the shipped model")] = "seed"
    """Model to check."""
    turns: Annotated[int, _shown("N", "500")] = 500
    """Sampled answers per environment, at least."""
    games: Annotated[int, _shown("N", "400")] = 400
    """Games against random in each competitive environment."""
    json: Switch = False
    """Print JSON and nothing else."""


COMMANDS: dict[str, type[Command]] = {
    "envs": Envs,
    "algos": Algos,
    "train": Train,
    "evaluate": Evaluate,
    "exploitability": Exploitability,
    "play": Play,
    "replay": Replay,
    "check": Check,
    "seed-model build": SeedModelBuild,
    "seed-model check": SeedModelCheck,
}


POSITIONAL = ("algo", "name", "file")
"""Fields that are given without their name."""


def pairs(given: tuple[tuple[str, ...], ...]) -> list[str]:
    """Join the values of a repeated option.

    >>> pairs((("a=1", "b=2"), ("c=3",)))
    ['a=1', 'b=2', 'c=3']
    """
    return [pair for part in given for pair in part]


def flag(name: str) -> str:
    """Spell a field as an option.

    >>> flag("max_new_tokens")
    '--max-new-tokens'
    """
    return f"--{name.replace('_', '-')}"


def given(args: Command) -> Iterator[tuple[str, Any]]:
    """Give name and value of every argument that is not at its default."""
    for field in fields(args):
        value = getattr(args, field.name)
        if value != field.default:
            yield field.name, value


def as_typed(args: Command) -> str:
    """Spell the command that gives these arguments.

    >>> as_typed(Train(algo="mars", env="coevo/kuhn_poker-v0", no_eval=True))
    'coevo train mars --env coevo/kuhn_poker-v0 --no-eval'
    """
    name = next(n for n, kind in COMMANDS.items() if kind is type(args))
    words = ["coevo", *name.split()]
    for field, value in given(args):
        if field in POSITIONAL:
            words.append(value)
        elif value is True:
            words.append(flag(field))
        else:
            words += [flag(field), *(pairs(value) if isinstance(value, tuple) else [str(value)])]
    return shlex.join(words)
