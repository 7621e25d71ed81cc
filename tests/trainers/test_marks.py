"""Marks on turns: who writes them, what a batch holds of them, and the credit that reads them."""

import pytest
import torch

from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.components.mark_credits import Attributed, Thoughts
from coevo.trainers.estimate import Estimate
from coevo.trainers.loop import context_of
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.steps.mark_turns import ByNote, MarkTurns


@pytest.fixture
def played(config, tmp_path):
    run = loop.start(config("agent_evolver"), RunFolder(tmp_path))
    ctx = context_of(run)
    run.config.algorithm.cycle[0](ctx)
    return run, ctx


def test_a_judge_marks_every_reply_of_a_learner_and_the_marks_reach_the_batch(played, monkeypatch):
    run, ctx = played
    turns = [t for e in ctx.episodes.episodes for t in e.turns]
    said = ["yes", "no", None]
    monkeypatch.setattr(
        type(ctx.judges),
        "ask",
        lambda self, role, asked: [
            type("Said", (), {"move": said[i % 3]})() for i, _ in enumerate(asked)
        ],
    )
    _, mark, build = run.config.algorithm.cycle[:3]
    mark(ctx)
    build(ctx)
    assert [t.marks.get("good") for t in turns] == [
        [1.0, -1.0, None][i % 3] for i in range(len(turns))
    ]
    assert ctx.metrics["mark/good/share"] == pytest.approx(
        sum("good" in t.marks for t in turns) / len(turns)
    )
    given_BT = ctx.batch.mark_BT("good")
    for b, own in enumerate(ctx.batch.turns_B):
        for k, turn in enumerate(own):
            value = float(given_BT[b, k])
            assert value == turn.marks["good"] if "good" in turn.marks else value != value
    kept = Episode.from_json(ctx.episodes.episodes[0].to_json())
    assert [t.marks for t in kept.turns] == [t.marks for t in ctx.episodes.episodes[0].turns]


def test_notes_are_marks_and_a_share_of_them_is_turned_round(played):
    _, ctx = played
    turns = [t for e in ctx.episodes.episodes for t in e.turns]
    for turn in turns[1:]:
        turn.notes["good"] = 1
    MarkTurns(by=ByNote())(ctx)
    assert turns[0].marks == {} and all(t.marks == {"good": 1.0} for t in turns[1:])
    MarkTurns(by=ByNote(flips=1.0))(ctx)
    assert all(t.marks == {"good": -1.0} for t in turns[1:])


def test_a_credit_that_reads_a_mark_needs_a_step_that_writes_it(config):
    with pytest.raises(ConfigError, match="reads the mark 'good', which no step writes"):
        config("grpo", {"advantage.credit": "attributed"})
    with pytest.raises(ConfigError, match="reads the mark 'sound'"):
        config("agent_evolver", {"advantage.credit.mark": "sound"})


def test_without_marks_the_credit_is_the_outcome_in_its_group():
    e = Attributed()(Estimate.of([[0.0, 1.0], [0.0, 0.0]], group=[0, 0]))
    assert e.y.round(decimals=4).tolist() == [[1.0, 1.0], [-1.0, -1.0]]


def test_marks_weigh_every_trajectory_the_same():
    nan = float("nan")
    mark_BTM = torch.tensor([[1.0, 1.0, 1.0], [-1.0, nan, nan]]).unsqueeze(-1)
    e = Estimate.of([[0.0, 0.0, 0.0], [0.0]], mark_BTM=mark_BTM, marks=("good",), group=[0, 0])
    y_BT = Attributed(alpha=1.0)(e).y
    assert y_BT[0].round(decimals=4).tolist() == [3.0, 2.0, 1.0]  # mean 0, deviation 1
    assert y_BT[1].round(decimals=4).tolist() == [-1.0, 0.0, 0.0]


def test_thoughts_are_runs_of_one_sign_and_a_turn_without_a_mark_ends_one():
    """p = 1/2: a good thought of the first row is worth 1/6, its bad one -1/6."""
    nan = float("nan")
    mark_BTM = torch.tensor([[1.0, 1.0, -1.0, nan, 1.0], [-1.0, -1.0, nan, nan, nan]]).unsqueeze(-1)
    rewards = [[0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0]]
    e = Estimate.of(rewards, mark_BTM=mark_BTM, marks=("good",), group=[0, 0])
    said_BT = Thoughts().said(e)
    assert said_BT[0].tolist() == pytest.approx([nan, 1 / 6, -1 / 6, nan, 1 / 6], nan_ok=True)
    assert said_BT[1].tolist() == pytest.approx([nan, -0.5, nan, nan, nan], nan_ok=True)
    sure = Thoughts(success=-1.0).said(e)  # all succeed: what is good no longer counts
    assert sure[0, 1] == 0.0 and sure[0, 2] < 0.0
    y_BT = Thoughts(alpha=1.0).__call__(e).y
    assert y_BT[0, 0] > y_BT[1, 0] and y_BT.isfinite().all()
