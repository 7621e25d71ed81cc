"""What the learners of stable-baselines3 are run with: our values for small games, theirs beside.

Theirs are made for control tasks with thousands of steps per episode. A game here has two to
twenty moves and pays at its end, so ours discount nothing and take more, smaller batches; rates
fall to zero, since in self-play a learner that never stops moving circles its equilibrium.
"""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from coevo.envs.core.errors import ConfigError, missing_extra, unknown


@dataclass(frozen=True, kw_only=True)
class SelfPlay:
    """Opponents: the learner as it was after earlier updates."""

    latest: float = 0.5
    """Probability, per seat and play, of the newest update; else one of the kept, evenly."""
    every: int = 10
    """Updates between kept past selves."""
    size: int = 20
    """Most past selves kept; the oldest goes first."""

    def __post_init__(self) -> None:
        if not 0 <= self.latest <= 1 or self.every < 1 or self.size < 1:
            raise ConfigError(f"{self}: latest from 0 to 1, every and size at least 1")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What all three learners take; a name of SB3's is passed on under that name."""

    envs: int = 8
    """Views stepped side by side. SB3: 1."""
    hidden: tuple[int, ...] = (64, 64)
    """Widths of the hidden layers, of the policy and of the value alike. SB3: the same."""
    learning_rate: float = 1e-3
    """At the start; falls in a line to 0 at the end of the budget. SB3: constant."""
    gamma: float = 1.0
    """Discount per own action; plays end by their rules."""

    @property
    def update_steps(self) -> int:
        """Actions of the learner per update, that is per line of the metrics."""
        raise NotImplementedError  # abstract

    def passed_on(self) -> dict[str, Any]:
        """Return the values that SB3's constructor takes under the same names."""
        own = ("envs", "hidden", "learning_rate", "per_update")
        return {name: value for name, value in asdict(self).items() if name not in own}


@dataclass(frozen=True, kw_only=True)
class PPOSettings(Settings):
    """Proximal policy optimisation."""

    n_steps: int = 64
    """Actions per view and update."""
    batch_size: int = 128
    """Rows per gradient step."""
    n_epochs: int = 6
    """Passes over an update's rows."""
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    ent_coef: float = 0.01
    """Weight of the entropy: without it the mixed play that poker needs is lost early."""
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5

    @property
    def update_steps(self) -> int:
        return self.envs * self.n_steps


@dataclass(frozen=True, kw_only=True)
class MaskablePPOSettings(PPOSettings):
    """The same with illegal actions ruled out (sb3-contrib)."""


@dataclass(frozen=True, kw_only=True)
class DQNSettings(Settings):
    """Deep Q-learning, greedy but for a share of random actions while it learns."""

    envs: int = 4
    """Views stepped side by side, and with `train_freq` actions per gradient step. SB3: 1."""
    learning_rate: float = 5e-4
    per_update: int = 512
    """Actions per line of the metrics; the learner takes its gradient steps in between."""
    buffer_size: int = 100_000
    learning_starts: int = 1000
    batch_size: int = 64
    train_freq: int = 1
    """Steps of all views between gradient steps. SB3 takes 4 steps of one view."""
    target_update_interval: int = 1000
    exploration_fraction: float = 0.4
    """Share of the budget over which the random actions fall to their final share."""
    exploration_final_eps: float = 0.05
    max_grad_norm: float = 10.0

    @property
    def update_steps(self) -> int:
        return self.per_update


@dataclass(frozen=True)
class Sb3Baseline:
    """One learner of stable-baselines3."""

    module: str
    name: str
    package: str
    settings: Settings

    def load(self) -> type[Any]:
        """Import the class; MissingExtraError where its package is not installed."""
        try:
            found: type[Any] = getattr(importlib.import_module(self.module), self.name)
        except ImportError:
            raise missing_extra(self.package, "sb3") from None
        return found

    def defaults(self) -> dict[str, Any]:
        """Return SB3's own values of everything that `settings` sets."""
        theirs = inspect.signature(self.load()).parameters
        return {
            name: theirs[name].default
            for name in [*self.settings.passed_on(), "learning_rate"]
            if name in theirs
        }


SB3: dict[str, Sb3Baseline] = {
    "ppo": Sb3Baseline("stable_baselines3", "PPO", "stable-baselines3", PPOSettings()),
    "dqn": Sb3Baseline("stable_baselines3", "DQN", "stable-baselines3", DQNSettings()),
    "maskable_ppo": Sb3Baseline("sb3_contrib", "MaskablePPO", "sb3-contrib", MaskablePPOSettings()),
}
"""Every baseline by name; `sb3:<name>` on the command line."""


def baseline(name: str) -> Sb3Baseline:
    """Look a baseline up, with or without `sb3:`; an unknown one lists the nearest.

    >>> baseline("sb3:maskable_ppo").name
    'MaskablePPO'
    """
    short = name.removeprefix("sb3:")
    if short not in SB3:
        raise unknown("baseline", name, [f"sb3:{known}" for known in SB3])
    return SB3[short]


@dataclass(frozen=True, kw_only=True)
class SB3Config:
    """Everything that a run of a baseline depends on; saved as `config.yaml`."""

    algo: str
    """A name of `SB3`."""
    env: str
    """Registered environment id."""
    env_options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    """Root of every generator of the run."""
    budget_turns: int | None = None
    """Replies of all seats; the update that reaches it is the last."""
    budget_seconds: float | None = None
    """Seconds of training, evaluation not counted."""
    probe_points: int = 20
    """Evaluations spread evenly over the budget, the last at its end; another one at the start.

    Where an update is longer than the distance of two points, there is one for both."""
    opponents: str = "self"
    """`self`, or the name of an opponent as in `gymnasium.make`."""
    settings: Settings | None = None
    """Of the learner; None takes ours."""
    self_play: SelfPlay = field(default_factory=SelfPlay)
    checkpoint_every: int = 20
    """Updates between checkpoints; the last update is always saved."""
    steps: ClassVar[None] = None
    budget_tokens: ClassVar[None] = None
    probe_every: ClassVar[int] = 1
    episodes_logged: ClassVar[int] = 4
    keep_checkpoints: ClassVar[int] = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "algo", self.algo.removeprefix("sb3:"))
        usual = baseline(self.algo).settings
        if self.settings is None:
            object.__setattr__(self, "settings", usual)
        elif type(self.settings) is not type(usual):
            raise ConfigError(
                f"settings={self.settings!r}: {self.algo} takes {type(usual).__name__}"
            )
        limits = {n: getattr(self, n) for n in ("budget_turns", "budget_seconds")}
        if all(v is None for v in limits.values()):
            raise ConfigError("a run needs an end: give budget_turns or budget_seconds")
        for name, value in limits.items():
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"{name}={value} must be above 0")
        for name, least in (("probe_points", 1), ("checkpoint_every", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name}={getattr(self, name)} must be at least {least}")

    @property
    def learner(self) -> Settings:
        return self.settings or baseline(self.algo).settings

    def to_plain(self) -> dict[str, Any]:
        """Return what `config.yaml` holds, SB3's own values beside ours."""
        facts = asdict(self)
        own = facts.pop("settings") | {"hidden": list(self.learner.hidden)}
        facts["env_options"] = dict(self.env_options)
        name = f"sb3:{facts.pop('algo')}"
        theirs = baseline(name).defaults()
        return {"algorithm": {"name": name, **own}, "sb3_defaults": theirs, **facts}
