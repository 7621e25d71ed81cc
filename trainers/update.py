"""One update, in order: what becomes of a payoff between the environment and the weights.

1. Collect: `collect.collector` plays episodes; every turn holds the rewards of all modules.
2. Trajectories: `items.trajectories` adds up what fell due to a seat until its next turn, [B, T, K];
   `items.sequences` keeps the sampled tokens, [C, L], one slice of a trajectory each.
3. Passes without gradient: old and reference log-probabilities, values of the critics.
4. Advantages: `estimators.advantages` composes, credits, compares, [B, S]; cut into sequences, [C, L].
5. Optimiser steps: `learners.learner` takes them on `learners.objective`, one parameter set after
   the other, and role after role where they alternate.
6. A pass over old episodes, where the replay buffer asks for one.
7. What follows: reward modules, magnets, ema weights, snapshots.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from coevo.envs.core.episode import Episode
from coevo.trainers.algorithm import Algorithm, OptimConfig
from coevo.trainers.collect.collector import Collected
from coevo.trainers.collect.metrics import rollout_metrics
from coevo.trainers.estimators import Advantages, Trajectories, WeightedSum, advantages, expand_rows
from coevo.trainers.estimators.adaptive import influence
from coevo.trainers.items.sequences import Batch, Sequences, build, note_advantages
from coevo.trainers.learners.learner import Learner, schedule
from coevo.trainers.learners.utterance_critic import CRITICS
from coevo.trainers.run import Run


def update(run: Run) -> tuple[dict[str, Any], list[Episode]]:
    """Do one update; return its metrics and its fresh episodes."""
    began, step = time.monotonic(), run.progress.step
    if run.collector.replay.reincarnates(step):
        for learner in run.learners.values():
            learner.move_reference()
    collected = run.collector.collect(step)
    played = time.monotonic()
    episodes, tokens = collected.episodes[: collected.fresh], collected.tokens
    run.progress = run.progress.plus(tokens=tokens, turns=sum(len(e.turns) for e in episodes))
    metrics: dict[str, Any] = rollout_metrics(run.env.possible_agents, episodes)
    metrics |= collected.metrics | learn(run, collected)
    for module in run.collector.modules:
        metrics |= {f"reward/{module.component}/{k}": v for k, v in module.fit(episodes).items()}
    for name, learner in run.learners.items():
        learner.after_update(step + 1)
        run.population.learners[name].version = step + 1
    run.population.after_update(step + 1)
    run.moving = False
    seconds = time.monotonic() - began
    metrics |= {
        "tokens": tokens,
        "tokens_per_second": tokens / seconds,
        "seconds": seconds,
        "seconds/play": played - began,
    }
    return metrics, episodes


def learn(run: Run, collected: Collected) -> dict[str, float]:
    """Let every parameter set learn from the episodes of an update; return metrics."""
    config, step = run.config, run.progress.step
    spec = config.algorithm.advantage
    batch = build(
        collected.episodes,
        collected.groups,
        run.learners,
        collected.baselines,
        steps=spec.steps,
        others=spec.others,
    )
    if batch is None:
        return {}
    run.moving = True
    rate = schedule(config.algorithm.optim, step, run.progress.share(config))
    seed, state = config.seed + step, run.estimator_state
    learnt = learn_batch(config.algorithm, run.learners, batch, state, rate=rate, seed=seed)
    run.estimator_state = learnt.state
    note_advantages(batch, learnt.advantage_BS, config.episodes_logged)
    run.collector.remember(collected, batch, learnt.advantage_BS, step)
    again = run.collector.replay_pass(step)
    if again is None:
        return learnt.metrics
    return learnt.metrics | learn_again(
        config.algorithm, run.learners, *again, state=learnt.state, rate=rate, seed=seed
    )


@dataclass(frozen=True)
class Learnt:
    """What learning from a batch leaves behind."""

    advantage_BS: Tensor
    metrics: dict[str, float]
    state: dict[str, Any]
    """Of the estimators and losses, for the next update."""


def learn_batch(
    algorithm: Algorithm,
    learners: Mapping[str, Learner],
    batch: Batch,
    state: Mapping[str, Any],
    *,
    rate: float,
    seed: int,
) -> Learnt:
    """Compute advantages, and update every parameter set with its own sequences.

    Args:
        algorithm: whose settings count.
        learners: parameter set -> learner.
        batch: trajectories and sequences of one update.
        state: of the estimators and losses, such as running baselines.
        rate: factor on the learning rates.
        seed: of the order of mini-batches.

    """
    old = _needs_old(algorithm, learners)
    sequences = score(learners, batch.sequences, old=old)
    trajectories = _with_scores(batch.trajectories, sequences)
    if algorithm.advantage.credit.reads == "q_BTC":
        trajectories = _judged(algorithm, learners, trajectories, sequences, rate)
    credited = advantages(algorithm.advantage, trajectories, dict(state))
    metrics, after = dict(credited.stats), dict(credited.state)
    if algorithm.advantage.compose.needs_influence:
        after |= _influences(algorithm, learners, trajectories, sequences)
    sequences = with_advantages(sequences, credited)
    for number, (prefix, roles) in enumerate(alternating(algorithm.optim, sequences.roles)):
        if number and old and algorithm.optim.old == "role":
            sequences = rescore(learners, sequences)
        here = sequences.said_as(roles)
        for name, learner in learners.items():
            own, at = here.written_by(name)
            if len(at):
                known = after.get(f"loss/{name}", state.get(f"loss/{name}", {}))
                stats, after[f"loss/{name}"] = learner.update(
                    own, rate=rate, seed=seed, state=known
                )
                whose = prefix + ("" if len(learners) == 1 else f"{name}/")
                metrics |= {f"{whose}{k}": v for k, v in stats.items()}
    return Learnt(credited.advantage_BS, metrics, after)


def learn_again(
    algorithm: Algorithm,
    learners: Mapping[str, Learner],
    batch: Batch,
    advantage_B: Tensor,
    weight: float,
    *,
    state: Mapping[str, Any],
    rate: float,
    seed: int,
) -> dict[str, float]:
    """Learn from episodes of earlier updates, with the algorithm's `replay_loss`.

    Args:
        algorithm: whose settings count.
        learners: parameter set -> learner.
        batch: the old episodes.
        advantage_B: of every trajectory, computed anew.
        weight: factor on the loss; gates see the advantages as they are.
        state: of the losses.
        rate: factor on the learning rates.
        seed: of the order of mini-batches.

    Returns:
        Metrics, named `replay/...`.
    """
    sequences = score(learners, batch.sequences, old=_needs_old(algorithm, learners))
    a_BS = expand_rows(advantage_B, batch.trajectories.turn_of_BS)
    sequences = with_advantages(sequences, Advantages(a_BS, None, {}, {}))
    metrics: dict[str, float] = {"replay/plays": float(len(advantage_B))}
    for name, learner in learners.items():
        own, at = sequences.written_by(name)
        if len(at):
            known = state.get(f"loss/{name}", {})
            stats, _ = learner.update(
                own,
                rate=rate,
                seed=seed,
                state=known,
                loss=algorithm.replay_loss,
                weight=weight,
            )
            whose = "" if len(learners) == 1 else f"{name}/"
            metrics |= {f"replay/{whose}{k}": v for k, v in stats.items()}
    return metrics


# ---- Passes before the first step --------------------------------------------------------------


def _needs_old(algorithm: Algorithm, learners: Mapping[str, Learner]) -> bool:
    """Return whether the behaviour must be scored before the first optimiser step."""
    several_steps = any(x.optim.epochs * x.optim.minibatches > 1 for x in learners.values())
    # What a later role departs from is no longer what its own first pass gives.
    once = bool(algorithm.optim.alternate) and algorithm.optim.old == "update"
    return (
        (several_steps and algorithm.loss.anchor == "old")
        or algorithm.loss.is_correction is not None
        or bool(algorithm.advantage.kl_in_reward)
        or once
    )


def score(learners: Mapping[str, Learner], sequences: Sequences, *, old: bool) -> Sequences:
    """Run the passes without gradient that the learners need, each over what it wrote."""
    found: dict[str, Any] = {}
    for name, learner in learners.items():
        own, at = sequences.written_by(name)
        if len(at):
            for field, value_CL in learner.scores(own, old=old).items():
                found.setdefault(field, torch.zeros(sequences.mask_CL.shape))[at] = value_CL
    return replace(sequences, **found)


def rescore(learners: Mapping[str, Learner], sequences: Sequences) -> Sequences:
    """Score the behaviour with the policies as they are now."""
    old_CL = torch.zeros(sequences.mask_CL.shape)
    for name, learner in learners.items():
        own, at = sequences.written_by(name)
        if len(at):
            old_CL[at] = learner.passes.logp(own)
    return replace(sequences, logp_old_CL=old_CL)


def _with_scores(trajectories: Trajectories, sequences: Sequences) -> Trajectories:
    old_CL = sequences.logp_old_CL
    found = {
        "logp_old_BS": sequences.logp_roll_CL if old_CL is None else old_CL,
        "logp_ref_BS": sequences.logp_ref_CL,
        "value_BS": sequences.value_CL,
    }
    like_BS = trajectories.turn_of_BS
    given = {k: sequences.joined(v, like_BS) for k, v in found.items() if v is not None}
    return replace(trajectories, **given)  # type: ignore[arg-type]  # mypy sees one type for all


def with_advantages(sequences: Sequences, credited: Advantages) -> Sequences:
    """Return the sequences with what they learn from."""

    def cut(value_BS: Tensor | None) -> Tensor | None:
        return None if value_BS is None else sequences.cut(value_BS)

    return replace(
        sequences,
        advantage_CL=cut(credited.advantage_BS),
        return_CL=cut(credited.return_BS),
        return_mask_CL=cut(credited.return_mask_BS),
    )


# ---- What single options ask for ---------------------------------------------------------------


def alternating(optim: OptimConfig, roles: Collection[str]) -> list[tuple[str, Collection[str]]]:
    """Return which roles are learnt from together, in order; frozen ones are left out.

    Returns:
        Prefix of the metrics, empty where all learn at once, and the roles.
    """
    frozen = set(optim.frozen)
    named = [r for r in optim.alternate if r not in frozen]
    rest = [r for r in roles if r not in named and r not in frozen]
    alone = [(f"{role}/", [role]) for role in named]
    return [*alone, ("", rest)] if rest or not named else [*alone]


def _judged(
    algorithm: Algorithm,
    learners: Mapping[str, Learner],
    found: Trajectories,
    sequences: Sequences,
    rate: float,
) -> Trajectories:
    """Let the utterance critics learn, and note what they say of every turn."""
    weight_K = [algorithm.advantage.reward_weights.get(c, 1.0) for c in found.components]
    reward_BT = (found.reward_BTK * found.reward_BTK.new_tensor(weight_K)).sum(-1)
    q_BTC = v_BTC = reward_BT.new_zeros(*reward_BT.shape, CRITICS)
    for name, learner in learners.items():
        own, at = sequences.written_by(name)
        if len(at):
            mine_B = torch.zeros(len(reward_BT), dtype=torch.bool)
            mine_B[own.trajectory_C] = True
            mask_BT = found.turn_mask_BT & mine_B.unsqueeze(1)
            q_own, v_own = learner.fit_utterance_critic(own, reward_BT, mask_BT, rate)
            own_BT1 = mask_BT.unsqueeze(-1)
            q_BTC = torch.where(own_BT1, q_own.to(q_BTC), q_BTC)
            v_BTC = torch.where(own_BT1, v_own.to(v_BTC), v_BTC)
    return replace(found, q_BTC=q_BTC, v_BTC=v_BTC)


def _influences(
    algorithm: Algorithm,
    learners: Mapping[str, Learner],
    trajectories: Trajectories,
    sequences: Sequences,
) -> dict[str, float]:
    """Measure how far each reward component's gradient helps them all: one pass per component."""
    names = trajectories.components
    total = torch.zeros(len(names))
    for name, learner in learners.items():
        _, at = sequences.written_by(name)
        gradients = []
        for component in names if len(at) else ():
            weights = {c: float(c == component) for c in names}
            alone = replace(algorithm.advantage, compose=WeightedSum(), reward_weights=weights)
            credited = advantages(alone, trajectories, {})
            gradients.append(
                learner.gradient(with_advantages(sequences, credited).written_by(name)[0])
            )
        if gradients:
            total = total + influence(gradients).to(total)
    return {f"gradient_weights/s/{c}": s for c, s in zip(names, total.tolist(), strict=True)}
