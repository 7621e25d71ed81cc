"""An algorithm is a record: one option for every slot, and the values its paper used.

Nothing in the training loop knows an algorithm's name. What one record cannot say, a slot is
missing for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from coevo.agents.population import POPULATION
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.rewards import REWARDS
from coevo.trainers.estimators import (
    CENTER,
    AdvantageSpec,
    LossSpec,
    Option,
    check,
    defaults,
    option,
)
from coevo.trainers.estimators.option import Table
from coevo.trainers.estimators.regularise import NEEDS_REFERENCE
from coevo.trainers.record import from_plain
from coevo.trainers.samplers import check_samplers


@dataclass(frozen=True, kw_only=True)
class SamplerSpec:
    """What is played for one update."""

    episodes: int = 512
    """Plays per update; a play gives one trajectory per learning seat."""
    group_size: int = 1
    """Plays of the same start state; group statistics compare them."""
    starts: int = 0
    """Start states of the whole run; 0 draws new ones for every update."""
    allocate: Option = field(default_factory=lambda: option("uniform"))
    """How plays are shared out among the starts of an update, from ALLOCATE."""
    select: Option = field(default_factory=lambda: option("all"))
    """Which groups are learnt from, from SELECT."""
    replay: Option = field(default_factory=lambda: option("none"))
    """Which plays of earlier updates come back, from REPLAY."""
    archive: Option = field(default_factory=lambda: option("none"))
    """What plays leave for later plays, and which of them get it, from ARCHIVE."""
    greedy: bool = False
    """Whether every start is also played greedily once, for the baseline `greedy`."""
    component: str = "payoff"
    """Reward component that allocation, selection and replay look at."""
    low: float = -1.0
    """Outcome of that component that counts as no success."""
    high: float = 1.0
    """Outcome that counts as a full success."""

    def __post_init__(self) -> None:
        check_samplers(self.allocate, self.select, self.replay, self.archive)
        if self.greedy and self.replay.name != "none":
            raise ConfigError(
                f"sampler.greedy=true and sampler.replay={self.replay.name!r} contradict each "
                "other: plays of earlier updates have no greedy play of today beside them"
            )
        if self.allocate.name != "uniform" and not self.starts:
            raise ConfigError(
                f"sampler.allocate={self.allocate.name!r} shares plays out by what is known about "
                "a start, but sampler.starts=0 never plays a start twice; give a number of starts"
            )
        if self.episodes < 1 or self.group_size < 1 or self.episodes % self.group_size:
            raise ConfigError(
                f"episodes={self.episodes} must be a positive multiple of "
                f"group_size={self.group_size}"
            )


@dataclass(frozen=True, kw_only=True)
class OptimSpec:
    """How parameters move."""

    lr: float = 3e-4
    """Peak learning rate of AdamW."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """Learning rate over the run; the decaying ones end at `final_lr` times the peak."""
    final_lr: float = 0.1
    """Share of the peak rate at the end of a decaying schedule."""
    warmup: int = 5
    """Updates of linear warm-up."""
    beta1: float = 0.9
    beta2: float = 0.95
    """Decay of Adam's moments."""
    weight_decay: float = 0.0
    grad_norm: float = 1.0
    """Gradients are scaled down to this norm."""
    epochs: int = 1
    """Passes over the batch per update."""
    minibatches: int = 1
    """Optimiser steps per pass."""
    token_budget: int = 8192
    """Tokens of one forward-backward pass, padding included; changes memory, not the gradient."""
    phases: str = ""
    """Roles that are learnt one after the other, joined by `+`, each with optimiser steps of its
    own; roles that are not named learn together after them. Empty: all roles at once."""
    old: Literal["phase", "update"] = "phase"
    """When the behaviour is scored that a phase departs from: before the phase, which hides what
    earlier phases moved from the ratio, or once before the update."""
    frozen: str = ""
    """Roles, joined by `+`, whose turns are not learnt from. Where roles share weights, what the
    others learn moves these as well."""

    def __post_init__(self) -> None:
        for name in ("lr", "grad_norm"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"optim.{name}={getattr(self, name)} must be above 0")
        for name in ("epochs", "minibatches", "token_budget"):
            if getattr(self, name) < 1:
                raise ConfigError(f"optim.{name}={getattr(self, name)} must be at least 1")
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"optim.{name}={getattr(self, name)} must be in 0..1, 1 excluded")
        if not 0 <= self.final_lr <= 1:
            raise ConfigError(f"optim.final_lr={self.final_lr} must be between 0 and 1")
        for name in ("weight_decay", "warmup"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"optim.{name}={getattr(self, name)} must be 0 or more")
        if self.old not in ("phase", "update"):
            raise ConfigError(f"optim.old={self.old!r} must be phase or update")
        if self.schedule not in ("constant", "linear", "cosine"):
            raise ConfigError(
                f"optim.schedule={self.schedule!r} must be constant, linear or cosine"
            )


@dataclass(frozen=True, kw_only=True)
class CriticSpec:
    """Heads on the policy's last hidden state, for the credits that need values."""

    form: Literal["value", "utterance"] = "value"
    """One value per token, for `gae`; or double critics of whole replies, for `td_critic`."""
    lr: float = 1e-3
    """Learning rate of the head; the trunk is not trained by the value loss."""
    clip: float = 0.2
    """Largest change of a value that lowers its loss; of the form `value`."""
    passes: int = 20
    """Steps on every batch before the policy learns from it; of the form `utterance`."""
    gamma: float = 0.95
    """Discount per turn; of the form `utterance`."""
    tau: float = 0.1
    """Speed of the slow copies; of the form `utterance`."""

    def __post_init__(self) -> None:
        for name in ("lr", "clip"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"critic.{name}={getattr(self, name)} must be above 0")
        if self.form not in ("value", "utterance"):
            raise ConfigError(f"critic.form={self.form!r} must be value or utterance")
        if self.passes < 1 or not 0 <= self.gamma <= 1 or not 0 < self.tau <= 1:
            raise ConfigError(
                f"critic.passes={self.passes} must be at least 1, critic.gamma={self.gamma} in "
                f"0..1 and critic.tau={self.tau} in 0..1, 0 excluded"
            )


def no_magnet() -> None:
    """Pull towards nothing."""


def snapshot_magnet(*, every: int = 20) -> None:
    """Pull towards the policy of the latest multiple of `every` updates (R-NaD's outer loop)."""
    if every < 1:
        raise ConfigError(f"magnet snapshot(every={every}): every must be at least 1 update")


def ema_magnet(*, decay: float = 0.99) -> None:
    """Pull towards an exponential moving average of the policy's weights."""
    if not 0 <= decay < 1:
        raise ConfigError(f"magnet ema(decay={decay}): decay must be at least 0 and below 1")


MAGNET: Table = {"none": no_magnet, "snapshot": snapshot_magnet, "ema": ema_magnet}
"""Moving magnets: calling one checks its parameters; the pull is the loss option `magnet`."""


STATUS: Mapping[str, str] = {
    "checked": "the property that its source claims is shown by `coevo check`, see `checks`",
    "vectors": "its advantage or its loss gives the worked numbers of the source to 4 decimals",
    "composed": "made of options that are tested one by one; nothing of the source is measured",
    "inferred": "parts of the source could not be read; the header of its file says which",
}
"""How far a record is held against its source."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A value of the paper or its code, printed beside ours."""

    value: Any
    source: str
    """Where it was read."""
    why: str = ""
    """Why ours differs, where it does."""


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """One option per slot. Slots are listed in the order in which an update uses them."""

    name: str
    summary: str
    """One line for `coevo algos`."""
    paper: str
    """Author, year, identifier."""
    formula: str
    """Advantage and loss in the notation of the estimators."""
    status: str = "composed"
    """How far it is held against its source, from STATUS."""
    checks: tuple[str, ...] = ()
    """Names for `coevo check` of the checks that show its property."""
    population: Option = field(default_factory=lambda: option("shared"))
    rewards: tuple[Option, ...] = ()
    """Reward modules added to the rules' payoff, each its own component."""
    sampler: SamplerSpec = field(default_factory=SamplerSpec)
    advantage: AdvantageSpec = field(default_factory=AdvantageSpec)
    loss: LossSpec = field(default_factory=LossSpec)
    replay_loss: LossSpec | None = None
    """Loss of the passes over old plays that `sampler.replay` asks for; None takes `loss`."""
    magnet: Option = field(default_factory=lambda: option("none"))
    average: float = 0.0
    """Decay of the average of iterates that is saved and evaluated; 0 = the last iterate."""
    critic: CriticSpec | None = None
    optim: OptimSpec = field(default_factory=OptimSpec)
    optim_of: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameter set -> settings of `optim` that are its own: `optim_of.verifier_0.lr=1e-4`."""
    published: Mapping[str, Published] = field(default_factory=dict)
    """Dotted slot -> what the source used."""
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Variant name -> {dotted slot: value}, chosen with `--variant`."""

    def __post_init__(self) -> None:
        if self.status not in STATUS:
            raise unknown("status", self.status, STATUS)
        if self.status == "checked" and not self.checks:
            raise ConfigError("status='checked' and checks=() contradict each other: name a check")
        check(self.population, POPULATION, "population")
        check(self.magnet, MAGNET, "magnet")
        MAGNET[self.magnet.name](**self.magnet.params)
        for reward in self.rewards:
            check(reward, REWARDS, "reward")
        for name in self.optim_of:
            self.optim_for(name)
        self._check_conflicts()

    def optim_for(self, name: str) -> OptimSpec:
        """Give the settings by which a parameter set moves.

        Raises:
            ConfigError: one of its own settings does not fit, or is the run's.
        """
        own, where = self.optim_of.get(name, {}), f"optim_of.{name}"
        for setting in ("schedule", "final_lr", "warmup", "phases", "old", "frozen"):
            if setting in own:
                raise ConfigError(
                    f"{where}.{setting}={own[setting]}: all learning rates of a run move together; "
                    f"set optim.{setting}, and {where}.lr for the peak"
                )
        try:
            return from_plain(OptimSpec, {**vars(self.optim), **own}, where) if own else self.optim
        except ConfigError as error:
            raise ConfigError(str(error).replace("optim.", f"{where}.", 1)) from None

    def _check_conflicts(self) -> None:
        terms = {r.name: r for r in self.loss.regularise}
        if ("magnet" in terms) != (self.magnet.name != "none"):
            raise ConfigError(
                f"magnet={self.magnet.name!r} and the loss terms {sorted(terms)} contradict each "
                "other: a magnet needs the loss term 'magnet', and the term needs a magnet"
            )
        form = {"gae": "value", "td_critic": "utterance"}.get(self.advantage.credit.name)
        if form != (None if self.critic is None else self.critic.form):
            raise ConfigError(
                f"credit={self.advantage.credit.name!r} and critic={self.critic} contradict each "
                "other: gae needs a critic of the form 'value', td_critic one of the form "
                "'utterance', and nothing else uses one"
            )
        if (self.advantage.center.name == "greedy") != self.sampler.greedy:
            raise ConfigError(
                f"center={self.advantage.center.name!r} and sampler.greedy={self.sampler.greedy} "
                "contradict each other: the baseline needs the greedy plays, and nothing else does"
            )
        compared = defaults(self.advantage.center, CENTER).get("by")
        of_starts = self.advantage.center.name.startswith("group") and (
            "group" in str(compared).split("+")
        )
        if of_starts and self.sampler.group_size < 2:
            raise ConfigError(
                f"center={self.advantage.center.name!r} compares plays of one start state, but "
                f"sampler.group_size={self.sampler.group_size}; use at least 2"
            )
        if not 0 <= self.average < 1:
            raise ConfigError(f"average={self.average} must be at least 0 and below 1")

    @property
    def needs_reference(self) -> bool:
        """Whether the frozen start weights are needed, for a KL term."""
        terms = {r.name for r in self.loss.regularise}
        return self.advantage.kl_in_reward != 0 or not terms.isdisjoint(NEEDS_REFERENCE)

    @property
    def moves_reference(self) -> bool:
        """Whether the reference may become the current policy during the run."""
        return self.needs_reference and self.sampler.replay.name == "remix"
