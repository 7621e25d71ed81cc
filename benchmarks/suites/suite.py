"""A suite: every environment of a set, one after the other, and their totals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from coevo.agents.agent import Agent
from coevo.benchmarks.suites.measure import Measured, Settings, measure_or_say_why
from coevo.benchmarks.suites.results import Results
from coevo.benchmarks.suites.totals import Totals, totals


def run_suite(
    agent: Agent,
    env_ids: Sequence[str],
    settings: Settings,
    results: Results,
    done: Callable[[Measured], None] | None = None,
) -> tuple[list[Measured], Totals]:
    """Measure an agent in every environment of a suite.

    Args:
        agent: who is measured.
        env_ids: the environments.
        settings: what is played in each.
        results: keeps every row as it is finished.
        done: told of each row.
    """
    rows = []
    for env_id in env_ids:
        row = Measured(**results.part(env_id, partial(_row, agent, env_id, settings)))
        rows.append(row)
        if done is not None:
            done(row)
    whole = totals(rows, np.random.default_rng(settings.seed))
    results.finish({"environments": {r.env: asdict(r) for r in rows}, "total": whole.to_dict()})
    return rows, whole


def _row(agent: Agent, env_id: str, settings: Settings) -> dict[str, Any]:
    return asdict(measure_or_say_why(agent, env_id, settings))
