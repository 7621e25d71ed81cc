"""Playing a tournament block by block; any kill can be followed by the same command."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coevo.agents.agent import Agent, Reply, Request
from coevo.benchmarks.evaluate import repeatable
from coevo.benchmarks.scores import is_contest
from coevo.benchmarks.tournament.adaptive import Directions
from coevo.benchmarks.tournament.meetings import Meeting, meeting
from coevo.benchmarks.tournament.plan import Plan, open_folder
from coevo.benchmarks.tournament.plays import Play, PlayLog, failed_block, play_of
from coevo.benchmarks.tournament.schedule import Block, Pair, Schedule
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import CoevoError, DataError
from coevo.trainers.rollout import play

Report = Callable[[int, int, str], None]
"""Told before every block: plays done, most plays there can be, who meets whom."""


@dataclass
class Tournament:
    """A tournament that is being played.

    Args:
        plan: its settings.
        agents: name -> agent, for every name of the plan.
        folder: where everything is written.
        report: told about progress.
    """

    plan: Plan
    agents: Mapping[str, Agent]
    folder: Path
    report: Report = lambda done, most, words: None
    env: TextEnv = field(init=False)
    schedule: Schedule = field(init=False)
    rounds: dict[Pair, list[list[Play]]] = field(init=False)
    """The plays of every pair, block by block."""

    def __post_init__(self) -> None:
        self.env = self.plan.environment()
        self.schedule = self.plan.schedule(self.env)
        self.rounds = {pair: [] for pair in self.schedule.pairs}
        self._met: dict[Pair, tuple[int, Meeting]] = {}
        self._log = PlayLog(self.folder / "plays.jsonl")

    @property
    def contest(self) -> bool:
        """Whether plays are won and lost."""
        return is_contest(self.env)

    @property
    def plays(self) -> list[Play]:
        """Every play so far, in an order that does not depend on interruptions."""
        return [p for blocks in self.rounds.values() for plays in blocks for p in plays]

    @property
    def met(self) -> dict[Pair, Meeting]:
        """What happened between whom."""
        for pair, blocks in self.rounds.items():
            if self._met.get(pair, (-1, None))[0] != len(blocks):
                plays = (p for block in blocks for p in block)
                self._met[pair] = len(blocks), meeting(self.schedule, pair, plays)
        return {pair: self._met[pair][1] for pair in self.rounds}

    @property
    def directions(self) -> Directions:
        """What adaptive play wants to know."""
        names = tuple(sorted(self.plan.agents))
        return Directions(names, self.contest, self.env.payoff_range)

    def play(self) -> None:
        """Write the manifest and play everything that is not played yet.

        Raises:
            ConfigError: the folder holds a tournament with other settings.
        """
        open_folder(self.folder, self.plan)
        with only_one(self.folder):
            kept = self._log.resume(self.schedule)
            for block in self._adaptively() if self.plan.adaptive else self._evenly():
                plays = kept[block] if block in kept else self._play(block)
                self.rounds[block.pair].append(plays)

    def _evenly(self) -> Iterator[Block]:
        """Give one block of every pair, then another: an unfinished tournament is balanced."""
        for number in range(self.schedule.blocks_per_pair):
            for pair in self.schedule.pairs:
                if not self._fruitless(pair):
                    yield self.schedule.block(pair, number)

    def _adaptively(self) -> Iterator[Block]:
        """Give a block of every pair once, then of the pair that is needed most."""
        for pair in self.schedule.pairs:
            yield self.schedule.block(pair, 0)
        wanted = self.directions
        while (needed := wanted.next_pair(self.met, self._finished())) is not None:
            yield self.schedule.block(needed, len(self.rounds[needed]))

    def _finished(self) -> set[Pair]:
        most = self.schedule.blocks_per_pair
        return {p for p, own in self.rounds.items() if len(own) >= most or self._fruitless(p)}

    def _fruitless(self, pair: Pair) -> bool:
        """Tell whether not a single play of the pair's last block could be finished."""
        own = self.rounds[pair]
        return bool(own) and all(p.failed for p in own[-1])

    def _play(self, block: Block) -> list[Play]:
        done = sum(len(plays) for blocks in self.rounds.values() for plays in blocks)
        self.report(done, self.schedule.plays, " against ".join(dict.fromkeys(block.pair)))
        plays = self._outcomes(block)
        self._log.append(plays)
        return plays

    def _outcomes(self, block: Block) -> list[Play]:
        """Play a block; whoever fails to answer makes its plays failures, never a crash."""
        players = {
            name: Named(repeatable(self.agents[name], block.seed(self.plan.seed, name)), name)
            for name in dict.fromkeys(block.pair)
        }
        planned = self.schedule.matches(block)
        try:
            episodes = play(
                self.plan.env, [m for _, m in planned], players, dict(self.plan.env_options)
            )
        except AgentFailed as error:
            return failed_block(self.schedule, block, str(error))
        return [
            play_of(self.env, block, deal, match, episode, self.contest)
            for (deal, match), episode in zip(planned, episodes, strict=True)
        ]


class AgentFailed(CoevoError):
    """An agent raised an error instead of answering."""


class Named(Agent):
    """An agent whose errors say whose they are.

    Args:
        agent: who answers.
        name: under which it plays.
    """

    def __init__(self, agent: Agent, name: str) -> None:
        self.agent, self.name, self.version = agent, name, agent.version

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer as the agent does."""
        try:
            return self.agent.act(requests)
        except Exception as error:
            reason = " ".join(str(error).split())
            kind = "" if isinstance(error, CoevoError) and reason else type(error).__name__
            raise AgentFailed(": ".join(p for p in (self.name, kind, reason) if p)) from error


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Refuse a second process in the same folder; one that dies lets go."""
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError(f"{folder} is in use by another process") from None
        yield
