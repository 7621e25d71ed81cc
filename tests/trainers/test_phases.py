"""Roles that learn one after the other, or not at all."""

import copy

import pytest
import torch

from coevo.envs.core.config import assign
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.trainers import loop
from coevo.trainers.algorithm import OptimConfig
from coevo.trainers.build import build
from coevo.trainers.run_folder import RunFolder

PLAIN = {"optim.minibatches": 2, "optim.lr": 0.01, "optim.warmup": 0}


@pytest.fixture
def played(config, tmp_path):
    """Play once, and let the seats have roles of their own."""

    def make(changes=None):
        given = config("reinforce", {**PLAIN, **(changes or {})})
        run = loop.start(given, RunFolder(tmp_path))
        collected = run.collector.collect(0)
        for episode in collected.episodes:
            for turn in episode.turns:
                turn.role = {"player_0": "first", "player_1": "second/1"}[turn.agent]
        return run, build(collected.episodes, collected.groups, run.learners)

    return make


@pytest.fixture
def learnt(learn_batch):
    """Learn on a copy; give the weights, what was updated, and the metrics."""

    def learnt(run, batch, **optim):
        record = assign(run.config.algorithm, {f"optim.{k}": v for k, v in optim.items()})
        learner = copy.deepcopy(run.learners["policy"])
        learner.algorithm, learner.optim = record, record.optim
        seen, step = [], learner.update

        def watched(lessons, **kwargs):
            rows = lessons[0].batch
            seen.append((rows, learner.passes.logp(rows)))
            return step(lessons, **kwargs)

        learner.update = watched
        out = learn_batch(record, {"policy": learner}, batch, {}, rate=1.0, seed=0)
        weights_N = torch.cat([p.detach().flatten() for p in learner.model.parameters()])
        return weights_N, seen, out.metrics

    return learnt


def roles(batch, rows):
    return {batch.turns_B[b][0].role for b in rows.trajectory_C.tolist()}


def test_every_named_role_has_a_pass_of_its_own_in_that_order(played, learnt):
    run, batch = played()
    joint_N, seen, metrics = learnt(run, batch)
    assert [roles(batch, r) for r, *_ in seen] == [{"first", "second/1"}]
    assert "grad_norm" in metrics
    apart_N, seen, metrics = learnt(run, batch, alternate=("second", "first"))
    assert [roles(batch, r) for r, *_ in seen] == [{"second/1"}, {"first"}]
    assert {"first/grad_norm", "second/grad_norm"} <= metrics.keys()
    turned_N, *_ = learnt(run, batch, alternate=("first", "second"))
    assert not torch.equal(apart_N, joint_N) and not torch.equal(apart_N, turned_N)


def test_roles_that_are_not_named_learn_together_after_them(played, learnt):
    run, batch = played()
    _, seen, _ = learnt(run, batch, alternate=("second",))
    assert [roles(batch, r) for r, *_ in seen] == [{"second/1"}, {"first"}]
    nobody_N, seen, metrics = learnt(run, batch, alternate=("proposer", "solver"))
    assert [roles(batch, r) for r, *_ in seen] == [{"first", "second/1"}]
    assert torch.equal(nobody_N, learnt(run, batch)[0]) and "grad_norm" in metrics


def test_behaviour_is_scored_before_each_phase_or_once(played, learnt):
    run, batch = played()
    for old in ("role", "update"):
        _, seen, _ = learnt(run, batch, alternate=("first", "second"), old=old)
        (first, then), (second, now) = seen
        assert torch.allclose(first.logp_old_CL[first.mask_CL], then[first.mask_CL])
        mask = second.mask_CL
        same = torch.allclose(second.logp_old_CL[mask], now[mask], atol=1e-6)
        assert same == (old == "role"), "the first phase has moved the policy"


def test_once_also_holds_where_every_phase_is_a_single_step(played, learnt):
    run, batch = played({"optim.minibatches": 1})
    _, seen, _ = learnt(run, batch, alternate=("first", "second"), old="update")
    assert all(rows.logp_old_CL is not None for rows, _ in seen)
    _, seen, _ = learnt(run, batch, alternate=("first", "second"))
    assert all(rows.logp_old_CL is None for rows, _ in seen)


def test_what_is_frozen_is_not_learnt_from(played, learnt, learn_batch):
    run, batch = played()
    _, seen, _ = learnt(run, batch, frozen=("first",))
    assert [roles(batch, r) for r, *_ in seen] == [{"second/1"}]
    still_N, seen, metrics = learnt(run, batch, frozen=("first", "second"), alternate=("first",))
    start_N = torch.cat([p.detach().flatten() for p in run.learners["policy"].model.parameters()])
    assert seen == [] and torch.equal(still_N, start_N) and "grad_norm" not in metrics
    # Credits are compared with those of frozen roles all the same.
    out = learn_batch(run.config.algorithm, {}, batch, {}, rate=1.0, seed=0).batch
    whole = out.joined(out.advantage_CL)
    assert bool((whole != 0).any())


def test_an_agent_that_changes_its_role_learns_from_the_turns_of_each(played, learnt):
    run, _ = played({"collect.episodes": 64})
    collected = run.collector.collect(0)
    for episode in collected.episodes:
        for number, turn in enumerate(episode.turns):
            turn.role = ("solver", "scorer/1")[number // 2 % 2]
    batch = build(collected.episodes, collected.groups, run.learners)
    said = {role: int(batch.said_as([role]).mask_CL.sum()) for role in batch.roles}
    assert set(said) == {"solver", "scorer"} and all(said.values())
    for frozen, left in (("scorer", "solver"), ("solver", "scorer")):
        _, seen, _ = learnt(run, batch, frozen=(frozen,))
        ((rows, _),) = seen
        assert int(rows.mask_CL.sum()) == said[left]
        assert {batch.roles[c] for c in rows.role_CL[rows.mask_CL]} == {left}
    assert learnt(run, batch, frozen=("scorer", "solver"))[1] == []


def test_turns_of_one_growing_chat_are_told_apart_by_role():
    first = Turn("a", (), "", None, Status.LEGAL, None, role="solver")
    second = Turn("a", (), "", None, Status.LEGAL, None, role="scorer")
    first.prompt_ids, first.token_ids, first.logprobs = [1], [2, 3], [-1.0, -1.0]
    second.prompt_ids, second.token_ids, second.logprobs = [1, 2, 3, 4], [5], [-1.0]
    batch = build([Episode("coevo/some-v0", 0, {}, ("a",), turns=[first, second])], [0])
    (whole,) = batch.mask_CL.tolist()
    assert whole == [True, True, True]
    assert batch.said_as(["scorer"]).mask_CL.tolist() == [[False, False, True]]
    assert batch.said_as(["solver", "scorer"]) is batch


def test_an_unknown_moment_is_refused():
    with pytest.raises(ConfigError, match="'role' or 'update'"):
        OptimConfig(old="later")
