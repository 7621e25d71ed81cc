"""Corrections of failures, and beginning anew from the start weights."""

import pytest
import torch

import coevo.benchmarks.reproductions.claims.bad_steps as screens
from coevo.benchmarks.reproductions.claims.corrections import CLAIM
from coevo.benchmarks.reproductions.run import Arm, trained
from coevo.trainers import parts as p
from coevo.trainers.loop import context_of


@pytest.fixture
def context():
    """The context of an update of `evocua` on the screens, before its first step."""
    with trained(CLAIM.world, Arm("evocua"), 0, CLAIM.changes, steps=0) as end:
        yield context_of(end.run)


def taught(episode):
    return [k for k, t in enumerate(episode.turns) if t.token_ids]


def nearer(turn):
    """Whether a step leads nearer to the goal."""
    leads_SB, far_S = screens.layout(0)
    at = int(turn.chat[-1]["content"].split()[1].rstrip("."))
    return far_S[leads_SB[at, screens.NAMES.index(turn.move)]] < far_S[at]


def test_the_first_wrong_step_of_a_failure_becomes_the_experts(context):
    p.Collect()(context)
    played = [e for e in context.episodes.episodes if e.total(screens.SEAT, "payoff") < 0.5]
    p.Correct()(context)
    corrected = context.episodes.episodes
    assert 0 < len(corrected) == len(played) == context.metrics["correct/episodes"]
    for before, after in zip(played, corrected, strict=True):
        (place,) = taught(after)
        assert place == len(after.turns) - 1
        assert [t.move for t in after.turns[:place]] == [t.move for t in before.turns[:place]]
        assert all(nearer(t) for t in before.turns[:place]) and not nearer(before.turns[place])
        assert nearer(after.turns[place])


def test_successes_are_left_alone(context):
    p.Collect()(context)
    p.Correct(below=0.0)(context)
    assert context.episodes.episodes == []
    p.BuildBatch()(context)
    p.MakeItems(to=p.Replies(most=None))(context)
    assert context.batch is None and "demonstrations" not in context.items


def test_items_of_an_earlier_batch_are_not_learnt_twice(context):
    for step in (p.Collect(), p.BuildBatch(), p.MakeItems(to=p.Replies(most=None))):
        step(context)
    assert "demonstrations" in context.items
    for step in (p.Correct(below=0.0), p.BuildBatch(), p.MakeItems(to=p.Replies(most=None))):
        step(context)
    assert context.items == {}


def test_the_start_is_restored_with_a_new_optimiser():
    with trained(CLAIM.world, Arm("agent_evol"), 0, CLAIM.changes, steps=1) as end:
        (learner,) = end.run.learners.values()
        assert learner.model.logits_RA.any()
        p.RestoreStart()(context_of(end.run))
        assert not learner.model.logits_RA.any() and not learner.optimizer.state


def test_masters_in_float32_begin_anew_too():
    from coevo.trainers.learners.masters import Float32

    model = torch.nn.Linear(1, 1, dtype=torch.bfloat16)
    masters = Float32(model)
    with torch.no_grad():
        model.weight.fill_(0.5)
    masters.begin()
    assert float(masters.parameters[0].detach()) == 0.5
