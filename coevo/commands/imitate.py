"""`coevo imitate`: teach a model by the replies of another player, measured before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coevo.agents.agent import Agent
from coevo.agents.load import PREFIXES
from coevo.agents.models.folders import model_folder
from coevo.agents.models.seated import one_agent
from coevo.agents.registry import check_scripted, is_scripted
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.measurement import Measurement
from coevo.benchmarks.outcomes import is_contest
from coevo.commands import measure, players
from coevo.commands.arguments import Imitate, Train, as_typed
from coevo.commands.run_setup import prepare
from coevo.commands.run_summary import origin, write_summary
from coevo.commands.screen import Screen, cell, share
from coevo.commands.start_model import ours, parameters, start_note
from coevo.commands.train import counters, learn, resumable
from coevo.envs import make
from coevo.envs.core.errors import DataError
from coevo.trainers.config import TrainConfig


@dataclass(frozen=True)
class Size:
    """What suits models up to a number of parameters."""

    parameters: float
    replies: int
    """Replies of an optimiser step."""
    steps: int
    games: int
    """Episodes of a measurement."""


SIZES = (Size(10e6, 64, 300, 400), Size(1e9, 8, 50, 64), Size(float("inf"), 16, 50, 64))
"""Models that know no language need many replies; others need few to learn the form."""


def run(args: Imitate) -> int:
    """Measure, teach, measure again."""
    players.quiet()
    size = size_of(args.model)
    wanted = as_train(args, size)
    job, screen = prepare(wanted), Screen()
    config, games = job.config, args.games or size.games
    with resumable(job):
        start = measure.start_agent(config, trust_remote_code=args.trust_remote_code)
        job.folder.create(config)
        screen.say(f"{args.model} imitates {args.from_} in {config.env_title}; {job.folder.path}")
        if note := start_note(config):
            screen.say(note)
        screen.say("measuring the start model ...")
        before = measured({"policy": start}, config, games)
        del start  # its memory is wanted for training
        trained = learn(wanted, job, screen)
        screen.say("measuring the taught model ...")
        after = measured(trained.policies(), config, games)
    tables = {"before": _plain(before), "after": _plain(after)}
    write_summary(job.folder, origin(config, as_typed(args)) | tables | counters(trained))
    for env, found in after.items():
        title = f"{env}: before and after {trained.progress.step} steps"
        screen.table(title, ("measure", "before", "after"), _rows(before[env], found))
    screen.say(f"\nUse it: coevo play --env {args.env[0]} --agent {job.folder.path}")
    screen.say(f"Train it: coevo train mars --env {args.env[0]} --model {job.folder.path}")
    return 0


def size_of(model: str) -> Size:
    """Return what suits a model; whose size is not known before it is loaded counts as medium."""
    count = 0 if ours(model) else parameters(model_folder(model))
    return next(s for s in SIZES if (100e6 if count is None else count) < s.parameters)


def as_train(args: Imitate, size: Size) -> Train:
    """Return the arguments of `coevo train` that teach in this way."""
    ours = {**_source(args, size), "cycle.make_items.to.most": size.replies}
    if args.above is not None:
        ours["cycle.make_items.to.above"] = args.above
    if args.adapter is not None:
        ours["population"] = f"{{name: adapters, per: all, rank: {args.adapter}}}"
    given = players.settings(args.set, "--set")
    one = len(args.env) == 1
    return Train(
        algo="sft",
        env=args.env[0] if one else f"{{{', '.join(f'{id}: 1.0' for id in args.env)}}}",
        model=args.model,
        steps=size.steps if args.steps is None and args.budget is None else args.steps,
        budget=args.budget,
        seed=args.seed,
        out=args.out,
        set=(*(f"{k}={v}" for k, v in ours.items() if k not in given), *args.set),
        env_option=args.env_option,
        device=args.device,
        threads=args.threads,
        max_new_tokens=args.max_new_tokens,
        trust_remote_code=args.trust_remote_code,
        no_eval=True,
    )


def _source(args: Imitate, size: Size) -> dict[str, Any]:
    """Return who demonstrates, or where it was recorded, and how many episodes an update takes."""
    check_scripted("--from", [args.from_])
    path = Path(args.from_).expanduser()
    if path.is_file():
        return {"cycle.demonstrate.recorded": path.resolve(), "collect.episodes": size.replies}
    cheap = is_scripted(args.from_)
    if not cheap and args.from_.partition(":")[0] not in PREFIXES:
        model_folder(args.from_)  # what is not there is said here
        if not path.exists() and "/" not in args.from_:
            raise DataError(
                f"--from {args.from_!r} is no agent, and no folder or file is there; expected "
                "random, expert:SKILL, a model, openai:MODEL, or a file of episodes"
            )
    source = str(path.resolve()) if path.exists() else args.from_
    return {
        "cycle.demonstrate.by": source,
        "collect.episodes": size.replies if cheap else max(1, size.replies // 4),
    }


def measured(
    policies: Mapping[str, Agent], config: TrainConfig, games: int
) -> dict[str, Measurement]:
    """Let a model play random opponents where that is a contest, and itself elsewhere.

    `details` hold its exploitability where that is cheap.
    """
    exact = measure.ExploitabilityProbe(config)(policies)
    agent, found = one_agent(policies), {}
    for id, own in config.environments.items():
        other = "random" if is_contest(make(id, **own.options)) else None
        twin = agent.reseeded(config.seed)
        played = evaluate(twin, id, other, games, config.seed, own.options)
        name = "exploitability" if len(config.environments) == 1 else f"{id}/exploitability"
        details = {**played.details, "exploitability": exact.get(name)}
        found[id] = replace(played, details=details)
    return found


def _rows(before: Measurement, after: Measurement) -> list[tuple[str, ...]]:
    whom = f"against {after.opponent}" if after.opponent else "in self-play"
    pair = (before, after)
    rows = [
        ("legal replies", *(share(1 - m.illegal_rate) for m in pair)),
        ("replies not read", *(share(m.unread_rate) for m in pair)),
        ("near misses among them", *(share(m.near_miss_rate) for m in pair)),
        ("episodes forfeited", *(share(m.forfeit_rate) for m in pair)),
        (f"payoff {whom}", *map(_payoff, pair)),
    ]
    exact = [m.details["exploitability"] for m in pair]
    return rows if None in exact else [*rows, ("exploitability", *map(cell, exact))]


def _payoff(found: Measurement) -> str:
    if found.interval is None:
        return cell(found.value)
    low, high = found.interval
    return f"{cell(found.value)} ({cell(low)} to {cell(high)})"


def _plain(found: Mapping[str, Measurement]) -> dict[str, Any]:
    return {env: m.to_dict() for env, m in found.items()}
