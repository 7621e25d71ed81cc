"""`coevo evaluate`: what an agent is worth, against one opponent or on a whole set.

This module reads the arguments and measures in one environment; the sets are in
`evaluate_sets.py`, the tables in `evaluate_tables.py`.
"""

from __future__ import annotations

from typing import Any

from coevo.agents.agent import Agent
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.measurement import Measurement
from coevo.benchmarks.repeats import Repeats, repeat
from coevo.benchmarks.usage import Usage
from coevo.commands import evaluate_sets, players
from coevo.commands.arguments import Evaluate
from coevo.commands.evaluate_tables import show_repeats, show_seats, usage_line
from coevo.commands.screen import Screen, print_json
from coevo.envs import spec
from coevo.envs.core.errors import ConfigError

GAMES = 400
"""Episodes against one opponent."""
SETS = ("suite", "scenario", "axis", "generations")
"""Options that measure more than one environment or agent; at most one is given."""


def run(args: Evaluate) -> int:
    """Measure and print the result."""
    _check(args)
    players.quiet()
    chosen = next((name for name in SETS if getattr(args, name)), None)
    if chosen is not None:
        return evaluate_sets.RUN[chosen](args)
    env_id = str(args.env)
    usual = "self" if spec(env_id).kind == "cooperative" else "random"
    named = args.opponent or usual
    others = [] if named == "self" else [named]
    options = players.env_options(env_id, args.env_option, [str(args.agent), *others])
    agent = evaluate_sets.measured_agent(args)
    opponent = players.agent(named, seed=args.seed + 1, device=args.device) if others else None
    what = {"env": env_id, "opponent": named}
    with evaluate_sets.evaluation(args, agent, what, options) as evaluation:
        number = GAMES if args.games is None else args.games
        found = evaluate(agent, env_id, opponent, number, args.seed, options)
        repeats = _repeats(args, agent, opponent, number, options)
        table = {k: v for k, v in found.to_dict().items() if k != "task_scores"}
        more = {} if repeats is None else {"repeats": repeats.to_dict()}
        evaluation.finish({"result": table, **more})
    if args.json:
        print_json(table | {"env_options": options, "seed": args.seed} | more)
    else:
        _show(found, repeats, options)
    return 0


def _check(args: Evaluate) -> None:
    """Refuse arguments that contradict each other or are missing."""
    sets = [name for name in SETS if getattr(args, name) is not None]
    if len(sets) > 1:
        raise ConfigError(f"--{sets[0]} and --{sets[1]} contradict each other")
    if args.agent is None and args.generations is None:
        raise ConfigError("coevo evaluate: needs --agent NAME|PATH; see `coevo evaluate --help`")
    if args.agent is not None and args.generations is not None:
        raise ConfigError("--generations RUN measures the run's own checkpoints, not --agent")
    if args.env is not None and sets and sets[0] != "axis":
        raise ConfigError(f"--{sets[0]} and --env contradict each other")
    if args.env is None and not sets:
        raise ConfigError(
            "coevo evaluate: needs one of --env ID, --suite NAME, --scenario NAME, --axis NAME; "
            "see `coevo evaluate --help`"
        )
    if args.opponent is not None and sets:
        raise ConfigError(f"--opponent goes with --env; --{sets[0]} says who plays")
    if args.samples is not None and (args.samples < 1 or (sets and sets[0] != "suite")):
        raise ConfigError(
            f"--samples {args.samples} must be at least 1, and goes with --env or --suite"
        )
    if args.games is not None and args.games < 1:
        raise ConfigError(f"games={args.games} must be at least 1")


def _repeats(
    args: Evaluate, agent: Agent, opponent: Agent | None, games: int, options: dict[str, Any]
) -> Repeats | None:
    if args.samples is None:
        return None
    return repeat(
        agent.reseeded(args.seed),
        str(args.env),
        opponent,
        samples=args.samples,
        games=games,
        seed=args.seed,
        env_options=options,
    )


def _show(found: Measurement, repeats: Repeats | None, options: dict[str, Any]) -> None:
    screen = Screen()
    show_seats(screen, found)
    left_out = f", {found.errors} episodes left out" if found.errors else ""
    settings = " ".join(f"{k}={v}" for k, v in options.items())
    screen.say(f"{found.mean_turns:.1f} replies per episode{left_out}; {settings}")
    if "rewards" in options:
        screen.say("scores are payoffs of the rules alone: rewards=... moves none of them")
    if repeats is not None:
        show_repeats(screen, {found.env: repeats.to_dict()}, found.sampling)
    whole = found.usage + (repeats.usage if repeats else Usage())
    if whole.sampled_tokens or whole.requests:
        screen.say(usage_line(whole))
