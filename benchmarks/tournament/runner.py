"""Playing a tournament block by block; the same command continues it after a kill."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from coevo.agents.agent import Agent, Reply, Request
from coevo.benchmarks.outcomes import is_contest
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.tournament.adaptive import OpenQuestions
from coevo.benchmarks.tournament.episode_log import (
    EpisodeLog,
    EpisodeRecord,
    failed_block,
    record_of,
)
from coevo.benchmarks.tournament.pairings import Pairing, pairing
from coevo.benchmarks.tournament.plan import KIND, Plan
from coevo.benchmarks.tournament.schedule import Block, Pair, Schedule
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import CoevoError
from coevo.trainers.collect.rollout import rollout

Report = Callable[[int, int, str], None]
"""Told before every block: episodes done, most episodes there can be, who plays whom."""


@dataclass
class Tournament:
    """A tournament that is being played."""

    plan: Plan
    agents: Mapping[str, Agent]
    folder: Path
    report: Report = lambda done, most, words: None
    env: TextEnv = field(init=False)
    schedule: Schedule = field(init=False)
    rounds: dict[Pair, list[list[EpisodeRecord]]] = field(init=False)
    """The episodes of every pair, block by block."""

    def __post_init__(self) -> None:
        self.env = self.plan.environment()
        self.schedule = self.plan.schedule(self.env)
        self.rounds = {pair: [] for pair in self.schedule.pairs}
        self._pairings: dict[Pair, tuple[int, Pairing]] = {}
        self._log = EpisodeLog(self.folder / "records.jsonl")

    @property
    def contest(self) -> bool:
        return is_contest(self.env)

    @property
    def episodes(self) -> list[EpisodeRecord]:
        """Every episode so far, in an order that does not depend on interruptions."""
        return [p for blocks in self.rounds.values() for episodes in blocks for p in episodes]

    @property
    def pairings(self) -> dict[Pair, Pairing]:
        for pair, blocks in self.rounds.items():
            if self._pairings.get(pair, (-1, None))[0] != len(blocks):
                episodes = (p for block in blocks for p in block)
                self._pairings[pair] = len(blocks), pairing(self.schedule, pair, episodes)
        return {pair: self._pairings[pair][1] for pair in self.rounds}

    @property
    def open_questions(self) -> OpenQuestions:
        names = tuple(sorted(self.plan.agents))
        return OpenQuestions(names, self.contest, self.env.payoff_range)

    def play(self) -> None:
        results = ResultsFolder(self.folder, KIND)
        results.begin(asdict(self.plan), self.plan.weights())
        with results.alone():
            kept = self._log.resume(self.schedule)
            for block in self._adaptively() if self.plan.adaptive else self._evenly():
                episodes = kept[block] if block in kept else self._play(block)
                self.rounds[block.pair].append(episodes)

    def _evenly(self) -> Iterator[Block]:
        """Return one block of every pair, then another: an unfinished tournament is balanced."""
        for number in range(self.schedule.blocks_per_pair):
            for pair in self.schedule.pairs:
                if not self._all_failed(pair):
                    yield self.schedule.block(pair, number)

    def _adaptively(self) -> Iterator[Block]:
        """Return a block of every pair once, then of the pair that is needed most."""
        for pair in self.schedule.pairs:
            yield self.schedule.block(pair, 0)
        wanted = self.open_questions
        while (needed := wanted.next_pair(self.pairings, self._finished())) is not None:
            yield self.schedule.block(needed, len(self.rounds[needed]))

    def _finished(self) -> set[Pair]:
        most = self.schedule.blocks_per_pair
        return {p for p, own in self.rounds.items() if len(own) >= most or self._all_failed(p)}

    def _all_failed(self, pair: Pair) -> bool:
        """Return whether not a single episode of the pair's last block could be finished."""
        own = self.rounds[pair]
        return bool(own) and all(p.failed for p in own[-1])

    def _play(self, block: Block) -> list[EpisodeRecord]:
        done = sum(len(episodes) for blocks in self.rounds.values() for episodes in blocks)
        self.report(done, self.schedule.episodes, " against ".join(dict.fromkeys(block.pair)))
        episodes = self._outcomes(block)
        self._log.append(episodes)
        return episodes

    def _outcomes(self, block: Block) -> list[EpisodeRecord]:
        players = {
            name: Named(self.agents[name].reseeded(block.seed(self.plan.seed, name)), name)
            for name in dict.fromkeys(block.pair)
        }
        planned = self.schedule.specs(block)
        try:
            episodes = rollout(
                self.plan.env, [spec for _, spec in planned], players, dict(self.plan.env_options)
            )
        except AgentFailed as error:
            return failed_block(self.schedule, block, str(error))
        return [
            record_of(self.env, block, task, spec, episode, self.contest)
            for (task, spec), episode in zip(planned, episodes, strict=True)
        ]


class AgentFailed(CoevoError):
    """An agent raised an error instead of answering."""


class Named(Agent):
    """An agent whose errors say whose they are."""

    def __init__(self, agent: Agent, name: str) -> None:
        self.agent, self.name, self.version = agent, name, agent.version
        self.insider, self.reads_numbers = agent.insider, agent.reads_numbers

    def forget(self) -> None:
        self.agent.forget()

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        try:
            return self.agent.act(requests)
        except Exception as error:
            reason = " ".join(str(error).split())
            kind = "" if isinstance(error, CoevoError) and reason else type(error).__name__
            raise AgentFailed(": ".join(p for p in (self.name, kind, reason) if p)) from error
