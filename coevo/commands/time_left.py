"""What a suite takes, said before it begins and after every environment."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from coevo.agents.agent import Agent
from coevo.benchmarks.measurement import Measurement
from coevo.benchmarks.report.formats import duration
from coevo.benchmarks.suites.cost import Cost, timed
from coevo.benchmarks.suites.suite import Settings


class TimeLeft:
    """Says what a suite takes: when it is made, and after every environment what is left.

    An agent that samples its tokens on this machine plays one episode to be timed.

    Args:
        agent: that is measured.
        costs: of the environments that are left.
        settings: of the measurement.
        say: takes one line for the person at the screen.
    """

    def __init__(
        self,
        agent: Agent,
        costs: Mapping[str, Cost],
        settings: Settings,
        say: Callable[[str], None],
    ) -> None:
        self._costs, self._say, self._done = costs, say, 0
        self._all = sum(costs.values(), Cost())
        if costs:
            say(self._words(agent))
        ours = agent.sampling_settings and agent.usage is None
        pace = timed(agent, costs, settings) if ours else None
        if pace is not None:
            say(
                f"one episode of {pace.env} took {pace.seconds:.1f} s: all of them about "
                f"{duration(pace.left(self._all))}"
            )
        self._began = time.monotonic()

    def _words(self, agent: Agent) -> str:
        """Return the cost as random play foresees it."""
        cost, longest = self._all, agent.sampling_settings.get("max_new_tokens")
        said = f"{len(self._costs)} environments, {cost.episodes:,} episodes"
        if not agent.sampling_settings:
            return said
        wrote = f", and up to {cost.written(longest):,} to write" if longest else ""
        return (
            f"{said}, about {cost.replies:,} replies and {cost.read:,} tokens to read{wrote}, "
            "if it takes as many turns as random play"
        )

    def report(self, row: Measurement) -> None:
        """Say that an environment is done, and how long the others may take."""
        own = self._costs.get(row.env)
        self._done += own.work if own else 0
        taken, left = time.monotonic() - self._began, self._all.work - self._done
        ahead = f"; about {duration(taken / self._done * left)} left" if own and left else ""
        self._say(f"done: {row.env}{ahead}" if own else f"done before: {row.env}")
