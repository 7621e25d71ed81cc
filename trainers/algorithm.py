"""An algorithm is a configuration: one component for every choice, and what its paper used.

Nothing in the training loop knows an algorithm's name, nor that of a component: what a component
needs it declares itself, where it is defined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, Any, Literal, NamedTuple

from coevo.agents.population import PopulationConfig, Shared
from coevo.envs.core.config import assign, config, plain, read, real, setting
from coevo.envs.core.errors import ConfigError
from coevo.envs.rewards import RewardModules
from coevo.trainers.advantage import AdvantageConfig
from coevo.trainers.collect.collect_config import CollectConfig
from coevo.trainers.cycle import check
from coevo.trainers.judges.roles import JudgeRole, no_set
from coevo.trainers.learners.settings import Critic, Magnet, OptimConfig
from coevo.trainers.loss import LossConfig
from coevo.trainers.samplers.replay import Replay
from coevo.trainers.schedules import Schedule, Steps
from coevo.trainers.steps import GIVERS, POLICY_GRADIENT, AnyStep

Status = Literal["model", "table", "toy", "scripted", "formula", "vectors", "composed", "inferred"]

STATUS: Mapping[Status, str] = {
    "model": "`coevo reproduce` shows the source's property on a language model, trained by the "
    "shipped loop in a listed environment",
    "table": "`coevo reproduce` shows the source's property on tabular policies, trained by the "
    "shipped loop in a listed environment",
    "toy": "`coevo reproduce` shows the source's property on small policies, trained by the "
    "shipped loop in a world that only the claim registers",
    "scripted": "`coevo reproduce` shows the source's property with scripts for models in a listed "
    "environment; nothing is learnt",
    "formula": "`coevo reproduce` shows the source's property on given numbers; nothing plays",
    "vectors": "its advantage or its loss gives the worked numbers of the source to 4 decimals",
    "composed": "made of components that are tested one by one; nothing of the source is measured",
    "inferred": "parts of the source could not be read; the header of its file says which",
}
"""How far an algorithm is held against its source."""
SHOWN = ("model", "table", "toy", "scripted", "formula")
"""Those that `coevo reproduce` shows, the best first."""


class Published(NamedTuple):
    """A value of the paper or its code, printed beside ours."""

    value: Any
    source: str
    """Where it was read."""
    why: str = ""
    """Why ours differs, where it does."""


SMALL = "a one-million-parameter model is trained from a weak start, not a large one fine-tuned"
CHEAP = "plays are short and cheap here, and small games have few starts"
"""Why ours differ, where many records have the same reason."""


SHARES = (
    "each mini-batch divides by an equal share of the update's tokens and rows, verl's by its own; "
    "under token_mean, with lengths of 1 to 200 tokens, step sizes differ by 7 % (one standard "
    "deviation)"
)
"""What holds for every record with several mini-batches."""


SCHEDULED = ("cycle", "collect", "advantage", "loss", "replay_loss", "magnet", "critic", "optim")
"""Parts of an algorithm whose numbers may move during a run."""
FIXED = (
    "collect.tasks",
    "collect.staleness",
    "collect.low",
    "collect.high",
    "collect.replay.baseline",
    "optim.token_budget",
    "optim.beta1",
    "optim.beta2",
    "optim.weight_decay",
)
"""Numbers in them that may not."""
COUNTED = ("collect.episodes", "collect.group_size")
"""Numbers of which one is a multiple of the other."""


def _like(own: float, value: float) -> float:
    """Return a value of a schedule: whole where the setting is."""
    return round(value) if isinstance(own, int) else value


@config
class Algorithm:
    """One component for every choice, listed in the order in which an update uses them."""

    name: str
    summary: str
    """One line for `coevo algos`."""
    paper: str
    """Author, year, identifier."""
    formula: str
    r"""Advantage and loss in LaTeX; a command that LaTeX lacks, such as `\mean`, is a word, and
    `\\` begins a new line."""
    status: Status = "composed"
    """How far it is held against its source, from STATUS."""
    shows: str = ""
    """What its reproductions show, where that is narrower than what its source claims."""
    reproductions: tuple[str, ...] = ()
    """Names for `coevo reproduce` of the reproductions that show its property."""
    usage: str = "--env coevo/kuhn_poker-v0"
    """What `coevo train NAME` is given, beside a limit, so that it has what it learns from;
    words in capitals are for the user to replace."""
    cycle: tuple[AnyStep, ...] = POLICY_GRADIENT
    """What one update does, step by step."""
    population: PopulationConfig = field(default_factory=Shared)
    """Which seats share parameters, and which agents play each other."""
    rewards: RewardModules = ()
    """Reward modules added to the rules' payoff, each its own component."""
    judges: Mapping[str, JudgeRole] = field(default_factory=dict)
    """Role that reward modules or steps ask -> the parameter set that answers for it."""
    collect: CollectConfig = field(default_factory=CollectConfig)
    advantage: AdvantageConfig = field(default_factory=AdvantageConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    replay_loss: LossConfig | None = None
    """Loss of the passes over old episodes that `collect.replay` asks for; None takes `loss`."""
    reference: str | None = None
    """Model that divergences are measured from, such as a teacher: a folder, `starter` or a Hub id
    with the tokens of the policies; None takes what each parameter set starts from."""
    magnet: Magnet | None = None
    """Moving reference that the policy is pulled to."""
    ema: Annotated[float, real(0, below=1)] = 0.0
    """Decay of the ema weights that are saved and evaluated; 0 = the last iterate."""
    critic: Critic | None = None
    """What values the credit reads."""
    optim: OptimConfig = field(default_factory=OptimConfig)
    optim_of: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameter set -> settings of `optim` that are its own: `optim_of.verifier_0.lr=1e-4`."""
    schedules: Mapping[str, Schedule] = field(default_factory=dict)
    """Dotted setting, a number -> how it moves during the run, away from its own value."""
    published: Mapping[str, Published] = field(default_factory=dict)
    """Dotted setting -> what the source used."""
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Variant name -> {dotted setting: value or tree}, chosen with `--variant`."""

    def __post_init__(self) -> None:
        if self.status in SHOWN and not self.reproductions:
            raise ConfigError(
                f"status={self.status!r} and reproductions=() contradict each other: name a "
                "reproduction"
            )
        check(self.cycle, GIVERS)
        for name in self.optim_of:
            self.optim_for(name)
        for module in self.rewards:
            for role in module.roles_asked:
                if role not in self.judges:
                    raise no_set(module.component, role, self.judges)
        self._check_step_roles()
        self._check_schedules()
        object.__setattr__(self, "variants", plain(self.variants))
        for conflict in self._conflicts():
            raise ConfigError(conflict)

    def _check_step_roles(self) -> None:
        """Refuse a step whose role has no parameter set, or whose reward head no module reads."""
        heads = {self.judges[r].policy for m in self.rewards for r in m.heads_asked}
        for step in self.cycle:
            for role in step.roles_asked:
                if role not in self.judges:
                    raise no_set(str(step), role, self.judges)
            for role in step.heads_asked:
                if self.judges[role].policy not in heads:
                    raise ConfigError(
                        f"cycle: {step} fits the reward head of {role!r}, which no reward module "
                        f"reads; add {{name: reward_model, role: {role}}} to rewards"
                    )

    def _check_schedules(self) -> None:
        """Refuse schedules of what is no number, or is read when the run starts and never again."""
        for path, schedule in self.schedules.items():
            own, first = setting(self, path), path.split(".")[0]
            if isinstance(own, bool) or not isinstance(own, int | float):
                raise ConfigError(f"schedules: {path}={own!r} is no number, and cannot move")
            if first not in SCHEDULED or path in FIXED:
                raise ConfigError(
                    f"schedules: {path} is read when a run starts, and cannot move; settings of "
                    f"{', '.join(SCHEDULED)} can, but for {', '.join(FIXED)}"
                )
            if path in COUNTED and not isinstance(schedule, Steps):
                raise ConfigError(
                    f"schedules: {path} must fit into groups at every update, and {schedule.name} "
                    "passes numbers that do not; name its values with steps"
                )
            for value in schedule.ends:
                assign(self, {"schedules": {}, path: _like(own, value)})

    def after(self, step: int, done: float) -> Algorithm:
        """Return the algorithm as its schedules have it after so many updates.

        Args:
            step: updates done.
            done: share of the run that is done, 0 to 1.
        """
        moved = {
            path: _like(own, schedule(own, step, done))
            for path, schedule in self.schedules.items()
            for own in (setting(self, path),)
        }
        return assign(self, {**moved, "schedules": {}}) if moved else self

    def optim_for(self, name: str) -> OptimConfig:
        """Return the settings by which a parameter set moves.

        Raises:
            ConfigError: one of its own settings does not fit, or is the run's.
        """
        own, where = self.optim_of.get(name, {}), f"optim_of.{name}"
        for fixed in OptimConfig.RUN_WIDE:
            if fixed in own:
                raise ConfigError(
                    f"{where}.{fixed}={own[fixed]}: all learning rates of a run move together; "
                    f"set optim.{fixed}, and {where}.lr for the peak"
                )
        return read(OptimConfig, {**plain(self.optim), **own}, where)

    def _conflicts(self) -> Iterator[str]:
        credit, baseline, terms = (
            self.advantage.credit,
            self.advantage.baseline,
            self.loss.regularise,
        )
        pulls = any(t.compares == "magnet" for t in terms)
        if (pulls or any(step.reads_magnet for step in self.cycle)) != (self.magnet is not None):
            yield (
                f"magnet={self.magnet} and the loss terms {[t.name for t in terms]} contradict "
                "each other: a magnet needs the loss term 'magnet_kl' or the step 'fit_values', "
                "and these need a magnet"
            )
        if self.reference is not None and not self.needs_reference:
            yield (
                f"reference={self.reference!r}, but nothing compares with it: add the loss term "
                "'reference_kl' or 'kl', or set advantage.kl_in_reward"
            )
        if self.reference is not None and self.moves_reference:
            yield (
                f"reference={self.reference!r} and a step that moves the reference contradict each "
                "other: leave update_reference out, or reference"
            )
        if credit.reads != (None if self.critic is None else self.critic.gives):
            yield (
                f"advantage.credit={credit.name!r} and critic={self.critic} contradict each other: "
                "gae needs critic=value_critic, td_critic critic=utterance_critic, others none"
            )
        written = {mark for step in self.cycle for mark in step.marks}
        for part in (credit, *self.advantage.transform):
            if part.reads_mark and part.reads_mark not in written:
                yield (
                    f"advantage: {part.name!r} reads the mark {part.reads_mark!r}, which no step "
                    f"writes; put {{name: mark_turns, mark: {part.reads_mark}}} before build_batch"
                )
        if self.needs_greedy and self.collect.replay is not None:
            yield (
                f"advantage.baseline={baseline.name!r} and collect.replay="
                f"{self.collect.replay.name!r} contradict each other: episodes of earlier updates "
                "have no greedy episode of today beside them"
            )
        if self._speaks_inside and self._rescores:
            yield (
                "inner_policy takes one step on what was just played, and optim.epochs="
                f"{self.optim.epochs}, optim.minibatches={self.optim.minibatches}, "
                f"loss.is_correction and advantage.kl_in_reward={self.advantage.kl_in_reward:g} "
                "compare with the whole policy: set epochs and minibatches to 1, and leave the "
                "others out"
            )
        if self.collect.staleness:
            yield from self._ahead_conflicts()
        if self.collect.replay is not None:
            yield from self._replay_conflicts(self.collect.replay)
        compares = any("advantages" in step.gives for step in self.cycle)
        if compares and baseline.compares_episodes and self.collect.group_size < 2:
            yield (
                f"advantage.baseline={baseline.name!r} compares episodes of one task, but "
                f"collect.group_size={self.collect.group_size}; use at least 2"
            )

    def _ahead_conflicts(self) -> Iterator[str]:
        given = f"collect.staleness={self.collect.staleness}"
        for step in self.cycle:
            if step.varies_episodes:
                yield (
                    f"{given} and cycle step {step} contradict each other: it changes what is "
                    "played in its own update, and that was played before"
                )
        if self._learns_advantages:
            yield from _uncorrected(given, "loss", self.loss)

    def _replay_conflicts(self, replay: Replay) -> Iterator[str]:
        given = f"collect.replay={replay.name!r}"
        if not replay.mixes:
            own = self.replay_loss
            yield from _uncorrected(given, "replay_loss" if own else "loss", own or self.loss)
        elif self._learns_advantages:
            yield from _uncorrected(given, "loss", self.loss)

    @property
    def _speaks_inside(self) -> bool:
        losses = (loss for step in self.cycle for loss in getattr(step, "losses", ()))
        return any(loss.inner is not None for loss in losses)

    @property
    def _rescores(self) -> bool:
        """Whether tokens are also scored by the whole policy before it moves."""
        several = self.optim.epochs * self.optim.minibatches > 1
        compared = bool(self.advantage.kl_in_reward) or self.loss.is_correction is not None
        return several or compared or self.loss.needs_batch_statistics

    @property
    def _learns_advantages(self) -> bool:
        return any("advantages" in step.needs for step in self.cycle)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What its settings do otherwise than other libraries, each as a sentence."""
        return (SHARES,) if self.optim.minibatches > 1 else ()

    @property
    def needs_greedy(self) -> bool:
        """Whether every task is also played greedily once."""
        return self.advantage.baseline.needs_greedy

    @property
    def needs_reference(self) -> bool:
        """Whether the frozen start weights are needed, for a KL term."""
        in_loss = any(t.needs_reference for t in self.loss.regularise)
        in_cycle = any(step.needs_reference for step in self.cycle)
        return self.advantage.kl_in_reward != 0 or in_loss or in_cycle

    @property
    def moves_reference(self) -> bool:
        """Whether the reference may become the current policy during the run."""
        replay = self.collect.replay
        by_replay = replay is not None and replay.moves_reference
        by_step = any(step.moves_reference for step in self.cycle)
        return self.needs_reference and (by_replay or by_step)


def _uncorrected(given: str, name: str, loss: LossConfig) -> Iterator[str]:
    """Refuse to learn from episodes of older weights as if they were of today's."""
    if not loss.corrects:
        yield (
            f"{given} and {name}.anchor={loss.anchor!r} contradict each other: the ratio would not "
            f"see that older weights have played; add {name}.is_correction=token_tis, or set "
            f"{name}.anchor=behaviour"
        )
