"""The gain of a best response against each agent: exact where possible, else trained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coevo.agents import RandomAgent
from coevo.agents.agent import Agent
from coevo.benchmarks.exact import exploitability
from coevo.benchmarks.files import file_name
from coevo.benchmarks.statistics.bootstrap import Interval
from coevo.benchmarks.tournament.exploiter import ExploiterPlan, Report, exploit
from coevo.benchmarks.tournament.plan import Plan
from coevo.benchmarks.tournament.sentences import signed
from coevo.envs.core.errors import CoevoError, ConfigError, DataError

STAND_IN = ("coevo/kuhn_poker-v0", {"prompt_style": "terse"})
"""Where the exploiter is calibrated if the tournament's own game is too large for exact values."""


def exploit_all(
    plan: Plan,
    agents: Mapping[str, Agent],
    folder: Path,
    trained: ExploiterPlan | None,
    report: Report = lambda words, share: None,
) -> dict[str, Any]:
    """Measure every agent, and the exploiter itself where one was trained.

    `trained` says how exploiters are trained where there is no exact value; None trains none.
    Returns agents: name -> {"exact": table or None, "why": reason, "exploiter": table or None};
    calibration: what the exploiter reached against a known value, or None; sentences.
    """
    found: dict[str, dict[str, Any]] = {}
    known = exact(RandomAgent(), plan.env, plan.env_options)
    for number, name in enumerate(sorted(agents)):
        # where the random player has no exact value the game is too large for every agent
        table, why = exact(agents[name], plan.env, plan.env_options) if known[0] else known
        found[name] = {"exact": table, "why": why, "exploiter": None}
        if table is None and trained is not None:
            own = folder / "exploiters" / f"{number:02d}-{file_name(name)[-60:]}"
            found[name]["exploiter"] = _attempt(agents[name], name, plan, trained, own, report)
    calibration = None
    if trained is not None and any(f["exploiter"] for f in found.values()):
        own = folder / "exploiters" / "calibration"
        calibration = calibrate(plan, known[0], trained, own, report)
    sentences = _sentences(found, calibration, trained is not None)
    return {"agents": found, "calibration": calibration, "sentences": sentences}


def exact(
    agent: Agent, env: str, env_options: Mapping[str, Any]
) -> tuple[dict[str, Any] | None, str]:
    """Return an agent's exact exploitability, or None and the reason why there is none."""
    try:
        found = exploitability(agent, env, env_options)
    except ConfigError as error:
        return None, str(error)
    values = found.best_response_values
    return {**asdict(found), "best_response_mean": sum(values) / len(values)}, ""


def calibrate(
    plan: Plan,
    known: Mapping[str, Any] | None,
    trained: ExploiterPlan,
    folder: Path,
    report: Report = lambda words, share: None,
) -> dict[str, Any]:
    """Exploit the random player, whose best-response value is known, with the same budget.

    In the tournament's own game if that value can be computed and is above 0, else in Kuhn poker:
    `same_game` tells. `known` is what `exact` gave for the random player in the tournament's game.
    Score and exact value are means over seats, `share` is their ratio.
    """
    env, options, same = plan.env, dict(plan.env_options), True
    table, why = known, ""
    if table is None or table["best_response_mean"] <= 0:
        env, options, same = *STAND_IN, False
        table, why = exact(RandomAgent(), env, options)
    if table is None:
        raise CoevoError(f"{env} gives no exact value for the random player: {why}")
    found = exploit(RandomAgent(), env, options, trained, folder, _about("calibration", report))
    value = table["best_response_mean"]
    return {
        "env": env,
        "same_game": same,
        "agent": "random",
        "score": found["score"],
        "interval": found["interval"],
        "exact": value,
        "share": found["score"] / value,
    }


def _attempt(
    agent: Agent, name: str, plan: Plan, trained: ExploiterPlan, folder: Path, report: Report
) -> dict[str, Any]:
    try:
        return exploit(
            agent,
            plan.env,
            plan.env_options,
            trained,
            folder,
            _about(f"exploiter of {name}", report),
        )
    except DataError:  # a damaged file: the same command goes on once it is gone
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        return {"score": None, "why": reason if isinstance(error, CoevoError) else repr(error)}


def _earned(name: str, found: Mapping[str, Any]) -> str:
    """Say what an exploiter takes; where that is not a gain as such, also what it gains."""
    low, high = found["interval"] or (math.nan, math.nan)
    score = signed(Interval(low, found["score"], high, found["games"]))
    gain = found["gain"]
    more = "" if gain == found["score"] else f", {gain:+.3f} more than {name} with itself"
    return (
        f"A trained exploiter earns {score} an episode from {name}{more}: a lower bound on what "
        "can be earned."
    )


def _about(what: str, report: Report) -> Report:
    return lambda words, share: report(f"{what}, {words}", share)


def _sentences(
    found: Mapping[str, Mapping[str, Any]], calibration: Mapping[str, Any] | None, wanted: bool
) -> list[str]:
    said = []
    exactly = {n: f["exact"] for n, f in found.items() if f["exact"]}
    values = {
        n: t["nash_conv"] if t["exploitability"] is None else t["exploitability"]
        for n, t in exactly.items()
    }
    if values:
        listed = ", ".join(f"{n} {v:.3f}" for n, v in sorted(values.items(), key=lambda x: x[1]))
        said.append(f"Exact exploitability (0 cannot be beaten): {listed}.")
    for name, f in found.items():
        if f["exploiter"] and f["exploiter"]["score"] is not None:
            said.append(_earned(name, f["exploiter"]))
        elif f["exploiter"]:
            said.append(f"No exploiter of {name} could be measured: {f['exploiter']['why']}")
    if calibration:
        other = "" if calibration["same_game"] else f", in {calibration['env']}, another game"
        said.append(
            f"The same exploiter reaches {100 * calibration['share']:.0f} % of the exact value "
            f"against the random player{other}."
        )
    elif wanted and len(exactly) == len(found):
        said.append("Every agent has an exact value: no exploiter was trained.")
    return said
