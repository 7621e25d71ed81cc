"""From the arguments of `coevo train` to a configuration and a folder."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import coevo
from coevo.agents import SCRIPTED
from coevo.agents.load import pick_device
from coevo.agents.models.folders import MADE, NAMED, is_made, model_folder
from coevo.agents.models.nets import is_net, net_settings
from coevo.benchmarks.files import as_table, read_if_there, short
from coevo.benchmarks.provenance import hardware
from coevo.commands.arguments import POSITIONAL, Train, flag, given
from coevo.commands.players import check_env, env_options, sampling, settings
from coevo.commands.start_model import suited
from coevo.envs import make, spec
from coevo.envs.core.config import LARGEST, assign, parse
from coevo.envs.core.errors import ConfigError, DataError, nearest, unknown
from coevo.envs.core.rewards import RESERVED
from coevo.trainers import checkpoint, ranks, run_state
from coevo.trainers.advantage import check_weights
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import ALGORITHMS, algorithm
from coevo.trainers.collect.reset_options import check_options
from coevo.trainers.config import TrainConfig, config_text, load_config
from coevo.trainers.files import lines_of, parsed, replace_text, storage
from coevo.trainers.loggers import read_names, recorded
from coevo.trainers.progress import Progress
from coevo.trainers.run_folder import RunFolder

BUDGET = "4m"
"""Limit of a run that is given none."""
LIMITS = ("steps", "budget", "budget_tokens")
TRUST = "trust_remote_code"
EVALUATION = ("no_eval", "eval_games")
SHARED_OUT = ("ray", "rollout_workers", "ranks")
"""Where a run is carried out: no part of its settings."""
RUN_SETTINGS = (
    "engine",
    "checkpoint_every",
    "keep_checkpoints",
    "probe_every",
    "probe_points",
    "episodes_logged",
    "gradient_checkpointing",
    "rollout_parts",
    "sampling",
    "sampling_of",
)
"""Settings of a run that have no option of their own and are reached by --set."""
_NUMBER = r"(\d*\.?\d+)"
_DURATION = re.compile(rf"(?:{_NUMBER}h)?(?:{_NUMBER}m)?(?:{_NUMBER}s)?")


@dataclass(frozen=True)
class Job:
    """What to train and where."""

    config: TrainConfig
    folder: RunFolder
    fresh: bool
    notes: tuple[str, ...] = ()
    loggers: tuple[str, ...] = ()
    """Where the metrics are shown beside the run's own files."""


def prepare(args: Train) -> Job:
    """Plan a new run, the repeat of one, or the rest of one; contradictions raise ConfigError."""
    _check_shares(args)
    common = {"log", TRUST, *EVALUATION, *SHARED_OUT}
    if args.resume is not None:
        _only(args, "--resume", {"resume", "skip_damaged", *common, *LIMITS})
        return _resumed(args, RunFolder(Path(args.resume)))
    if args.skip_damaged:
        raise ConfigError("--skip-damaged belongs to --resume DIR: a new run has no checkpoints")
    if args.config is not None:
        _only(args, "--config", {"config", "out", *common})
        config = load_config(Path(args.config))
        try:
            for id, own in config.environments.items():
                check_env(id, own.options)
        except ConfigError as error:
            raise type(error)(f"{args.config}: {error}") from None
    else:
        config = _new(args)
    _check_roles(config)
    pick_device(config.device)
    folder = RunFolder(Path(args.out) if args.out else free_folder(config))
    config, notes = in_parts(config, args.rollout_workers)
    return Job(config, folder, True, notes, loggers=read_names(args.log or "none"))


def _check_shares(args: Train) -> None:
    wanted = [flag(n) for n in SHARED_OUT[1:] if getattr(args, n) != getattr(Train, n)]
    if args.ray is None and wanted:
        raise ConfigError(f"{' and '.join(wanted)} need --ray local, or --ray auto for a cluster")
    if args.ray is not None and not wanted:
        raise ConfigError(
            f"--ray {args.ray} has nothing to share out: give --rollout-workers N, --ranks M, or "
            "both"
        )
    if args.ray is not None and ranks.count() > 1:
        raise ConfigError("--ray and torchrun contradict each other: both would start the ranks")


def in_parts(config: TrainConfig, workers: int) -> tuple[TrainConfig, tuple[str, ...]]:
    """Return a run whose updates are played in enough parts for its workers, and what to say."""
    parts = max(workers, 2) if workers else 1
    if config.rollout_parts >= parts:
        return config, ()
    said = f"updates are played in {parts} parts from here on: rollout_parts={parts}"
    return replace(config, rollout_parts=parts), (said,)


def _only(args: Train, option: str, allowed: Collection[str]) -> None:
    others = [name for name, _ in given(args) if name not in allowed]
    if others:
        shown = ", ".join(repr(getattr(args, n)) if n in POSITIONAL else flag(n) for n in others)
        takes = ", ".join(flag(n) for n in sorted(allowed) if flag(n) != option)
        raise ConfigError(
            f"{option} and {shown} contradict each other: the run keeps its own settings; beside "
            f"{option} there may be {takes}"
        )


# ---- A new run -------------------------------------------------------------------------------


def _new(args: Train) -> TrainConfig:
    if args.algo is None:
        raise ConfigError(
            "coevo train needs an algorithm, such as `coevo train mars --env coevo/kuhn_poker-v0`; "
            "or --resume DIR, or --config FILE"
        )
    changes = settings(args.set, "--set")
    chosen = _algorithm(args.algo, args.variant, changes)
    if args.env is None:
        raise ConfigError(
            f"coevo train needs --env ID, as in `coevo train {chosen.name} {chosen.usage}`; "
            "`coevo envs` lists them"
        )
    env = parse(args.env) if args.env.startswith("{") else args.env
    for id in env if isinstance(env, dict) else [env]:
        spec(id)
    model = _model(args.model or "starter")
    several = isinstance(env, dict)
    config = TrainConfig(
        algorithm=chosen,
        env=env,
        env_options=env_options("" if several else env, args.env_option, [model]),
        model=model,
        sampling=sampling(model, args.temperature, args.max_new_tokens),
        seed=args.seed or 0,
        device=args.device or "auto",
        threads=args.threads or 0,
        **(limits(args) or {"budget_seconds": seconds(BUDGET)}),
    )
    for id, own in config.environments.items():
        check_env(id, own.options)
    if not any(key.startswith("optim") for key in changes):
        config = suited(config)
    return assign(config, {k: v for k, v in changes.items() if k.split(".")[0] in RUN_SETTINGS})


def _algorithm(name: str, variant: str | None, changes: Mapping[str, Any]) -> Algorithm:
    own = {f.name for f in fields(Algorithm)}
    for key in changes:
        if key.split(".")[0] not in own | set(RUN_SETTINGS):
            raise unknown("setting", key, [*own, *RUN_SETTINGS])
    own_changes = {k: v for k, v in changes.items() if k.split(".")[0] in own}
    return algorithm(name, variant, own_changes)


def _model(source: str) -> str:
    """Pin a start model down: a folder by its full path, so that resuming works from anywhere."""
    if source in SCRIPTED:
        raise ConfigError(f"--model {source} is a scripted player, not a language model")
    if is_net(source):
        net_settings(source)  # a part that is not known is said here
    if is_made(source):
        return source
    path = Path(source).expanduser()
    if source in NAMED:
        model_folder(source)  # one that was not fetched is said here
        return source
    if not path.exists() and "/" not in source:
        here = nearest(source, [*NAMED, *MADE, *(p.name for p in Path().iterdir() if p.is_dir())])
        hint = f"; did you mean {' or '.join(map(repr, here))}?" if here else ""
        raise DataError(f"no model folder {source!r} here{hint} Hub ids are owner/name")
    found = model_folder(source)
    return str(found.resolve()) if found.exists() else source


def limits(args: Train) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if args.steps is not None:
        found["steps"] = args.steps
    if args.budget is not None:
        found["budget_seconds"] = seconds(args.budget)
    if args.budget_tokens is not None:
        found["budget_tokens"] = int(args.budget_tokens)
    return found


def seconds(text: str) -> float:
    """Read a duration."""
    written = text.strip()
    match = _DURATION.fullmatch(f"{written}s" if re.fullmatch(_NUMBER, written) else written)
    if not match or not any(match.groups()):
        raise ConfigError(f"--budget {text!r} is not a time; write 90s, 5m, 1.5h or 1h30m")
    hours, minutes, rest = (float(part or 0) for part in match.groups())
    total = 3600 * hours + 60 * minutes + rest
    if not 0 < total <= LARGEST:
        raise ConfigError(f"--budget {text!r} must be more than 0 and less than an age")
    return total


def free_folder(config: TrainConfig) -> Path:
    """Return `runs/<algorithm>-<environment>-<seed>`, with a number behind it if that is taken."""
    game = "-".join(map(short, config.environments))
    wanted = Path("runs") / f"{config.algorithm.name}-{game}-{config.seed}"
    path, number = wanted, 1
    while path.exists():
        number += 1
        path = wanted.with_name(f"{wanted.name}-{number}")
    return path


def _check_roles(config: TrainConfig) -> None:
    """Refuse roles and options that no environment has, and rewards that no module gives.

    An algorithm may name roles of its own tasks.
    """
    made = [make(id, **own.options) for id, own in config.environments.items()]
    modules = (*config.algorithm.rewards, *(m for env in made for m in env.reward_modules))
    paid = {*(m.component for m in modules), *(c for env in made for c in env.task.components)}
    check_weights(config.algorithm.advantage.reward_weights, paid)
    given = {*RESERVED, *paid}
    if config.algorithm.collect.component not in given:
        raise unknown("reward in collect.component", config.algorithm.collect.component, given)
    collect, head = config.algorithm.collect, "collect.options."
    scheduled = [n.removeprefix(head) for n in config.algorithm.schedules if n.startswith(head)]
    check_options(collect.options, [*collect.options, *scheduled], made)
    roles = {role for env in made for role in env.task.roles}
    known = ALGORITHMS.get(config.algorithm.name)
    ours = [known, *(assign(known, v) for v in known.variants.values())] if known else []
    roles |= {r for record in ours for r in (*record.optim.alternate, *record.optim.frozen)}
    for setting in ("alternate", "frozen"):
        for role in getattr(config.algorithm.optim, setting):
            if role not in roles:
                raise unknown(f"role in optim.{setting}", role, roles)


# ---- A run taken up again --------------------------------------------------------------------


def _resumed(args: Train, folder: RunFolder) -> Job:
    if not folder.path.is_dir():
        raise DataError(_no_run(folder.path))
    config = folder.config()
    notes = _set_aside(folder) if args.skip_damaged else ()
    names = ",".join(recorded(folder)) or "none"
    loggers = read_names(names if args.log is None else args.log)
    new = limits(args)
    if new:
        none = {"steps": None, "budget_seconds": None, "budget_tokens": None}
        config = replace(config, **(none | new))
        _check_ahead(config, reached(folder))
    notes = (*notes, *_lost_lines(folder), *_made_elsewhere(folder, config))
    config, said = in_parts(config, args.rollout_workers)
    if new or said:
        path = folder.path / "config.yaml"
        with storage(path):
            replace_text(path, config_text(config))
    return Job(config, folder, fresh=False, loggers=loggers, notes=(*notes, *said))


def _set_aside(folder: RunFolder) -> list[str]:
    with folder.lock():
        found = checkpoint.set_aside(folder.checkpoints)
        changed = folder.set_episodes_aside()
    episodes = [changed] if changed else []
    if not found:
        return episodes or ["no checkpoint is damaged, so none was passed over"]
    newest = checkpoint.latest(folder.checkpoints)
    left = "the start" if newest is None else newest.name
    said = [f"set aside as {place}: {what}" for place, what in found]
    said += episodes
    return [*said, f"the run continues from {left}; updates after it are made again"]


def _lost_lines(folder: RunFolder) -> Iterator[str]:
    """Yield what to say about a log of metrics that does not reach to the newest checkpoint."""
    step = checkpoint.latest_step(folder.checkpoints)
    logged = map(parsed, lines_of(folder.metrics)) if folder.metrics.exists() else ()
    if step and not any(line is not None and line.get("step") == step for line in logged):
        yield (
            f"{folder.metrics} does not hold update {step}, which was saved: lines of it were "
            "lost; nothing but the log and what is drawn from it lacks them"
        )


def _made_elsewhere(folder: RunFolder, config: TrainConfig) -> Iterator[str]:
    """Yield what to say where a run was made by another version, or on another machine."""
    summary = read_if_there(folder.summary)
    made = as_table(summary.get("hardware", {}), folder.summary)
    made |= {"coevo": summary["version"]} if "version" in summary else {}
    here = {"coevo": coevo.__version__, **hardware(config.device)}
    differ = [
        f"{name} {made[name] or 'none'} (here {here[name] or 'none'})"
        for name in ("coevo", "torch", "processor", "gpu")
        if name in made and made[name] != here[name]
    ]
    if differ:
        yield f"the run was made with {', '.join(differ)}; it continues, but not to the last bit"


def _no_run(path: Path) -> str:
    beside = [p.parent.name for p in path.parent.glob("*/config.yaml")]
    near = nearest(path.name, beside)
    hint = f"; in {path.parent} there is {', '.join(near)}" if near else ""
    return f"no run folder {path}{hint}"


def reached(folder: RunFolder) -> Progress:
    """Read where the newest checkpoint of a run stands."""
    newest = checkpoint.latest(folder.checkpoints)
    if newest is None:
        return Progress()
    return run_state.recorded(newest).progress


def _check_ahead(config: TrainConfig, now: Progress) -> None:
    for option, limit, done in (
        ("--steps", config.steps, now.step),
        ("--budget", config.budget_seconds, now.seconds),
        ("--budget-tokens", config.budget_tokens, now.tokens),
    ):
        if limit is not None and limit <= done:
            unit = " seconds" if option == "--budget" else ""
            raise ConfigError(
                f"{option} {limit:g}{unit} is reached: the run stands at {done:g}{unit}, and "
                "limits count from its start"
            )
