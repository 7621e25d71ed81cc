"""Gathering: what one update learns from, before anything is learnt.

plan the start states, seat the players, play, reward, keep the groups that inform, and mix in or
bring back plays of earlier updates.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.population import Population
from coevo.envs.core.episode import Episode, Stop
from coevo.envs.rewards.module import RewardModule
from coevo.envs.rewards.paying import pay_plays, warn_if_unpaid
from coevo.trainers.config import TrainConfig
from coevo.trainers.estimators import defaults
from coevo.trainers.learning import Again
from coevo.trainers.rollout import Match, play
from coevo.trainers.rows import Batch, build
from coevo.trainers.samplers import (
    ALLOCATE,
    ARCHIVE,
    REPLAY,
    SELECT,
    Archive,
    Kept,
    Mix,
    Replay,
    StartHistory,
    history_of,
    refill,
    tries_of,
)

GREEDY = "@greedy"
"""Ending of the names of greedy twins."""


@dataclass(frozen=True)
class Gathered:
    """The plays of one update."""

    episodes: list[Episode]
    """Fresh ones first, then those of earlier updates."""
    groups: list[int]
    """One key per episode; equal keys had the same start state."""
    fresh: int
    """How many were played now."""
    tokens: int
    """Tokens that learning policies sampled now, those of plays that were not kept included."""
    metrics: dict[str, float]
    baselines: Mapping[tuple[int, str], float] | None = None
    """(group, seat) -> what a greedy play of the same start earned there."""


@dataclass(frozen=True)
class Planned:
    """One group to be played."""

    key: int
    """Tells the groups of one update apart."""
    start: int
    """Place in the list of starts; -1 where starts are endless."""
    matches: tuple[Match, ...]


@dataclass(frozen=True)
class Played:
    """A group and its plays."""

    planned: Planned
    episodes: list[Episode]
    greedy: Episode | None = None

    def __len__(self) -> int:
        """Give the number of plays."""
        return len(self.episodes)


@dataclass
class Gatherer:
    """Plans and plays; remembers starts and plays where the record asks for it.

    Args:
        config: the run.
        population: who plays.
        modules: reward modules that are applied to finished plays.
    """

    config: TrainConfig
    population: Population
    modules: Sequence[RewardModule]
    history: StartHistory | None = field(init=False, default=None)
    replay: Replay = field(init=False)
    archive: Archive = field(init=False)

    def __post_init__(self) -> None:
        spec = self.config.algorithm.sampler
        if spec.starts:
            self.history = history_of(spec.allocate, spec.starts, low=spec.low, high=spec.high)
        self.replay = REPLAY[spec.replay.name](**spec.replay.params)
        self.archive = ARCHIVE[spec.archive.name](**spec.archive.params)

    def gather(self, step: int) -> Gathered:
        """Give the plays that update number `step` learns from.

        Raises:
            RefillError: too few informative groups were found.
        """
        spec = self.config.algorithm.sampler
        rng = np.random.default_rng([self.config.seed, step, 1])
        mix = self.replay.mix(spec.episodes // spec.group_size, step, rng)
        played: list[Played] = []

        first = self.plan(step, mix.fresh)

        def draw(batch: int) -> list[Played]:
            planned = first if batch == 0 else self.plan(step, mix.fresh, batch)
            found = self._play(planned, step, batch)
            played.extend(found)
            return found

        found = refill(draw, len(first), self._keeps, tries_of(spec.select))
        self._remember(played)
        every = [e for g in played for e in g.episodes]
        self.archive.take(every, step)
        metrics = outcomes(every) | self.archive.metrics()
        metrics |= found.metrics() if spec.select.name != "all" else {}
        return _joined(found.groups, mix, self._tokens(played), metrics)

    def _tokens(self, groups: Sequence[Played]) -> int:
        turns = (t for g in groups for e in g.episodes for t in e.turns)
        own = {n + end for n in self.population.learners for end in ("", GREEDY)}
        greedy = (t for g in groups if g.greedy is not None for t in g.greedy.turns)
        spoken = itertools.chain(turns, greedy)
        return sum(len(t.token_ids or ()) for t in spoken if t.player in own)

    def plan(self, step: int, groups: int, batch: int = 0) -> list[Planned]:
        """Decide which starts are played how often, and who sits where.

        Allocators that may leave starts out choose among all of them, the others among `groups`.
        """
        spec, seed = self.config.algorithm.sampler, self.config.seed
        rng = np.random.default_rng([seed, step, *([batch] if batch else [])])
        starts, seeds = self._starts(groups, rng)
        plays = np.full(len(starts), spec.group_size)
        if self.history is not None:
            stats = self.history.stats(starts.tolist())
            total = groups * spec.group_size
            plays = ALLOCATE[spec.allocate.name](stats, total, rng, **spec.allocate.params)
        planned: list[Planned] = []
        stream = 0
        for i in np.flatnonzero(plays):
            key = batch * len(starts) + len(planned)
            # All plays of a group share their seats; seats rotate from group to group, on and on.
            seated = np.random.default_rng([seed, step, key])
            players = self.population.assign(step * groups + key, seated)
            ahead = range(stream, stream + int(plays[i]))
            # They share what earlier plays left as well: a start is more than its seed.
            left = self.archive.give(np.random.default_rng([seed, step, key, 3]))
            matches = tuple(Match(int(seeds[i]), players, s, left) for s in ahead)
            planned.append(Planned(key, int(starts[i]), matches))
            stream += int(plays[i])
        return planned

    def _starts(self, groups: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Give places in the list of starts, and seeds of the start states."""
        if self.history is None:
            return np.full(groups, -1), rng.integers(2**31, size=groups)
        size = len(self.history)
        every = np.random.default_rng([self.config.seed, 2**31]).integers(2**31, size=size)
        if not defaults(self.config.algorithm.sampler.allocate, ALLOCATE)["n_min"]:
            return np.arange(size), every
        at = rng.choice(size, groups, replace=groups > size)
        return at, every[at]

    def _play(self, planned: Sequence[Planned], step: int, batch: int) -> list[Played]:
        """Play all groups at once and apply every reward module."""
        learners = self.population.learners
        for i, agent in enumerate(self.population.players.values()):
            if isinstance(agent, LanguageModelAgent):
                entropy = [self.config.seed, step, i, *([batch] if batch else [])]
                sequence = np.random.SeedSequence(entropy)
                agent.reseed(int(sequence.generate_state(1, np.uint64)[0] >> 1))
                agent.forget()
        players = self.population.players
        matches = [m for p in planned for m in p.matches]
        if self.config.algorithm.sampler.greedy:
            players |= {n + GREEDY: agent.greedy(n + GREEDY) for n, agent in learners.items()}
            matches += [_greedily(p.matches[0], learners) for p in planned]
        episodes = play(self.config.env, matches, players, self.config.env_options)
        pay(self.modules, episodes)
        rest = iter(episodes)
        played = [Played(p, [next(rest) for _ in p.matches]) for p in planned]
        return [replace(p, greedy=next(rest, None)) for p in played]

    # ---- What is known about starts and plays ------------------------------------------------

    def _keeps(self, groups: Sequence[Played]) -> list[bool]:
        """Say which groups pass the selection, each seat's outcomes judged apart."""
        select = self.config.algorithm.sampler.select
        scores = [s for g in groups for s in self._scores(g)]
        if not scores:
            return [True] * len(groups)
        score_N, group_N, seat_N = (np.array(column) for column in zip(*scores, strict=True))
        kept = set(SELECT[select.name](score_N, group_N, seat_N, **select.params).tolist())
        return [g.planned.key in kept for g in groups]

    def _scores(self, group: Played) -> list[tuple[float, int, int]]:
        """Give (outcome, group, seat) of every trajectory that a learner wrote."""
        component = self.config.algorithm.sampler.component
        return [
            (episode.total(seat, component), group.planned.key, i)
            for match, episode in zip(group.planned.matches, group.episodes, strict=True)
            if episode.stop is not Stop.ERROR
            for i, seat in enumerate(episode.agents)
            if match.players[seat] in self.population.learners
        ]

    def _remember(self, groups: Sequence[Played]) -> None:
        """Note the outcomes of starts, those that were not kept included."""
        if self.history is None:
            return
        low, high = self.history.low, self.history.high
        seen = [(g.planned.start, s[0]) for g in groups for s in self._scores(g)]
        self.history.after_update([i for i, _ in seen], [min(max(s, low), high) for _, s in seen])

    def keep(self, gathered: Gathered, batch: Batch, advantage_BS: Tensor, step: int) -> None:
        """Hand the fresh plays, with the mean advantage of each seat, to the replay buffer."""
        if type(self.replay) is Replay:
            return
        mask_BS = batch.trajectories.token_mask_BS
        mean_B = (advantage_BS * mask_BS).sum(1) / mask_BS.sum(1).clamp(min=1)
        items: dict[tuple[int, str], Kept] = {}
        for (at, seat), advantage in zip(batch.played_B, mean_B.tolist(), strict=True):
            if at < gathered.fresh:
                own = seat if self.replay.by_seat else ""
                episode, group = gathered.episodes[at], gathered.groups[at]
                reward = episode.total(seat, self.config.algorithm.sampler.component)
                items.setdefault((at, own), Kept(episode, group, step, reward, advantage, own))
        self.replay.add(list(items.values()))

    def again(self, step: int) -> Again | None:
        """Give the pass over old plays that is due after an update."""
        rng = np.random.default_rng([self.config.seed, step, 2])
        extra = self.replay.extra(step, rng)
        if extra is None or not extra.items:
            return None
        batch = build(extra.episodes(), list(range(len(extra.items))), self.population.learners)
        if batch is None:
            return None
        a_B = torch.tensor([extra.weight * k.advantage for k in extra.items])
        return Again(batch, a_B[[at for at, _ in batch.played_B]])

    def state_dict(self) -> dict[str, Any]:
        """Give what a checkpoint must keep; JSON-able."""
        starts = {} if self.history is None else self.history.state_dict()
        return {
            "starts": starts,
            "replay": self.replay.state_dict(),
            "archive": self.archive.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        if self.history is not None:
            self.history.load_state_dict(state["starts"])
        self.replay.load_state_dict(state["replay"])
        self.archive.load_state_dict(state.get("archive", {}))


def _greedily(match: Match, learners: Collection[str]) -> Match:
    """Let the greedy twins of the learners play a match."""
    players = {s: p + GREEDY if p in learners else p for s, p in match.players.items()}
    return replace(match, players=players)


def pay(modules: Sequence[RewardModule], episodes: Sequence[Episode]) -> None:
    """Apply reward modules to finished plays; what finds nothing to pay for is said once."""
    pay_plays(modules, episodes)
    warn_if_unpaid(modules, episodes)


def outcomes(episodes: Sequence[Episode]) -> dict[str, float]:
    """Give the mean of every metric that environments have of their own, `outcome/<name>`.

    Returns of seats are summarised elsewhere. A metric that only some plays have is a mean of
    those; plays in which somebody could not answer are left out.
    """
    found: dict[str, list[float]] = {}
    for episode in episodes:
        if episode.stop is not Stop.ERROR:
            for name, value in episode.outcome.items():
                if not name.startswith("return/"):
                    found.setdefault(f"outcome/{name}", []).append(value)
    return {name: float(np.mean(values)) for name, values in sorted(found.items())}


def _joined(groups: Sequence[Played], mix: Mix, tokens: int, metrics: dict[str, float]) -> Gathered:
    fresh = [e for g in groups for e in g.episodes]
    keys = [i for i, g in enumerate(groups) for _ in g.episodes]
    episodes, all_keys = mix.join(fresh, keys)
    if len(episodes) > len(fresh):
        metrics = metrics | {"replay/share": 1 - len(fresh) / len(episodes)}
    baselines = {
        (i, seat): g.greedy.total(seat)
        for i, g in enumerate(groups)
        if g.greedy is not None
        for seat in g.greedy.agents
    }
    return Gathered(episodes, all_keys, len(fresh), tokens, metrics, baselines or None)
