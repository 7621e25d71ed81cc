"""`coevo train`: measure, train, measure again, and summarise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coevo.agents.models.seated import one_agent
from coevo.agents.policy import Policy
from coevo.benchmarks.files import read_if_there
from coevo.benchmarks.report.run import MEASURES
from coevo.commands import measure
from coevo.commands.arguments import Train, as_typed
from coevo.commands.cost import CostNote
from coevo.commands.players import quiet
from coevo.commands.progress import Bar, Interrupted, facts
from coevo.commands.run_setup import Job, prepare, reached
from coevo.commands.run_summary import origin, write_summary
from coevo.commands.screen import Screen, cell, share
from coevo.commands.signal_watch import SignalWatch, conclusion
from coevo.commands.start_model import start_note
from coevo.commands.transcript import different, excerpt
from coevo.envs import spec
from coevo.envs.core.episode import read_episodes
from coevo.envs.core.errors import CoevoError, ConfigError, DataError
from coevo.trainers import checkpoint, ranks
from coevo.trainers.config import TrainConfig
from coevo.trainers.loggers import Loggers
from coevo.trainers.loop import updates
from coevo.trainers.run import MakeBackend, Run, start

TOLD = 12
"""Newest episodes from which the samples are chosen."""


def run(args: Train) -> int:
    quiet()
    ranks.join()
    job, screen = ranks.broadcast_from_first(lambda: prepare(args)), Screen()
    with resumable(job):
        if ranks.number():
            _follow(args, job)
        else:
            with _processes(args, job, screen) as make_backend:
                _carry_out(args, job, screen, make_backend)
    ranks.leave()
    return 0


@contextmanager
def resumable(job: Job) -> Iterator[None]:
    """Say where a run that is interrupted was saved."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(_where_saved(job)) from None


@contextmanager
def _processes(args: Train, job: Job, screen: Screen) -> Iterator[MakeBackend | None]:
    if args.ray is None:
        yield None
        return
    from coevo.trainers.remote.processes import start_processes  # Ray takes its time

    with start_processes(
        args.ray,
        job.config,
        job.folder,
        workers=args.rollout_workers,
        ranks=args.ranks,
        trust_remote_code=args.trust_remote_code,
        say=screen.say,
    ) as processes:
        yield processes.backend


def _follow(args: Train, job: Job) -> None:
    run = start(job.config, job.folder, trust_remote_code=args.trust_remote_code)
    for _ in updates(run):
        pass


def _carry_out(args: Train, job: Job, screen: Screen, make_backend: MakeBackend | None) -> None:
    config, folder = job.config, job.folder
    summary = {} if job.fresh else read_if_there(folder.summary)
    command = summary.get("command", as_typed(args))
    summary = {k: v for k, v in summary.items() if k == "before"} | origin(config, command)
    measured = not args.no_eval
    first = measured and "before" not in summary
    start = _start_agent(args, config) if first or job.fresh else None
    if job.fresh:
        folder.create(config)  # not earlier: a model that does not load leaves no folder behind
    for note in job.notes:
        screen.say(note)
    screen.say(f"{_title(config)}; everything is written to {folder.path}")
    if foreign := start_note(config):
        screen.say(foreign)
    if unfamiliar(config):
        screen.say(
            f"the starter model never saw {config.env_title}: expect forfeits at first. Where "
            "moves are listed, --set sampling.guided=choice lets it say legal ones alone"
        )
    if first and start is not None:
        screen.say("measuring the start model ...")
        summary["before"] = measure.table(start, start, config, args.eval_games)
    start = None  # its memory is wanted for training
    write_summary(folder, summary)
    trained = learn(args, job, screen, measure.ExploitabilityProbe(config), make_backend)
    summary |= counters(trained) | conclusion(folder.read_metrics(), config)
    if lineages := trained.archive.lineages():
        summary["lineages"] = lineages
    if measured:
        screen.say("measuring the trained model ...")
        agent, start = one_agent(trained.policies()), _start_agent(args, config)
        summary["after"] = measure.table(agent, start, config, args.eval_games)
    write_summary(folder, summary)
    _conclude(job, summary, screen)


def _start_agent(args: Train, config: TrainConfig) -> Policy:
    return measure.start_agent(config, trust_remote_code=args.trust_remote_code)


def learn(
    args: Train,
    job: Job,
    screen: Screen,
    probe: measure.ExploitabilityProbe | None = None,
    make_backend: MakeBackend | None = None,
) -> Run:
    """Do the updates of a run, and show how far it is."""
    config = job.config
    elapsed = reached(job.folder).seconds if job.loggers else 0.0
    loggers = Loggers(
        job.loggers, job.folder, config, elapsed=elapsed, tell=excerpt, say=screen.say
    )
    torn = job.folder.damaged_lines
    latest: dict[str, Any] = {}
    watch = SignalWatch(config)
    with loggers, Bar(screen) as bar:
        bar.show(0.0, f"collecting the first episodes of {_limits(config)}")
        for place in loggers.places:
            screen.say(f"follow it: {place}")
        try:
            trust = args.trust_remote_code
            run = start(config, job.folder, trust_remote_code=trust, make_backend=make_backend)
        except ConfigError:
            if job.fresh:
                job.folder.withdraw()
            raise
        if ranks.count() == 1:
            run.before_step = CostNote(config, screen.say)
        for update in updates(run, [] if probe is None else [probe]):
            for path in set(job.folder.damaged_lines) - set(torn):
                screen.say(f"some lines of the log were damaged; they lie in {path} now")
                torn.append(path)
            try:
                if warning := watch.warning(update.metrics):
                    screen.say(warning)
                if probe is not None and (cost := probe.cost()):
                    screen.say(cost)
                latest |= update.metrics  # what is measured rarely stays shown
                bar.show(update.done, facts(update.step, latest, update.done))
                loggers.catch_up()
            except BrokenPipeError:
                run.save()  # the reader has gone: `coevo train | head`
                raise
        return run


def unfamiliar(config: TrainConfig) -> bool:
    """Return whether a run starts from the starter model where that did not learn to reply."""
    free = config.model == "starter" and config.sampling.guided == "none"
    return free and not all(spec(id).starter_trained for id in config.environments)


def counters(trained: Run) -> dict[str, Any]:
    progress = trained.progress
    return {
        "steps": progress.step,
        "seconds": round(progress.seconds, 3),
        "tokens": progress.tokens,
    }


def _title(config: TrainConfig) -> str:
    return f"{config.algorithm.name} on {config.env_title}, seed {config.seed}"


def _limits(config: TrainConfig) -> str:
    parts = [
        f"{config.steps:,} updates" if config.steps else "",
        f"{config.budget_seconds:g} s of training" if config.budget_seconds else "",
        f"{config.budget_tokens:,} tokens" if config.budget_tokens else "",
        f"{config.budget_turns:,} turns" if config.budget_turns else "",
    ]
    return " or ".join(filter(None, parts))


def _where_saved(job: Job) -> str:
    path = job.folder.path
    if not (path / "config.yaml").exists():
        return "interrupted before anything was done"
    try:
        done = f"{reached(job.folder).step} updates are"
    except CoevoError:
        done = "everything is"
    return f"interrupted; {done} saved in {path}; continue with: coevo train --resume {path}"


# ---- The end of a run ------------------------------------------------------------------------


def _conclude(job: Job, summary: Mapping[str, Any], screen: Screen) -> None:
    from coevo.commands.plot import draw_run, save  # loads matplotlib

    if "after" in summary:
        _compare(summary, screen)
    before = (summary.get("before") or {}).get("exploitability")
    figure = draw_run(job.folder.read_metrics(), _title(job.config), before)
    pictures = save(figure, job.folder.path, "learning_curve")
    _excerpts(job, screen)
    if "nothing_learnt" in summary:
        screen.say(f"\nNothing was learnt: {summary['nothing_learnt']}")
    for kind, line in summary.get("lineages", {}).items():
        screen.say(f"\nBest {kind}: {line}")
    screen.say(
        f"\n{summary['steps']:,} updates, {summary['tokens']:,} sampled tokens, "
        f"{summary['seconds']:.0f} s of training. Written:"
    )
    for path in _written(job, pictures):
        screen.say(f"  {path}")
    env = next(iter(job.config.environments))
    screen.say(f"Play it: coevo play --env {env} --agent {job.folder.path}")
    screen.say(f"Read it: coevo replay {job.folder.path} --episode -1")


def _compare(summary: Mapping[str, Any], screen: Screen) -> None:
    ends = tuple(MEASURES)
    for env in dict.fromkeys(k.rpartition("/")[0] for k in summary["after"] if k.endswith(ends)):
        head = f"{env}/" if env else ""
        before, after = (
            {k.removeprefix(head): v for k, v in summary[when].items() if k.startswith(head)}
            for when in ("before", "after")
        )
        rows = [
            (text, _shown(key, before.get(key)), _shown(key, after.get(key)))
            for key, text in MEASURES.items()
            if after.get(key) is not None
        ]
        title = f"before and after (the oracle: {after.get('oracle') or 'none here'})"
        screen.table(f"{env}: {title}" if env else title, ("measure", "before", "after"), rows)


def _shown(key: str, value: float | None) -> str:
    return share(value) if "rate" in key else cell(value)


def _excerpts(job: Job, screen: Screen) -> None:
    try:
        newest = list(read_episodes(job.folder.episodes))[-TOLD:]
    except DataError:
        return
    last = max((e.outcome.get("step", 0) for e in newest), default=0)
    for episode in different([e for e in newest if e.outcome.get("step", 0) == last]):
        screen.say()
        for line in excerpt(episode):
            screen.say(line)


def _written(job: Job, pictures: list[Path]) -> list[Path]:
    folder = job.folder
    newest = checkpoint.latest(folder.checkpoints)
    paths = [folder.summary, *pictures, folder.metrics, folder.episodes]
    paths += [] if newest is None else [newest]
    paths += [folder.path / name for name in job.loggers if name == "tensorboard"]
    return [p for p in paths if p.exists()]
