"""The steps of a policy gradient, from the episodes to the weights and the reward modules."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field

from coevo.envs.core.config import config
from coevo.trainers import ranks
from coevo.trainers.advantage import advantages
from coevo.trainers.batch import Batch
from coevo.trainers.build import build, note_advantages
from coevo.trainers.collect.collector import Collected
from coevo.trainers.collect.metrics import rollout_metrics
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.items import Items
from coevo.trainers.learners.algorithm_settings import AlgorithmSettings
from coevo.trainers.learners.learner import Learner
from coevo.trainers.learners.settings import OptimConfig
from coevo.trainers.learners.utterance_critic import CRITICS
from coevo.trainers.loss import LossConfig
from coevo.trainers.losses import Loss, Policy
from coevo.trainers.progress import Progress
from coevo.trainers.tensors import expand_rows


@config
class Collect(Step):
    """Plays episodes as the setting `collect` says, rewards them, and counts them."""

    gives: ClassVar = ("episodes",)
    in_ranks: ClassVar = True
    name: Literal["collect"] = "collect"

    def __call__(self, ctx: UpdateContext) -> None:
        ctx.collector.replay.before_update(ctx.step, ctx.learners.values())
        played = ranks.broadcast_from_first(lambda: self._played(ctx))
        ctx.collected, ctx.metrics, ctx.progress = played

    def _played(self, ctx: UpdateContext) -> tuple[Collected, dict[str, Any], Progress]:
        began = time.monotonic()
        found = ctx.collector.collect(ctx.step, ctx.variation)
        ctx.metrics["seconds/collect"] = time.monotonic() - began
        fresh = found.episodes[: found.fresh]
        ctx.count(tokens=found.tokens, turns=sum(len(e.turns) for e in fresh))
        seats = ctx.population.seats
        ctx.metrics |= rollout_metrics(seats, fresh) | found.metrics
        for env in ctx.envs if len(ctx.envs) > 1 else ():
            own = rollout_metrics(seats, [e for e in fresh if e.env == env])
            ctx.metrics |= {f"{env}/{name}": value for name, value in own.items()}
        ctx.count_judges()
        return found, ctx.metrics, ctx.progress


@config
class BuildBatch(Step):
    """Builds the batch; runs the passes without gradient: old and reference policy, critics."""

    needs: ClassVar = ("episodes",)
    gives: ClassVar = ("batch",)
    in_ranks: ClassVar = True
    name: Literal["build_batch"] = "build_batch"

    def __call__(self, ctx: UpdateContext) -> None:
        algorithm, found = ctx.algorithm, ctx.episodes
        advantage = algorithm.advantage
        batch = build(
            found.episodes,
            found.groups,
            ctx.learners,
            found.baselines,
            steps=advantage.steps,
            others=advantage.others,
            paying={name: env.payoff_range for name, env in ctx.envs.items()},
            invalid=advantage.invalid is not None,
        )
        ctx.batch = None if batch is None else scored(algorithm, ctx.learners, batch)


@config
class ComputeAdvantages(Step):
    """Computes advantages as the setting `advantage` says, and stores them in the replay buffer."""

    moves: ClassVar = True
    needs: ClassVar = ("batch",)
    gives: ClassVar = ("advantages",)
    in_ranks: ClassVar = True
    name: Literal["compute_advantages"] = "compute_advantages"

    def __call__(self, ctx: UpdateContext) -> None:
        if ctx.batch is None:
            return
        ctx.batch, state, metrics = with_advantages(
            ctx.algorithm, ctx.learners, ctx.batch, ctx.estimator_state, rate=ctx.rate
        )
        ctx.estimator_state |= state
        ctx.items["advantages"] = ctx.batch
        ctx.log(metrics)
        note_advantages(ctx.batch, ctx.episodes_logged)
        ctx.collector.remember(ctx.episodes, ctx.batch, ctx.step)


@config
class Update(Step):
    """Takes optimiser steps on a sum of losses, one parameter set after the other."""

    moves: ClassVar = True
    in_ranks: ClassVar = True
    name: Literal["update"] = "update"
    losses: Annotated[tuple[Loss, ...], Field(min_length=1)] = (Policy(),)
    """What is minimised together; each learns from items of its kind."""
    sets: tuple[str, ...] = ()
    """Parameter sets that learn, by name or by a pattern such as `worker_*`; empty: all."""
    besides: tuple[str, ...] = ()
    """Those of them that do not; a name that nobody has counts for nothing."""

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(loss.kind for loss in self.losses))

    @property
    def needs_reference(self) -> bool:
        return any(loss.needs_reference for loss in self.losses)

    @property
    def parts(self) -> tuple[str, ...]:
        losses = () if self.losses == (Policy(),) else tuple(loss.name for loss in self.losses)
        return (*losses, *self.sets, *(f"not {name}" for name in self.besides))

    def moves_set(self, name: str) -> bool:
        """Return whether a parameter set learns in this step.

        >>> [Update(besides=("planner_*",)).moves_set(n) for n in ("planner_0", "worker_0")]
        [False, True]
        """
        named = any(fnmatch(name, pattern) for pattern in self.sets or ("*",))
        return named and not any(fnmatch(name, pattern) for pattern in self.besides)

    def __call__(self, ctx: UpdateContext) -> None:
        here = [(loss, ctx.items[loss.kind]) for loss in self.losses if loss.kind in ctx.items]
        ctx.note_signal(any(map(has_signal, (items for _, items in here))))
        metrics, state = learn(
            ctx.algorithm,
            ctx.learners,
            here,
            ctx.estimator_state,
            rate=ctx.rate,
            seed=ctx.seed + ctx.step,
            sets=[name for name in ctx.learners if self.moves_set(name)],
        )
        ctx.estimator_state |= state
        ctx.log(metrics)


@config
class ReplayUpdate(Step):
    """Takes the separate pass over old episodes that the replay buffer asks for, if it does."""

    moves: ClassVar = True
    needs: ClassVar = ("batch",)
    in_ranks: ClassVar = True
    name: Literal["replay_update"] = "replay_update"

    def __call__(self, ctx: UpdateContext) -> None:
        again = None if ctx.batch is None else ctx.collector.replay_pass(ctx.step)
        if again is None:
            return
        (batch, advantage_B, weight), algorithm = again, ctx.algorithm
        batch = scored(algorithm, ctx.learners, batch, algorithm.replay_loss)
        a_BS = expand_rows(advantage_B, batch.turn_of_BS)
        batch = replace(batch, advantage_CL=batch.cut(a_BS))
        ctx.metrics["replay/trajectories"] = float(len(advantage_B))
        ctx.note_signal(has_signal(batch))
        for name, learner in ctx.learners.items():
            own, at = batch.written_by(name)
            if len(at):
                known = ctx.estimator_state.get(f"loss/{name}", {})
                objective = learner.objective(own, algorithm.replay_loss, known, weight)
                seed = ctx.seed + ctx.step
                stats, _ = learner.update([objective], rate=ctx.rate, seed=seed)
                whose = "" if len(ctx.learners) == 1 else f"{name}/"
                ctx.metrics |= {f"replay/{whose}{k}": v for k, v in stats.items()}


@config
class FitRewards(Step):
    """Shows the fresh episodes to the reward modules that learn."""

    moves: ClassVar = True
    needs: ClassVar = ("episodes",)
    in_ranks: ClassVar = True
    name: Literal["fit_rewards"] = "fit_rewards"

    def __call__(self, ctx: UpdateContext) -> None:
        ctx.metrics |= ranks.broadcast_from_first(lambda: self._fitted(ctx))

    def _fitted(self, ctx: UpdateContext) -> dict[str, float]:
        found = ctx.episodes
        metrics: dict[str, float] = {}
        for module in ctx.collector.modules:
            seen = module.fit(found.episodes[: found.fresh])
            metrics |= {f"reward/{module.component}/{k}": v for k, v in seen.items()}
        return metrics


# ---- What the steps are made of --------------------------------------------------------------


def needs_old(
    algorithm: AlgorithmSettings,
    learners: Mapping[str, Learner],
    loss: LossConfig | None = None,
) -> bool:
    """Return whether the behaviour must be scored before the first optimiser step.

    Args:
        algorithm: whose settings count.
        learners: parameter set -> learner.
        loss: another one than the algorithm's.
    """
    loss = loss or algorithm.loss
    several_steps = any(x.optim.epochs * x.optim.minibatches > 1 for x in learners.values())
    # What a later role departs from is no longer what its own first pass gives.
    once = bool(algorithm.optim.alternate) and algorithm.optim.old == "update"
    return (
        (several_steps and loss.anchor == "old")
        or loss.is_correction is not None
        or bool(algorithm.advantage.kl_in_reward)
        or once
    )


def has_signal(items: Batch | Items) -> bool:
    """Return whether there is an advantage that is not 0, or an item, to learn from."""
    if isinstance(items, Items):
        return len(items) > 0
    return items.advantage_CL is not None and bool((items.advantage_CL * items.mask_CL).any())


def scored(
    algorithm: AlgorithmSettings,
    learners: Mapping[str, Learner],
    batch: Batch,
    loss: LossConfig | None = None,
) -> Batch:
    """Return a batch with the results of the passes without gradient, each over what it wrote.

    Args:
        algorithm: whose settings count.
        learners: parameter set -> learner.
        batch: of one update.
        loss: what it is for, if not the algorithm's.
    """
    old = needs_old(algorithm, learners, loss)
    found: dict[str, Any] = {}
    for name, learner in learners.items():
        own, at = batch.written_by(name)
        if len(at):
            for field, value_CL in learner.scores(own, old=old).items():
                whole = found.setdefault(field, value_CL.new_zeros(batch.mask_CL.shape))
                whole[at] = value_CL
    return replace(batch, **found)


def rescored(learners: Mapping[str, Learner], batch: Batch) -> Batch:
    """Return a batch with the old log-probabilities of the policies as they are now."""
    old_CL = torch.zeros(batch.mask_CL.shape)
    for name, learner in learners.items():
        own, at = batch.written_by(name)
        if len(at):
            old_CL[at] = learner.passes.logp(own).to(old_CL)
    return replace(batch, logp_old_CL=old_CL)


def with_advantages(
    algorithm: AlgorithmSettings,
    learners: Mapping[str, Learner],
    batch: Batch,
    state: Mapping[str, Any],
    *,
    rate: float,
) -> tuple[Batch, Mapping[str, Any], dict[str, float]]:
    """Return a batch with its advantages, the state for the next one, and numbers for the log.

    The batch is scored; a critic may learn first. `state` is of the components, such as running
    baselines, and `rate` a factor on the learning rates.
    """
    if algorithm.critic is not None and algorithm.critic.learns_first:
        batch = _with_critics(algorithm, learners, batch, rate)
    return advantages(algorithm.advantage, batch, state)


def _with_critics(
    algorithm: AlgorithmSettings, learners: Mapping[str, Learner], batch: Batch, rate: float
) -> Batch:
    """Let the critics of whole replies learn, and note their values of every time-step."""
    weight_K = [algorithm.advantage.reward_weights.get(c, 1.0) for c in batch.components]
    reward_BT = (batch.reward_BTK * batch.reward_BTK.new_tensor(weight_K)).sum(-1)
    q_BTC = v_BTC = reward_BT.new_zeros(*reward_BT.shape, CRITICS)
    for name, learner in learners.items():
        own, at = batch.written_by(name)
        if len(at):
            mine_B = torch.zeros(len(reward_BT), dtype=torch.bool)
            mine_B[own.trajectory_C] = True
            mask_BT = batch.turn_mask_BT & mine_B.unsqueeze(1)
            q_own, v_own = learner.fit_utterance_critic(own, reward_BT, mask_BT, rate)
            own_BT1 = mask_BT.unsqueeze(-1)
            q_BTC = torch.where(own_BT1, q_own.to(q_BTC), q_BTC)
            v_BTC = torch.where(own_BT1, v_own.to(v_BTC), v_BTC)
    return replace(batch, q_BTC=q_BTC, v_BTC=v_BTC)


def learn(
    algorithm: AlgorithmSettings,
    learners: Mapping[str, Learner],
    pairs: Sequence[tuple[Loss, Batch | Items]],
    state: Mapping[str, Any],
    *,
    rate: float,
    seed: int,
    sets: Collection[str] | None = None,
) -> tuple[dict[str, float], dict[str, Any]]:
    """Update every parameter set with what it wrote, and role after role where they alternate.

    `pairs` are losses with their items, `state` is of the losses, such as an adaptive coefficient,
    `rate` a factor on the learning rates, `seed` that of the order of mini-batches; without `sets`
    all learn. Returns metrics, and the state that the losses leave behind.
    """
    metrics: dict[str, float] = {}
    after: dict[str, Any] = {}
    again = needs_old(algorithm, learners) and algorithm.optim.old == "role"
    every = dict.fromkeys(role for _, items in pairs for role in items.roles)
    for number, (prefix, roles) in enumerate(alternating(algorithm.optim, every)):
        if number and again:
            pairs = [
                (loss, rescored(learners, items) if isinstance(items, Batch) else items)
                for loss, items in pairs
            ]
        here = [(loss, items.said_as(roles)) for loss, items in pairs]
        for name in learners if sets is None else sets:
            learner = learners[name]
            own = [(loss, items.written_by(name)[0]) for loss, items in here]
            known = after.get(f"loss/{name}", state.get(f"loss/{name}", {}))
            objectives = [learner.objective_of(x, items, known) for x, items in own if len(items)]
            if objectives:
                stats, after[f"loss/{name}"] = learner.update(objectives, rate=rate, seed=seed)
                whose = prefix + ("" if len(learners) == 1 else f"{name}/")
                metrics |= {f"{whose}{k}": v for k, v in stats.items()}
    return metrics, after


def alternating(optim: OptimConfig, roles: Collection[str]) -> list[tuple[str, Collection[str]]]:
    """Return which roles are learnt from together, in order; frozen ones are left out.

    Before them stands the prefix of the metrics, empty where all learn at once.
    """
    frozen = set(optim.frozen)
    named = [r for r in optim.alternate if r not in frozen]
    rest = [r for r in roles if r not in named and r not in frozen]
    alone = [(f"{role}/", [role]) for role in named]
    return [*alone, ("", rest)] if rest or not named else [*alone]
