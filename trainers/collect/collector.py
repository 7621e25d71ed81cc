"""Collecting: the episodes that one update learns from.

Propose tasks, seat the policies, play, reward, keep the groups that inform, and mix in or bring
back episodes of earlier updates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coevo.agents.agent import Agent
from coevo.agents.population import Population, Result
from coevo.envs.core.apply import apply_batch
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.rewards import RESERVED, Judges, RewardModule, ScoreContext
from coevo.trainers.batch import Batch
from coevo.trainers.build import build
from coevo.trainers.collect.ahead import Ahead, as_they_are, retire
from coevo.trainers.collect.beginnings import Hint, in_rounds, part_of
from coevo.trainers.collect.collect_config import CollectConfig
from coevo.trainers.collect.group import Group
from coevo.trainers.collect.metrics import outcomes, worth
from coevo.trainers.collect.part import GREEDY, Part, RolloutBackend, play_part
from coevo.trainers.collect.rollout import EpisodeSpec, Variation
from coevo.trainers.collect.trees import WAVE
from coevo.trainers.samplers.curriculum import Curriculum, Proposal, Source, shared_out
from coevo.trainers.samplers.kept import Kept
from coevo.trainers.samplers.replay import Mix, ReplayBuffer
from coevo.trainers.samplers.selection import refill
from coevo.trainers.samplers.task_buffer import TaskStore

HELD_OUT = 2**20
"""Marks the random streams of held-out episodes."""
AGAIN = 2**20 + 1
"""Marks those of tasks that are played once more."""


@dataclass(frozen=True)
class Collected:
    """What one update learns from."""

    episodes: list[Episode]
    """Fresh ones first, then those of earlier updates."""
    groups: list[int]
    """One key per episode; equal keys had the same task."""
    fresh: int
    """How many were played now."""
    tokens: int
    """Tokens that learning policies sampled now, those of episodes that were dropped included."""
    metrics: dict[str, float]
    baselines: Mapping[tuple[int, str], float] | None = None
    """(group, seat) -> what a greedy episode of the same task earned there."""
    played: Sequence[Group] = ()
    """The fresh groups; group `i` has the key `i`."""


@dataclass
class Collector:
    """Proposes tasks and plays them; remembers tasks and episodes where the algorithm asks for it.

    Args:
        sources: environment id -> an environment that was never reset, with its weight.
        modules: reward modules that are applied to finished episodes.
        parts: parts in which the episodes of an update are played.
        backend: plays the parts of an update; None plays them in this process.
        reward_weights: of reward components in what is credited; 1 where not given.
        greedy: whether every task is also played greedily once.
    """

    settings: CollectConfig
    seed: int
    sources: Mapping[str, Source]
    population: Population
    modules: Sequence[RewardModule]
    judges: Judges | None = None
    parts: int = 1
    backend: RolloutBackend | None = None
    reward_weights: Mapping[str, float] = field(default_factory=dict)
    greedy: bool = False
    curriculum: Curriculum = field(init=False)
    replay: ReplayBuffer = field(init=False)
    task_buffer: TaskStore = field(init=False)
    ahead: Ahead = field(init=False)

    def __post_init__(self) -> None:
        spec = self.settings
        for id in self.sources:
            self._range(id)
        self.curriculum = spec.curriculum.start(self.sources, spec, self.seed)
        self.replay = ReplayBuffer() if spec.replay is None else spec.replay.buffer()
        self.task_buffer = TaskStore() if spec.task_buffer is None else spec.task_buffer.store()
        self.ahead = Ahead(spec.staleness)

    @property
    def components(self) -> list[str]:
        """What the rewards of an episode may be called."""
        envs = [source.env for source in self.sources.values()]
        modules = [*self.modules, *(m for env in envs for m in env.reward_modules)]
        paid = {*(m.component for m in modules), *(c for env in envs for c in env.task.components)}
        return sorted({*RESERVED, *paid})

    def follow(self, settings: CollectConfig, reward_weights: Mapping[str, float]) -> None:
        """Take settings that schedules have moved."""
        self.settings, self.reward_weights = settings, reward_weights
        self.curriculum.collect, self.curriculum.config = settings, settings.curriculum
        self.replay.config, self.task_buffer.config = settings.replay, settings.task_buffer

    def collect(self, step: int, variation: Variation | None = None) -> Collected:
        """Return the episodes that update number `step` learns from.

        Raises:
            RefillError: too few informative groups were found.
        """
        spec = self.settings
        rng = np.random.default_rng([self.seed, step, 1])
        mix = self.replay.mix(spec.episodes // spec.group_size, step, rng)
        dropped = self.ahead.drop_old()
        first = self._first(step, mix.fresh, variation)
        played = [*first]

        def draw(batch: int) -> list[Group]:
            if batch == 0:
                return first
            found = self._play(self.plan(step, mix.fresh, batch), step, batch, variation)
            played.extend(found)
            return found

        found = refill(draw, len(first), self._selected, spec.select.tries)
        self._observe(played, step)
        every = [e for g in played for e in g.episodes]
        self.task_buffer.take(every, step)
        metrics = outcomes(every) | self.task_buffer.metrics() | self.curriculum.metrics()
        metrics |= found.metrics() if spec.select.refills else {}
        metrics |= self._ages(played, step, dropped)
        baselines = greedy_baselines(found.groups, self.reward_weights)
        return _joined(found.groups, mix, self._tokens(played), metrics, baselines)

    def held_out(
        self, tasks: int, step: int, variations: Sequence[Variation | None] = (None,)
    ) -> list[list[Episode]]:
        """Play held-out tasks once per variation.

        Training never draws their seeds. Agents draw the same random numbers under every variation.
        """
        rng = np.random.default_rng([self.seed, step, HELD_OUT])
        seeds = rng.integers(2**31, 2**32, size=tasks)
        envs = shared_out(self.sources, tasks, [self.seed, step, HELD_OUT])
        planned = []
        for i, (seed, env) in enumerate(zip(seeds.tolist(), envs, strict=True)):
            spec = EpisodeSpec(seed, self.population.assign(i, rng), i, env=env)
            planned.append(Group(i, Proposal(env, seed), (spec,)))
        played = [self._play(planned, step, HELD_OUT, variation) for variation in variations]
        return [[e for g in groups for e in g.episodes] for groups in played]

    def again(self, specs: Sequence[EpisodeSpec], step: int) -> list[Episode]:
        """Play tasks of an update once more, with what was changed in their specs."""
        tasks = [Group(i, Proposal(s.env, s.seed, s.options), (s,)) for i, s in enumerate(specs)]
        return [e for group in self._play(tasks, step, AGAIN, None) for e in group.episodes]

    def _tokens(self, groups: Sequence[Group]) -> int:
        greedy = [g.greedy for g in groups if g.greedy is not None]
        prefixes = [b for g in groups for spec in g.specs for b in spec.prefix.values()]
        written = self.tokens([*(e for g in groups for e in g.episodes), *greedy])
        return written - sum(len(b.ids) for b in prefixes)

    def tokens(self, episodes: Sequence[Episode]) -> int:
        """Count what learners, or variants of them, have written."""
        own, turns = self.population.learners, (t for e in episodes for t in e.turns)
        return sum(len(t.token_ids or ()) for t in turns if t.player.partition("@")[0] in own)

    def plan(self, step: int, groups: int, batch: int = 0) -> list[Group]:
        """Decide which tasks are played how often, by which agents."""
        seed, tasks = self.seed, self.curriculum.propose(step, groups, batch)
        planned: list[Group] = []
        stream = 0
        for task in (t for t in tasks if t.episodes):
            key = batch * len(tasks) + len(planned)
            # All episodes of a group share their seats, which rotate from group to group.
            seated = np.random.default_rng([seed, step, key])
            players = self.population.assign(step * groups + key, seated)
            ahead = range(stream, stream + task.episodes)
            # They share what earlier episodes left as well: a task is more than its seed.
            left = self.task_buffer.give(np.random.default_rng([seed, step, key, 3]))
            options = {**self.settings.options, **left, **task.options}
            specs = tuple(
                EpisodeSpec(task.seed, players, s, options, begins=begins, env=task.env)
                for s, begins in zip(ahead, self._forced(players, task.episodes), strict=True)
            )
            planned.append(Group(key, task, specs))
            stream += task.episodes
        return planned

    def _forced(self, players: Mapping[str, str], episodes: int) -> list[dict[str, str]]:
        """Return what the learners' first replies begin with, in every episode of a group."""
        forced, learners = self.settings.forced, self.population.learners
        seats = [seat for seat, player in players.items() if player in learners]
        texts = ["" if forced is None else forced.beginning(k) for k in range(episodes)]
        return [dict.fromkeys(seats, text) if text else {} for text in texts]

    def _first(self, step: int, groups: int, variation: Variation | None) -> list[Group]:
        """Return the groups of an update: played now, or while earlier updates were learnt from."""
        if not self.ahead.staleness:
            return self._play(self.plan(step, groups), step, 0, variation)
        for later in self.ahead.due(step):
            self._start(later, step, groups)
        return self._rewarded(self.ahead.take(step), step, 0)

    def _start(self, later: int, step: int, groups: int) -> None:
        """Begin to play what update number `later` learns from, with what is known now."""
        planned, agents = self.plan(later, groups), as_they_are(self.population, later)

        def play() -> list[Group]:
            try:
                return self._played(planned, later, 0, agents)
            finally:
                retire(agents)

        self.ahead.start(later, step, play)

    def _play(
        self, planned: Sequence[Group], step: int, batch: int, variation: Variation | None
    ) -> list[Group]:
        """Play all groups at once and apply every reward module."""
        agents = self.population.agents
        if variation is not None:
            planned = [
                replace(g, specs=tuple(variation(s, g.key, i) for i, s in enumerate(g.specs)))
                for g in planned
            ]
            agents |= variation.agents
        if self.settings.hint is not None and batch < HELD_OUT:
            return self._hinted(self.settings.hint, planned, step, batch, agents)
        return self._rewarded(self._grown(planned, step, batch, agents), step, batch)

    def _grown(
        self, planned: Sequence[Group], step: int, batch: int, agents: dict[str, Agent]
    ) -> list[Group]:
        """Play groups whole, or their roots and then the branches of these."""
        trees = self.settings.trees
        if trees is None or all(len(group) <= trees.roots for group in planned):
            return self._played(planned, step, batch, agents)
        cut = [replace(g, specs=g.specs[: trees.roots]) for g in planned]
        roots = self._played(cut, step, batch, agents)
        learners = self.population.learners
        rest = [
            replace(g, specs=trees.branched(g.specs[trees.roots :], root.episodes, learners))
            for g, root in zip(planned, roots, strict=True)
        ]
        grown = self._played(rest, step, batch + WAVE, agents)
        return [
            replace(r, specs=r.specs + g.specs, episodes=r.episodes + g.episodes)
            for r, g in zip(roots, grown, strict=True)
        ]

    def _hinted(
        self,
        hint: Hint,
        planned: Sequence[Group],
        step: int,
        batch: int,
        agents: dict[str, Agent],
    ) -> list[Group]:
        """Play groups in rounds; what came of a round says how much the next one is shown."""
        solutions = [self._solution(g) for g in planned]
        played = [replace(g, specs=()) for g in planned]
        shown: list[list[float]] = [[] for _ in planned]
        won: list[list[float]] = [[] for _ in planned]
        for number in range(hint.rounds):
            shares = [hint.share(*known) for known in zip(shown, won, strict=True)]
            now = []
            for group, solution, share in zip(planned, solutions, shares, strict=True):
                text = part_of(solution, share)
                specs = group.specs[in_rounds(len(group), hint.rounds)[number]]
                begun = tuple(_begun(s, text, self.population.learners) for s in specs)
                now.append(replace(group, specs=begun))
            found = self._played(now, step, batch * hint.rounds + number, agents)
            for k, done in enumerate(self._rewarded(found, step, batch)):
                successes = self._successes(done)
                won[k] += successes
                shown[k] += [shares[k]] * len(successes)
                specs, episodes = played[k].specs + done.specs, played[k].episodes + done.episodes
                played[k] = replace(done, specs=specs, episodes=episodes)
        return played

    def _solution(self, group: Group) -> str:
        """Return the solution of a group's task."""
        env = self.sources[group.task.env].env.fresh()
        env.reset(seed=group.task.seed, options=dict(group.specs[0].options))
        if not env.task.worked_solution:
            raise ConfigError(
                f"collect.hint: {group.task.env} gives no solution to show; "
                "environments with questions of word_problems do"
            )
        return env.task.worked_solution

    def _played(
        self, planned: Sequence[Group], step: int, batch: int, agents: dict[str, Agent]
    ) -> list[Group]:
        count = max(1, min(self.parts, len(planned)))
        ends = [len(planned) * i // count for i in range(count + 1)]
        seeds, parts = self._seeds(agents, step, batch), list[Part]()
        for a, b in pairwise(ends):
            specs = self._specs(planned[a:b])
            parts.append(Part(specs, seeds, sum(len(p.specs) for p in parts)))
        if self.backend is None:
            envs = {id: source.env for id, source in self.sources.items()}
            found: Sequence[list[Episode]] = [play_part(p, envs, agents) for p in parts]
        else:
            found = self.backend(parts, agents)
        played = []
        for (a, b), episodes in zip(pairwise(ends), found, strict=True):
            rest = iter(episodes)
            fresh = [replace(g, episodes=tuple(next(rest) for _ in g.specs)) for g in planned[a:b]]
            played += [replace(g, greedy=next(rest, None)) for g in fresh]
        return played

    def _specs(self, groups: Sequence[Group]) -> tuple[EpisodeSpec, ...]:
        """Return what is played of some groups: their episodes, then a greedy one of each."""
        specs, learners = [s for g in groups for s in g.specs], self.population.learners
        if self.greedy:
            specs += [_greedily(g.specs[0], learners) for g in groups]
        return tuple(specs)

    def _seeds(self, agents: Mapping[str, Agent], step: int, batch: int) -> dict[str, int]:
        found = {}
        for i, name in enumerate(agents):
            sequence = np.random.SeedSequence([self.seed, step, i, batch])
            found[name] = int(sequence.generate_state(1, np.uint64)[0] >> 1)
        return found

    def _rewarded(self, played: list[Group], step: int, batch: int) -> list[Group]:
        # A judge draws the same numbers, wherever and in how many parts episodes were played.
        agents = self.population.agents
        for name, seed in self._seeds(agents, step, batch).items():
            agents[name].reseed(seed)
        greedy = [g.greedy for g in played if g.greedy is not None]
        episodes = [*(e for g in played for e in g.episodes), *greedy]
        apply_batch(self.modules, episodes, ScoreContext(step, self.seed, self.judges))
        return played

    def _ages(self, played: Sequence[Group], step: int, dropped: int) -> dict[str, float]:
        """Return by how many updates the learners lagged behind that wrote what is learnt from."""
        if not self.ahead.staleness and not dropped:
            return {}
        turns = (t for g in played for e in g.episodes for t in e.turns)
        ages = [step - t.version for t in turns if t.player in self.population.learners]
        found = {"staleness/dropped": float(dropped)}
        if ages:
            found |= {"staleness/mean": float(np.mean(ages)), "staleness/max": float(max(ages))}
        return found

    # ---- What is known about tasks and episodes  ------------------------------------------------

    def _selected(self, groups: Sequence[Group]) -> list[bool]:
        """Return which groups pass the selection, each seat's outcomes judged apart."""
        select = self.settings.select
        scores = [s for g in groups for s in self._scores(g)]
        if not scores:
            return [True] * len(groups)
        score_N, group_N, seat_N = (np.array(column) for column in zip(*scores, strict=True))
        kept = set(select(score_N, group_N, seat_N).tolist())
        return [g.key in kept for g in groups]

    def _scores(self, group: Group) -> list[tuple[float, int, int]]:
        """Return (outcome, group, seat) of every trajectory that a learner wrote."""
        component = self.settings.component
        return [
            (episode.total(seat, component), group.key, i)
            for spec, episode in zip(group.specs, group.episodes, strict=True)
            if episode.stop is not StopReason.ERROR
            for i, seat in enumerate(episode.agents)
            if spec.players[seat] in self.population.learners
        ]

    def _range(self, env: str) -> tuple[float, float]:
        made = self.sources[env].env
        return self.settings.success_range(made.payoff_range, (*self.modules, *made.reward_modules))

    def _successes(self, group: Group) -> list[float]:
        """Return the outcomes of a group as shares of what can be earned, 0..1."""
        low, high = self._range(group.task.env)
        return [min(max((x - low) / (high - low), 0.0), 1.0) for x, _, _ in self._scores(group)]

    def _results(self, group: Group) -> Iterator[Result]:
        """Return what each player earned in the episodes of a group."""
        component = self.settings.component
        for spec, episode in zip(group.specs, group.episodes, strict=True):
            if episode.stop is not StopReason.ERROR:
                yield Result(spec.players, {s: episode.total(s, component) for s in episode.agents})

    def _observe(self, groups: Sequence[Group], step: int) -> None:
        """Note the outcomes of tasks, those of groups that were dropped included."""
        self.population.observe(r for g in groups for r in self._results(g))
        self.curriculum.observe([(g.task, self._successes(g)) for g in groups], step)

    def remember(self, collected: Collected, batch: Batch, step: int) -> None:
        """Hand the fresh episodes, with the mean advantage of each seat, to the replay buffer."""
        if not self.replay.remembers:
            return
        mask_BS = batch.token_mask_BS
        advantage_BS = batch.joined(batch.advantage_CL)
        mean_B = (advantage_BS * mask_BS).sum(1) / mask_BS.sum(1).clamp(min=1)
        items: dict[tuple[int, str], Kept] = {}
        for (at, seat), advantage in zip(batch.origin_B, mean_B.tolist(), strict=True):
            if at < collected.fresh:
                own = seat if self.replay.by_seat else ""
                episode, group = collected.episodes[at], collected.groups[at]
                reward = episode.total(seat, self.settings.component)
                items.setdefault((at, own), Kept(episode, group, step, reward, advantage, own))
        self.replay.add(list(items.values()))

    def replay_pass(self, step: int) -> tuple[Batch, Tensor, float] | None:
        """Return the old episodes that are learnt from once more after an update.

        With them the advantage of each of their trajectories, computed anew, and the factor on the
        loss of the pass.
        """
        rng = np.random.default_rng([self.seed, step, 2])
        extra = self.replay.extra(step, rng)
        if extra is None or not extra.items:
            return None
        batch = build(extra.episodes(), list(range(len(extra.items))), self.population.learners)
        if batch is None:
            return None
        a_B = torch.tensor([k.advantage for k in extra.items])
        return batch, a_B[[at for at, _ in batch.origin_B]], extra.weight

    def state_dict(self) -> dict[str, Any]:
        return {
            "tasks": self.curriculum.state_dict(),
            "replay": self.replay.state_dict(),
            "task_buffer": self.task_buffer.state_dict(),
            **({"ahead": ahead} if (ahead := self.ahead.state_dict()) else {}),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.curriculum.load_state_dict(state["tasks"])
        self.replay.load_state_dict(state["replay"])
        self.task_buffer.load_state_dict(state.get("task_buffer", {}))
        self.ahead.load_state_dict(state.get("ahead", ()))


def _greedily(spec: EpisodeSpec, learners: Collection[str]) -> EpisodeSpec:
    """Return a spec in which the greedy twins of the learners play."""
    players = {s: p + GREEDY if p in learners else p for s, p in spec.players.items()}
    return replace(spec, players=players)


def _begun(spec: EpisodeSpec, text: str, learners: Collection[str]) -> EpisodeSpec:
    """Return a spec in which the learners' first replies begin with a text."""
    seats = [seat for seat, player in spec.players.items() if player in learners]
    return replace(spec, begins=dict.fromkeys(seats, text)) if text else spec


def greedy_baselines(
    groups: Sequence[Group], weights: Mapping[str, float]
) -> dict[tuple[int, str], float]:
    """Return what the greedy episode of every group earned its seats, components weighted."""
    found = {}
    for number, group in enumerate(groups):
        if group.greedy is not None:
            for seat in group.greedy.agents:
                found[number, seat] = worth(group.greedy, seat, weights)
    return found


def _joined(
    groups: Sequence[Group],
    mix: Mix,
    tokens: int,
    metrics: dict[str, float],
    baselines: Mapping[tuple[int, str], float],
) -> Collected:
    fresh = [e for g in groups for e in g.episodes]
    keys = [i for i, g in enumerate(groups) for _ in g.episodes]
    episodes, all_keys = mix.join(fresh, keys)
    if len(episodes) > len(fresh):
        metrics = metrics | {"replay/share": 1 - len(fresh) / len(episodes)}
    return Collected(episodes, all_keys, len(fresh), tokens, metrics, baselines or None, groups)
