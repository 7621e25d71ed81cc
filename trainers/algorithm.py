"""An algorithm is a configuration: one component for every choice, and what its paper used.

Nothing in the training loop knows an algorithm's name, nor that of a component: what a component
needs it declares itself, where it is defined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

from coevo.agents.population import PopulationConfig, Shared
from coevo.envs.core.config import choice, config, plain, read, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.rewards import RewardModules
from coevo.trainers.estimators import AdvantageConfig, LossConfig
from coevo.trainers.samplers import (
    Allocation,
    KeepAll,
    Replay,
    Selection,
    TaskBuffer,
    Uniform,
)


@config
class CollectConfig:
    """What is collected for one update."""

    episodes: Annotated[int, whole(1)] = 512
    """Episodes per update; an episode gives one trajectory per learning seat."""
    group_size: Annotated[int, whole(1)] = 1
    """Episodes of the same task; group statistics compare them."""
    tasks: Annotated[int, whole(0)] = 0
    """Tasks of the whole run; 0 draws new ones for every update."""
    allocate: Allocation = field(default_factory=Uniform)
    """How episodes are shared out among the tasks of an update."""
    select: Selection = field(default_factory=KeepAll)
    """Which groups are learnt from."""
    replay: Replay | None = None
    """Which episodes of earlier updates come back."""
    task_buffer: TaskBuffer | None = None
    """What episodes leave for later episodes, and which of them get it."""
    component: str = "payoff"
    """Reward component that allocation, selection and replay look at."""
    low: Annotated[float, real()] = -1.0
    """Outcome of that component that counts as no success."""
    high: Annotated[float, real()] = 1.0
    """Outcome that counts as a full success."""

    def __post_init__(self) -> None:
        if self.allocate.needs_history and not self.tasks:
            raise ConfigError(
                f"collect.allocate={self.allocate.name!r} shares episodes out by what is known "
                "about a task, but collect.tasks=0 never plays a task twice; give a number of tasks"
            )
        if self.episodes % self.group_size:
            raise ConfigError(
                f"episodes={self.episodes} must be a multiple of group_size={self.group_size}"
            )


@config
class OptimConfig:
    """How parameters move."""

    lr: Annotated[float, real(above=0)] = 3e-4
    """Peak learning rate of AdamW."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """Learning rate over the run; the decaying ones end at `final_lr` times the peak."""
    final_lr: Annotated[float, real(0, 1)] = 0.1
    """Share of the peak rate at the end of a decaying schedule."""
    warmup: Annotated[int, whole(0)] = 5
    """Updates of linear warm-up."""
    beta1: Annotated[float, real(0, below=1)] = 0.9
    """Decay of Adam's first moment."""
    beta2: Annotated[float, real(0, below=1)] = 0.95
    """Decay of Adam's second moment."""
    weight_decay: Annotated[float, real(0)] = 0.0
    """Decay of the weights, apart from the gradient."""
    grad_norm: Annotated[float, real(above=0)] = 1.0
    """Gradients are scaled down to this norm."""
    epochs: Annotated[int, whole(1, 10_000)] = 1
    """Passes over the batch per update."""
    minibatches: Annotated[int, whole(1, 10_000)] = 1
    """Optimiser steps per pass."""
    token_budget: Annotated[int, whole(1)] = 8192
    """Tokens of one forward-backward pass, padding included; changes memory, not the gradient."""
    alternate: tuple[str, ...] = ()
    """Roles that learn in turns, each with optimiser steps of its own; roles that are not named
    learn together after them. Empty: all roles at once."""
    old: Literal["role", "update"] = "role"
    """When the policy is scored that a role's steps depart from: before each role's steps, which
    hides what earlier roles moved from the ratio, or once before the update."""
    frozen: tuple[str, ...] = ()
    """Roles whose turns are not learnt from. Where roles share weights, what the others learn
    moves these as well."""

    RUN_WIDE: ClassVar = ("schedule", "final_lr", "warmup", "alternate", "old", "frozen")
    """Settings that no parameter set has of its own."""


@config
class ValueCriticConfig:
    """One value per token: a linear head on the policy's last hidden state."""

    gives: ClassVar[str] = "value_BS"
    name: Literal["value"] = "value"
    lr: Annotated[float, real(above=0)] = 1e-3
    """Learning rate of the head; the trunk is not trained by the value loss."""
    clip: Annotated[float, real(above=0, infinite=True)] = 0.2
    """Largest change of a value that lowers its loss."""


@config
class UtteranceCriticConfig:
    """Double critics of whole replies, heads on the policy's last hidden state."""

    gives: ClassVar[str] = "q_BTC"
    name: Literal["utterance"] = "utterance"
    lr: Annotated[float, real(above=0)] = 1e-3
    """Learning rate of the heads; the trunk is not trained by their loss."""
    passes: Annotated[int, whole(1)] = 20
    """Steps on every batch before the policy learns from it."""
    gamma: Annotated[float, real(0, 1)] = 0.95
    """Discount per turn."""
    tau: Annotated[float, real(above=0, high=1)] = 0.1
    """Speed of the slow copies."""


Critic = Annotated[ValueCriticConfig | UtteranceCriticConfig, choice()]
"""What values the credit reads; a credit says which it needs."""


@config
class SnapshotMagnet:
    """The policy of the latest multiple of `every` updates (R-NaD's outer loop)."""

    name: Literal["snapshot"] = "snapshot"
    every: Annotated[int, whole(1)] = 20
    """Updates between snapshots."""

    def kept(self, step: int) -> float:
        """Return the share of the magnet that stays after an update."""
        return 1.0 if step % self.every else 0.0


@config
class EmaMagnet:
    """An exponential moving average of the policy's weights."""

    name: Literal["ema"] = "ema"
    decay: Annotated[float, real(0, below=1)] = 0.99
    """Share of the magnet that stays after every update."""

    def kept(self, step: int) -> float:
        """Return the share of the magnet that stays after an update."""
        return self.decay


Magnet = Annotated[SnapshotMagnet | EmaMagnet, choice()]
"""The moving reference that the regulariser `magnet` measures the distance to."""


Status = Literal["model", "table", "vectors", "composed", "inferred"]

STATUS: Mapping[Status, str] = {
    "model": "the property that its source claims is shown by `coevo reproduce` on a language model "
    "trained by the shipped loop",
    "table": "the property that its source claims is shown by `coevo reproduce` on tables, in a loop "
    "beside the shipped one as yet",
    "vectors": "its advantage or its loss gives the worked numbers of the source to 4 decimals",
    "composed": "made of components that are tested one by one; nothing of the source is measured",
    "inferred": "parts of the source could not be read; the header of its file says which",
}
"""How far an algorithm is held against its source."""


@config
class Published:
    """A value of the paper or its code, printed beside ours."""

    value: Any
    source: str
    """Where it was read."""
    why: str = ""
    """Why ours differs, where it does."""


@config
class Algorithm:
    """One component for every choice, listed in the order in which an update uses them."""

    name: str
    summary: str
    """One line for `coevo algos`."""
    paper: str
    """Author, year, identifier."""
    formula: str
    """Advantage and loss in the notation of the estimators."""
    status: Status = "composed"
    """How far it is held against its source, from STATUS."""
    reproductions: tuple[str, ...] = ()
    """Names for `coevo reproduce` of the reproductions that show its property."""
    population: PopulationConfig = field(default_factory=Shared)
    """Who has parameters of their own, and who plays whom."""
    rewards: RewardModules = ()
    """Reward modules added to the rules' payoff, each its own component."""
    collect: CollectConfig = field(default_factory=CollectConfig)
    advantage: AdvantageConfig = field(default_factory=AdvantageConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    replay_loss: LossConfig | None = None
    """Loss of the passes over old episodes that `collect.replay` asks for; None takes `loss`."""
    magnet: Magnet | None = None
    """Moving reference that the policy is pulled to."""
    ema: Annotated[float, real(0, below=1)] = 0.0
    """Decay of the ema weights that are saved and evaluated; 0 = the last iterate."""
    critic: Critic | None = None
    """What values the credit reads."""
    optim: OptimConfig = field(default_factory=OptimConfig)
    optim_of: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameter set -> settings of `optim` that are its own: `optim_of.verifier_0.lr=1e-4`."""
    published: Mapping[str, Published] = field(default_factory=dict)
    """Dotted setting -> what the source used."""
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Variant name -> {dotted setting: value or tree}, chosen with `--variant`."""

    def __post_init__(self) -> None:
        if self.status in ("model", "table") and not self.reproductions:
            raise ConfigError(
                f"status={self.status!r} and reproductions=() contradict each other: name a "
                "reproduction"
            )
        for name in self.optim_of:
            self.optim_for(name)
        object.__setattr__(self, "variants", plain(self.variants))
        for conflict in self._conflicts():
            raise ConfigError(conflict)

    def optim_for(self, name: str) -> OptimConfig:
        """Return the settings by which a parameter set moves.

        Raises:
            ConfigError: one of its own settings does not fit, or is the run's.
        """
        own, where = self.optim_of.get(name, {}), f"optim_of.{name}"
        for setting in OptimConfig.RUN_WIDE:
            if setting in own:
                raise ConfigError(
                    f"{where}.{setting}={own[setting]}: all learning rates of a run move together; "
                    f"set optim.{setting}, and {where}.lr for the peak"
                )
        return read(OptimConfig, {**plain(self.optim), **own}, where)

    def _conflicts(self) -> Iterator[str]:
        credit, baseline, terms = (
            self.advantage.credit,
            self.advantage.baseline,
            self.loss.regularise,
        )
        if any(t.needs_magnet for t in terms) != (self.magnet is not None):
            yield (
                f"magnet={self.magnet} and the loss terms {[t.name for t in terms]} contradict each "
                "other: a magnet needs the loss term 'magnet', and the term needs a magnet"
            )
        if credit.reads != (None if self.critic is None else self.critic.gives):
            yield (
                f"advantage.credit={credit.name!r} and critic={self.critic} contradict each other: "
                "gae needs a critic {name: value}, td_critic one {name: utterance}, and nothing "
                "else uses one"
            )
        if self.needs_greedy and self.collect.replay is not None:
            yield (
                f"advantage.baseline={baseline.name!r} and collect.replay="
                f"{self.collect.replay.name!r} contradict each other: episodes of earlier updates "
                "have no greedy episode of today beside them"
            )
        if baseline.compares_episodes and self.collect.group_size < 2:
            yield (
                f"advantage.baseline={baseline.name!r} compares episodes of one task, but "
                f"collect.group_size={self.collect.group_size}; use at least 2"
            )

    @property
    def needs_greedy(self) -> bool:
        """Whether every task is also played greedily once."""
        return self.advantage.baseline.needs_greedy

    @property
    def needs_reference(self) -> bool:
        """Whether the frozen start weights are needed, for a KL term."""
        in_loss = any(t.needs_reference for t in self.loss.regularise)
        return self.advantage.kl_in_reward != 0 or in_loss

    @property
    def moves_reference(self) -> bool:
        """Whether the reference may become the current policy during the run."""
        replay = self.collect.replay
        return self.needs_reference and replay is not None and replay.moves_reference
