"""Commands that list, play, tell, check, and make the shipped model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from coevo.commands.arguments.fields import Command, EnvId, Pairs, Shown, Switch, Temperature


@dataclass(frozen=True, kw_only=True)
class Envs(Command):
    """List the environments."""

    runs: ClassVar[str] = "coevo.commands.envs"
    example: ClassVar[str] = "coevo envs --json"

    json: Switch = False
    """Print JSON and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Algos(Command):
    """List the algorithms, or show one: formula, settings, defaults beside the published values."""

    runs: ClassVar[str] = "coevo.commands.algos"
    example: ClassVar[str] = "coevo algos mars"

    name: Annotated[str | None, Shown("NAME", "list all")] = None
    """The algorithm to show."""
    json: Switch = False
    """Print JSON and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Play(Command):
    """Play against an agent in this terminal."""

    runs: ClassVar[str] = "coevo.commands.play"
    example: ClassVar[str] = "coevo play --env coevo/tic_tac_toe-v0 --agent oracle --seat 1"

    env: EnvId
    """Environment; `coevo envs` lists them."""
    agent: Annotated[str, Shown("NAME|PATH", "starter")] = "starter"
    """Who has the other seats."""
    seat: Annotated[int, Shown("K", "0, the first")] = 0
    """Your seat."""
    seed: Annotated[int | None, Shown("K", "another one every time")] = None
    """Of the task and the agent's sampling."""
    temperature: Temperature = None
    """Divides the agent's logits."""
    env_option: Pairs = ()
    """Arguments of the environment."""


@dataclass(frozen=True, kw_only=True)
class Replay(Command):
    """Print a recorded episode turn by turn, in words."""

    runs: ClassVar[str] = "coevo.commands.replay"
    example: ClassVar[str] = "coevo replay runs/mars-kuhn_poker-0 --episode -1"

    file: Annotated[str, Shown("FILE")]
    """A file of episodes, or the folder of a run."""
    episode: Annotated[int, Shown("N", "1, the first", low=-1e12)] = 1
    """Which one; -1 is the last."""


@dataclass(frozen=True, kw_only=True)
class Reproduce(Command):
    """Check an algorithm's claim at a small scale: our figures beside the reference's.

    Exit status 1 when the property does not hold.
    """

    runs: ClassVar[str] = "coevo.commands.reproduce"
    example: ClassVar[str] = "coevo reproduce tis_cosine --seeds 3"

    name: Annotated[str | None, Shown("NAME|all")] = None
    """The reproduction to run, or all of them."""
    list: Switch = False
    """List the reproductions with their expected minutes."""
    seeds: Annotated[int, Shown("N", "5")] = 5
    """Repetitions, from seed 0 on."""
    json: Switch = False
    """Print JSON and nothing else."""


@dataclass(frozen=True, kw_only=True)
class StarterBuild(Command):
    """Make the starter model from transcripts of scripted play of every environment.

    What was interrupted goes on with the same command.
    """

    runs: ClassVar[str] = "coevo.commands.starter_build"
    example: ClassVar[str] = "coevo starter build --minutes 20"

    out: Annotated[str | None, Shown("DIR", "where the shipped model lies")] = None
    """Folder of the model."""
    minutes: Annotated[float | None, Shown("M", "26")] = None
    """Limit of the training time."""
    turns: Annotated[int | None, Shown("N", "160000")] = None
    """Transcript turns in all."""


@dataclass(frozen=True, kw_only=True)
class StarterLesson(Command):
    """Let the starter model imitate experts of one environment for some minutes more.

    What was interrupted goes on with the same command.
    """

    runs: ClassVar[str] = "coevo.commands.starter_lesson"
    example: ClassVar[str] = (
        "coevo starter lesson --env coevo/search_self_play-v0 --env-option world_seed=0 "
        "--out models/proposer"
    )

    env: Annotated[str, Shown("ID", "coevo/search_self_play-v0")] = "coevo/search_self_play-v0"
    """Environment whose expert is imitated."""
    out: Annotated[str | None, Shown("DIR")] = None
    """Folder of the new model."""
    model: Annotated[str, Shown("PATH", "starter, the shipped model")] = "starter"
    """What goes on learning; it stays as it is."""
    skill: Annotated[float, Shown("S", "1")] = 1.0
    """Skill that is imitated, from 0 to 1."""
    minutes: Annotated[float | None, Shown("M", "15")] = None
    """Limit of the training time."""
    turns: Annotated[int | None, Shown("N", "30000")] = None
    """Transcript turns."""
    env_option: Pairs = ()
    """Arguments of the environment, such as world_seed=0."""


@dataclass(frozen=True, kw_only=True)
class StarterCheck(Command):
    """Check what the starter model promises: legal answers, better than random, room to learn."""

    runs: ClassVar[str] = "coevo.commands.starter_check"
    example: ClassVar[str] = "coevo starter check --json"

    model: Annotated[str, Shown("PATH", "starter, the shipped model")] = "starter"
    """Model to check."""
    turns: Annotated[int, Shown("N", "500")] = 500
    """Sampled answers per environment, at least."""
    games: Annotated[int, Shown("N", "400")] = 400
    """Episodes against random in each competitive environment."""
    json: Switch = False
    """Print JSON and nothing else."""
