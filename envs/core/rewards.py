"""Reward modules: named, ranged, composable pieces of reward.

A module is its own configuration: a frozen `@config` class whose fields are its arguments, so that
`Format(legal=0.1)` and `{name: format, legal: 0.1}` are the same. A module that learns keeps
what it learned beside its fields; `copy.deepcopy` of one that has not learned yet is a fresh one.

A module that needs only the past (`per_turn`) is applied by the environment after every reply. The
others (judges, votes, what counts tokens) are applied to finished episodes: by trainers to a whole
batch at once, by an environment in anybody else's hands to each episode when it ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator, PlainValidator

from coevo.envs.core.config import by_name, read
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError, DataError, unknown

RESERVED = ("payoff", "illegal")
"""Components that the engine gives: by the rules, and for replies that are no legal move."""

Rewards = dict[str, float]
"""Agent -> reward."""
Table = list[list[Rewards]]
"""[episode][turn] -> agent -> reward."""


class Judges(Protocol):
    """Those who are asked for a role, as a run binds roles to parameter sets."""

    @property
    def injected(self) -> Mapping[str, Any]:
        """Return the text of the archive that each role judges by, with its id."""

    def ask(self, role: str, questions: Sequence[Any]) -> list[Turn]:
        """Return what a role answers to every question, a turn each."""

    def worth(self, role: str, questions: Sequence[Any]) -> list[float]:
        """Return what the reward head of a role gives every reply that is shown to it."""

    def version(self, role: str) -> int:
        """Return the version of the parameter set that a role is bound to."""


@dataclass(frozen=True)
class ScoreContext:
    """What a module may use beside the episodes that it scores."""

    step: int = 0
    """Updates done; 0 outside of training."""
    seed: int = 0
    """Root of what a module draws."""
    judges: Judges | None = None
    """Judges of the run; None outside of training."""


@dataclass(frozen=True)
class Scores:
    """What a module says of a batch of episodes."""

    table: Table
    version: int
    """Of the module when it said so."""
    invalid: Mapping[tuple[int, int, str], str] = field(default_factory=dict)
    """(episode, turn, agent) that no reward could be found for, and why: the table has none there,
    and what the agent did in that episode is compared with nothing."""

    def __post_init__(self) -> None:
        for (episode, turn, agent), reason in self.invalid.items():
            if agent in self.table[episode][turn]:
                raise DataError(
                    f"episode {episode}, turn {turn}: {agent} has a reward, which is invalid "
                    f"({reason}); leave it out of the table"
                )


class RewardModule:
    """Base of every reward module; subclasses give `name`, `range` and one of the two scores."""

    name: str = ""
    """Which module it is."""

    @property
    def component(self) -> str:
        """Column of the reward table that it fills; unique within one environment."""
        return self.name

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest reward that one reply can earn from this module."""
        return (-1.0, 1.0)

    @property
    def per_turn(self) -> bool:
        """Whether `score_turn` needs only the past; the environment then applies it as it goes."""
        return True

    @property
    def version(self) -> int:
        """Goes up when a learning module changes; written on every turn that it rewards."""
        return 0

    @property
    def roles_asked(self) -> tuple[str, ...]:
        """Roles of judges that it asks; a run binds each to a parameter set."""
        return ()

    @property
    def heads_asked(self) -> tuple[str, ...]:
        """Those of the roles whose reward head it reads."""
        return ()

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        """Return the rewards that `turn`, the latest of `episode`, decides for itself.

        A finished episode is scored as it grew: it ends with `turn` here, unless `per_turn` is
        False.
        """
        raise NotImplementedError(f"{type(self).__name__} must define one score")  # abstract

    def score_earlier(self, episode: Episode, turn: Turn) -> Mapping[int, Rewards]:
        """Return rewards that `turn`, the latest, decides for earlier turns: place -> rewards.

        They are credited to the reply that earned them, even if others spoke since; PettingZoo
        sees them in the step that decides them.
        """
        return {}

    def score(self, episodes: Sequence[Episode], context: ScoreContext) -> Scores:
        """Return the rewards of finished episodes; without judges define `table` instead."""
        return Scores(self.table(episodes), self.version)

    def table(self, episodes: Sequence[Episode]) -> Table:
        """Return the reward table of finished episodes."""
        return [self._table(episode) for episode in episodes]

    def _table(self, episode: Episode) -> list[Rewards]:
        table: list[Rewards] = []
        for place, turn in enumerate(episode.turns):
            seen = so_far(episode, place) if self.per_turn else episode
            table.append(dict(self.score_turn(seen, turn)))
            for at, rewards in self.score_earlier(seen, turn).items():
                for agent, reward in rewards.items():
                    table[at][agent] = table[at].get(agent, 0.0) + reward
        return table

    def fit(self, episodes: Sequence[Episode]) -> Mapping[str, float]:
        """Learn from episodes; modules that do not learn do nothing and report nothing."""
        return {}

    def state_dict(self) -> dict[str, object]:
        """Return what a checkpoint must keep; JSON-able."""
        return {}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore what `state_dict` returned."""


def so_far(episode: Episode, place: int) -> Episode:
    """Return an episode as it was when the turn in this place was its latest."""
    turns = episode.turns[: place + 1]
    return replace(episode, turns=turns, stop=StopReason.UNFINISHED, outcome={}, note="")


REWARDS: dict[str, type[RewardModule]] = {}
"""Configuration classes by name. A package that brings reward modules adds them here."""


def _module(given: Any) -> RewardModule:
    if isinstance(given, RewardModule):
        return given
    tree = by_name(given)
    if not isinstance(tree, Mapping) or not isinstance(tree.get("name"), str):
        raise ConfigError(
            f"reward module {given!r} must be a name, or a mapping with one: {{name: ...}}"
        )
    if tree["name"] not in REWARDS:
        raise unknown("reward module", tree["name"], REWARDS)
    module: RewardModule = read(REWARDS[tree["name"]], tree, tree["name"])
    return module


def _distinct(modules: tuple[RewardModule, ...]) -> tuple[RewardModule, ...]:
    components = [m.component for m in modules]
    taken = [c for c in components if components.count(c) > 1 or c in ("", *RESERVED)]
    if taken:
        raise ConfigError(
            f"reward components {components}: {taken[0]!r} is empty, repeated or reserved"
        )
    return modules


Reward = Annotated[RewardModule, PlainValidator(_module)]
"""A reward module in a configuration: an object, a mapping with a name, or a bare name."""
RewardModules = Annotated[tuple[Reward, ...], AfterValidator(_distinct)]
"""Reward modules whose components are all different and free."""


def reward_modules(given: Any) -> tuple[RewardModule, ...]:
    """Return reward modules from a list as configurations have it.

    >>> import coevo.envs.rewards
    >>> [m.component for m in reward_modules(["format", {"name": "majority", "over": "episode"}])]
    ['format', 'majority']
    """
    modules: tuple[RewardModule, ...] = read(RewardModules, given, "rewards")
    return modules
