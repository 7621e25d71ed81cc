"""`coevo evaluate`: the score of an agent against another."""

from __future__ import annotations

from typing import Any

from coevo.benchmarks.evaluate import Evaluation, evaluate
from coevo.commands import players
from coevo.commands.arguments import Evaluate
from coevo.commands.screen import Screen, print_json, share


def run(args: Evaluate) -> int:
    """Play and print the result."""
    players.quiet()
    others = [] if args.opponent == "self" else [args.opponent]
    options = players.env_options(args.env, args.env_option, [args.agent, *others])
    agent, *rest = (_agent(name, args, i) for i, name in enumerate([args.agent, *others]))
    opponent = rest[0] if rest else None
    found = evaluate(agent, args.env, opponent, args.games, args.seed, options, samples=0)
    if args.json:
        print_json(found.to_dict() | {"env_options": options, "seed": args.seed})
    else:
        _show(found, options)
    return 0


def _agent(name: str, args: Evaluate, number: int) -> Any:
    """Load one side; the settings of sampling are for the side that is measured."""
    if number:
        return players.agent(name, seed=args.seed + number, device=args.device)
    return players.agent(
        name,
        temperature=args.temperature,
        max_new_tokens=args.max_new_tokens,
        greedy=args.greedy,
        seed=args.seed,
        device=args.device,
    )


def _show(found: Evaluation, options: dict[str, Any]) -> None:
    scores = {"all seats": found.total, **found.seats}
    rows = [
        (
            seat,
            s.plays,
            f"{s.mean_return:+.3f}",
            "-" if s.interval is None else f"{s.interval[0]:+.3f} .. {s.interval[1]:+.3f}",
            *(share(rate) for rate in (s.win_rate, s.draw_rate, s.loss_rate)),
            share(s.forfeit_rate),
            share(s.illegal_rate),
        )
        for seat, s in scores.items()
    ]
    against = f"against {found.opponent}" if found.opponent else "in self-play"
    columns = ("seat", "plays", "mean payoff", "95 % interval", "won", "drawn", "lost")
    screen = Screen()
    screen.table(
        f"{found.agent} {against} in {found.env}",
        (*columns, "forfeited", "illegal replies"),
        rows,
    )
    left_out = f", {found.errors} plays left out" if found.errors else ""
    settings = " ".join(f"{k}={v}" for k, v in options.items())
    screen.say(f"{found.mean_turns:.1f} replies per play{left_out}; {settings}")
