"""Roles that learn one after the other, or not at all."""

import copy
from dataclasses import replace

import pytest
import torch

from coevo.envs.core.errors import ConfigError
from coevo.trainers import learning, loop
from coevo.trainers.algorithm import OptimSpec
from coevo.trainers.record import assign
from coevo.trainers.rows import build
from coevo.trainers.run_folder import RunFolder

PLAIN = {"optim.minibatches": 2, "optim.lr": 0.01, "optim.warmup": 0}


@pytest.fixture
def played(config, tmp_path):
    """Play once, and let the seats have roles of their own."""

    def make(changes=None):
        run = loop.start(config("reinforce", {**PLAIN, **(changes or {})}), RunFolder(tmp_path))
        gathered = run.gatherer.gather(0)
        for episode in gathered.episodes:
            for turn in episode.turns:
                turn.role = {"player_0": "first", "player_1": "second/1"}[turn.agent]
        return run, build(gathered.episodes, gathered.groups, run.learners)

    return make


def learnt(run, batch, **optim):
    """Learn on a copy; give the weights, what was updated, and the metrics."""
    record = assign(run.config.algorithm, {f"optim.{k}": v for k, v in optim.items()})
    learner = copy.deepcopy(run.learners["policy"])
    learner.algorithm, learner.optim = record, record.optim
    seen, update = [], learner.update

    def watched(rows, targets, **kwargs):
        seen.append((rows, targets, learner.logp(rows)))
        return update(rows, targets, **kwargs)

    learner.update = watched
    out = learning.learn_batch(record, {"policy": learner}, batch, {}, rate=1.0, seed=0)
    weights_N = torch.cat([p.detach().flatten() for p in learner.model.parameters()])
    return weights_N, seen, out.metrics


def roles(batch, rows):
    return {batch.turns_B[b][0].role for b in rows.trajectory_C.tolist()}


def test_every_named_role_has_a_pass_of_its_own_in_that_order(played):
    run, batch = played()
    joint_N, seen, metrics = learnt(run, batch)
    assert [roles(batch, r) for r, *_ in seen] == [{"first", "second/1"}]
    assert "grad_norm" in metrics
    apart_N, seen, metrics = learnt(run, batch, phases="second+first")
    assert [roles(batch, r) for r, *_ in seen] == [{"second/1"}, {"first"}]
    assert {"first/grad_norm", "second/grad_norm"} <= metrics.keys()
    turned_N, *_ = learnt(run, batch, phases="first+second")
    assert not torch.equal(apart_N, joint_N) and not torch.equal(apart_N, turned_N)


def test_roles_that_are_not_named_learn_together_after_them(played):
    run, batch = played()
    _, seen, _ = learnt(run, batch, phases="second")
    assert [roles(batch, r) for r, *_ in seen] == [{"second/1"}, {"first"}]
    nobody_N, seen, metrics = learnt(run, batch, phases="proposer+solver")
    assert [roles(batch, r) for r, *_ in seen] == [{"first", "second/1"}]
    assert torch.equal(nobody_N, learnt(run, batch)[0]) and "grad_norm" in metrics


def test_behaviour_is_scored_before_each_phase_or_once(played):
    run, batch = played()
    for old in ("phase", "update"):
        _, seen, _ = learnt(run, batch, phases="first+second", old=old)
        (_, before, then), (_, targets, now) = seen
        mask = seen[1][0].mask_CL
        assert torch.allclose(before.logp_old_CL[seen[0][0].mask_CL], then[seen[0][0].mask_CL])
        same = torch.allclose(targets.logp_old_CL[mask], now[mask], atol=1e-6)
        assert same == (old == "phase"), "the first phase has moved the policy"


def test_once_also_holds_where_every_phase_is_a_single_step(played):
    run, batch = played({"optim.minibatches": 1})
    _, seen, _ = learnt(run, batch, phases="first+second", old="update")
    assert all(targets.logp_old_CL is not None for _, targets, _ in seen)
    _, seen, _ = learnt(run, batch, phases="first+second")
    assert all(targets.logp_old_CL is None for _, targets, _ in seen)


def test_what_is_frozen_is_not_learnt_from(played):
    run, batch = played()
    _, seen, _ = learnt(run, batch, frozen="first")
    assert [roles(batch, r) for r, *_ in seen] == [{"second/1"}]
    still_N, seen, metrics = learnt(run, batch, frozen="first+second", phases="first")
    start_N = torch.cat([p.detach().flatten() for p in run.learners["policy"].model.parameters()])
    assert seen == [] and torch.equal(still_N, start_N) and "grad_norm" not in metrics
    # Credits are compared with those of frozen roles all the same.
    whole = learning.learn_batch(run.config.algorithm, {}, batch, {}, rate=1.0, seed=0).advantage_BS
    assert bool((whole != 0).any())


def test_an_unknown_moment_is_refused():
    with pytest.raises(ConfigError, match="phase or update"):
        OptimSpec(old="later")
    assert replace(OptimSpec(), phases="a+b").phases == "a+b"
