"""From a batch to moved weights: passes before, credit, targets, one update per parameter set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from coevo.trainers.algorithm import Algorithm, OptimSpec
from coevo.trainers.estimators import (
    Advantages,
    Trajectories,
    advantages,
    expand_rows,
    option,
)
from coevo.trainers.estimators.adaptive import influence
from coevo.trainers.learner import Learner, Targets
from coevo.trainers.rows import Batch, Rows
from coevo.trainers.utterance_critic import CRITICS


@dataclass(frozen=True)
class Learnt:
    """What an update leaves behind."""

    advantage_BS: Tensor
    metrics: dict[str, float]
    state: dict[str, Any]
    """Of the estimators, for the next update."""


@dataclass(frozen=True)
class Again:
    """Plays of earlier updates that are learnt from once more."""

    batch: Batch
    advantage_B: Tensor
    """Advantage of each trajectory, computed anew."""


def learn_batch(
    algorithm: Algorithm,
    learners: Mapping[str, Learner],
    batch: Batch,
    state: Mapping[str, Any],
    *,
    rate: float,
    seed: int,
) -> Learnt:
    """Credit, normalise, and update every parameter set with its own rows.

    Args:
        algorithm: the record.
        learners: parameter set -> learner.
        batch: trajectories and rows of one update.
        state: of the estimators, such as running baselines.
        rate: factor on the learning rates.
        seed: of the order of mini-batches.

    """
    before = _passes(algorithm, learners, batch)
    trajectories = replace(batch.trajectories, **before.streams)
    if algorithm.critic is not None and algorithm.critic.form == "utterance":
        trajectories = _judged(algorithm, learners, replace(batch, trajectories=trajectories), rate)
    credited = advantages(algorithm.advantage, trajectories, dict(state))
    metrics, after = dict(credited.stats), dict(credited.state)
    if algorithm.advantage.compose.name == "gradient_weights":
        after |= _influences(algorithm, learners, batch, trajectories, before)
    for number, (phase, here_C) in enumerate(phases(algorithm.optim, batch)):
        if number and before.old_CL is not None and algorithm.optim.old == "phase":
            before.old_CL = _behaviour(learners, batch)
        for name, learner in learners.items():
            _, at = batch.rows.written_by(name)
            at = at[here_C[at]]
            if len(at):
                rows, targets = batch.rows.chosen(at), _targets(batch.rows, credited, before, at)
                prefix = phase + ("" if len(learners) == 1 else f"{name}/")
                known = after.get(f"loss/{name}", state.get(f"loss/{name}", {}))
                learner.loss_state = dict(known)
                stats = learner.update(rows, targets, rate=rate, seed=seed)
                after[f"loss/{name}"] = learner.loss_state
                metrics |= {f"{prefix}{k}": v for k, v in stats.items()}
    return Learnt(credited.advantage_BS, metrics, after)


def phases(optim: OptimSpec, batch: Batch) -> list[tuple[str, Tensor]]:
    """Cut the rows of a batch into those that learn together, in order.

    What follows a slash in a role tells apart what must not be compared; it is one role here.

    Returns:
        Prefix of the metrics, empty where all learn at once, and a mask over rows, [C].
    """
    role_B = [turns[0].role.partition("/")[0] for turns in batch.turns_B]
    role_C = [role_B[b] for b in batch.rows.trajectory_C.tolist()]
    asleep = set(optim.frozen.split("+"))
    named = [r for r in optim.phases.split("+") if r and r not in asleep]

    def rows_of(among: Callable[[str], bool]) -> Tensor:
        return torch.tensor([r not in asleep and among(r) for r in role_C], dtype=torch.bool)

    parts = [(f"{name}/", rows_of(name.__eq__)) for name in named]
    rest_C = rows_of(lambda role: role not in named)
    return [*parts, ("", rest_C)] if not named or rest_C.any() else parts


def _behaviour(learners: Mapping[str, Learner], batch: Batch) -> Tensor | None:
    """Score all rows with the policies as they are now."""
    old_CL = None
    for name, learner in learners.items():
        rows, at = batch.rows.written_by(name)
        if len(at):
            old_CL = _filled(old_CL, batch.rows, at, learner.logp(rows))
    return old_CL


def _influences(
    algorithm: Algorithm,
    learners: Mapping[str, Learner],
    batch: Batch,
    trajectories: Trajectories,
    before: _Before,
) -> dict[str, float]:
    """Measure how far each reward component's gradient helps them all: one pass per component."""
    total = torch.zeros(len(trajectories.components))
    for name, learner in learners.items():
        rows, at = batch.rows.written_by(name)
        gradients = []
        for component in trajectories.components if len(at) else ():
            weights = {c: float(c == component) for c in trajectories.components}
            alone = replace(algorithm.advantage, compose=option("sum"), reward_weights=weights)
            credited = advantages(alone, trajectories, {})
            gradients.append(learner.gradient(rows, _targets(batch.rows, credited, before, at)))
        if gradients:
            total = total + influence(gradients).to(total)
    names = trajectories.components
    return {f"gradient_weights/s/{c}": s for c, s in zip(names, total.tolist(), strict=True)}


def learn_again(
    algorithm: Algorithm, learners: Mapping[str, Learner], again: Again, *, rate: float, seed: int
) -> dict[str, float]:
    """Learn from plays of earlier updates, with the record's `replay_loss`.

    Args:
        algorithm: the record.
        learners: parameter set -> learner.
        again: the plays.
        rate: factor on the learning rates.
        seed: of the order of mini-batches.

    Returns:
        Metrics, named `replay/...`.
    """
    before = _passes(algorithm, learners, again.batch)
    a_BS = expand_rows(again.advantage_B, again.batch.trajectories.turn_of_BS)
    credited = Advantages(a_BS, None, {}, {})
    metrics: dict[str, float] = {"replay/plays": float(len(again.advantage_B))}
    for name, learner in learners.items():
        rows, at = again.batch.rows.written_by(name)
        if len(at):
            targets = _targets(again.batch.rows, credited, before, at)
            stats = learner.update(rows, targets, rate=rate, seed=seed, loss=algorithm.replay_loss)
            prefix = "" if len(learners) == 1 else f"{name}/"
            metrics |= {f"replay/{prefix}{k}": v for k, v in stats.items()}
    return metrics


@dataclass
class _Before:
    """What passes without gradient gave before the first optimiser step, [C, L] and [B, S]."""

    old_CL: Tensor | None = None
    ref_CL: Tensor | None = None
    value_CL: Tensor | None = None
    streams: dict[str, Any] = field(default_factory=dict)


def _passes(algorithm: Algorithm, learners: Mapping[str, Learner], batch: Batch) -> _Before:
    """Run the passes that the record needs: behaviour, reference, critic."""
    several_steps = any(x.optim.epochs * x.optim.minibatches > 1 for x in learners.values())
    several_steps &= algorithm.loss.anchor == "old"
    needs_old = (
        several_steps or algorithm.loss.correct.name != "none" or algorithm.advantage.kl_in_reward
    )
    # What a later phase departs from is no longer what its own first pass gives.
    frozen_at_start = bool(algorithm.optim.phases) and algorithm.optim.old == "update"
    needs_old = needs_old or frozen_at_start
    before = _Before()
    for name, learner in learners.items():
        rows, at = batch.rows.written_by(name)
        if not len(at):
            continue
        if needs_old:
            before.old_CL = _filled(before.old_CL, batch.rows, at, learner.logp(rows))
        if learner.reference is not None:
            before.ref_CL = _filled(
                before.ref_CL, batch.rows, at, learner.logp(rows, learner.reference)
            )
        if isinstance(learner.head, nn.Linear):
            before.value_CL = _filled(before.value_CL, batch.rows, at, learner.values(rows))
    like_BS = batch.trajectories.turn_of_BS
    found = {
        "logp_old_BS": batch.rows.logp_roll_CL if before.old_CL is None else before.old_CL,
        "logp_ref_BS": before.ref_CL,
        "value_BS": before.value_CL,
    }
    given = {k: v for k, v in found.items() if v is not None}
    before.streams = {k: batch.rows.to_stream(v, like_BS) for k, v in given.items()}
    return before


def _judged(
    algorithm: Algorithm, learners: Mapping[str, Learner], batch: Batch, rate: float
) -> Trajectories:
    """Let the utterance critics learn, and note what they say of every turn."""
    found = batch.trajectories
    weight_K = [algorithm.advantage.reward_weights.get(c, 1.0) for c in found.components]
    reward_BT = (found.reward_BTK * found.reward_BTK.new_tensor(weight_K)).sum(-1)
    q_BTC = v_BTC = reward_BT.new_zeros(*reward_BT.shape, CRITICS)
    for name, learner in learners.items():
        rows, at = batch.rows.written_by(name)
        if len(at):
            mine_B = torch.zeros(len(reward_BT), dtype=torch.bool)
            mine_B[rows.trajectory_C] = True
            mask_BT = found.turn_mask_BT & mine_B.unsqueeze(1)
            q_own, v_own, _ = learner.judged(rows, reward_BT, mask_BT, rate)
            own_BT1 = mask_BT.unsqueeze(-1)
            q_BTC = torch.where(own_BT1, q_own.to(q_BTC), q_BTC)
            v_BTC = torch.where(own_BT1, v_own.to(v_BTC), v_BTC)
    return replace(found, q_BTC=q_BTC, v_BTC=v_BTC)


def _filled(whole: Tensor | None, rows: Rows, at: Tensor, part: Tensor) -> Tensor:
    whole = torch.zeros(rows.mask_CL.shape) if whole is None else whole
    whole[at] = part
    return whole


def _targets(rows: Rows, credited: Advantages, before: _Before, at: Tensor) -> Targets:
    def picked(stream_BS: Tensor | None) -> Tensor | None:
        return None if stream_BS is None else rows.from_stream(stream_BS)[at]

    def kept(whole_CL: Tensor | None) -> Tensor | None:
        return None if whole_CL is None else whole_CL[at]

    advantage_CL = rows.from_stream(credited.advantage_BS)[at]
    return Targets(
        advantage_CL=advantage_CL,
        logp_old_CL=kept(before.old_CL),
        logp_ref_CL=kept(before.ref_CL),
        value_old_CL=kept(before.value_CL),
        return_CL=picked(credited.return_BS),
        return_mask_CL=picked(credited.return_mask_BS),
    )
