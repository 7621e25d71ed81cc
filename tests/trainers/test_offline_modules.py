"""Reward modules handed to an environment: what it cannot pay as it goes, the trainer pays."""

from dataclasses import replace

import pytest
import torch

from coevo.envs.core.errors import ConfigError
from coevo.envs.rewards import Format, LengthPenalty, RewardModule, WeightedSum
from coevo.trainers import checkpoint, loop
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.steps import policy_gradient


def weighted(parts, weights=(), **more):
    return WeightedSum(parts=parts, weights=weights, **more)


EAGER = {"free": 0, "span": 10, "weight": 1.0, "longest": 10}
"""A charge of 0.1 per token from the first one."""


class Judge(RewardModule):
    """Pays the second seat 0.5 after the last turn of a play, once the play is over.

    It counts the episodes it has seen, which is what a checkpoint has to keep.
    """

    name, range, per_turn = "judge", (0.0, 0.5), False

    def __init__(self):
        self.batches, self.seen = [], 0

    def table(self, episodes):
        self.batches.append(len(episodes))
        self.seen += len(episodes)
        return [[{} for _ in e.turns[1:]] + [{e.agents[1]: 0.5}] for e in episodes]

    def state_dict(self):
        return {"seen": self.seen}

    def load_state_dict(self, state):
        self.seen = state.get("seen", 0)


@pytest.fixture
def start(config, tmp_path):
    """Start a run whose environment is given reward modules."""

    def make(*modules, **changes):
        given = config("reinforce", {"rewards": (), **changes})
        options = {**given.env_options, "rewards": list(modules)}
        return loop.start(replace(given, env_options=options), RunFolder(tmp_path / "run"))

    return make


def collected(run):
    collected = run.collector.collect(run.progress.step)
    return collected.episodes, collected.groups


def test_what_the_environment_leaves_is_paid_once_after_the_play(start):
    run = start(LengthPenalty(**EAGER), Format(legal=0.25))
    episodes, _ = collected(run)
    turns = [turn for e in episodes for turn in e.turns]
    assert turns
    for turn in turns:
        charge = -min(len(turn.token_ids), 10) / 10
        assert turn.rewards["length_penalty"] == {turn.agent: pytest.approx(charge)}
        assert turn.rewards["format"] == {turn.agent: 0.25}, "the environment paid this one itself"


def test_a_module_sees_the_whole_batch_at_once(start):
    judge = Judge()
    run = start(judge)
    episodes, _ = collected(run)
    assert judge.batches == [len(episodes)] == [8]
    assert all(e.total("player_1", "judge") == 0.5 for e in episodes)
    assert all(e.total("player_0", "judge") == 0 for e in episodes)
    paid = [bool(t.rewards["judge"]) for t in episodes[0].turns]
    assert paid == [False] * (len(paid) - 1) + [True]


def test_a_sum_with_one_offline_part_is_paid_by_the_trainer(start):
    parts = [Format(legal=1.0), LengthPenalty(**EAGER)]
    run = start(weighted(parts, [2, 1], component="style"))
    episodes, _ = collected(run)
    for turn in (turn for e in episodes for turn in e.turns):
        wanted = 2 - min(len(turn.token_ids), 10) / 10
        assert turn.rewards["style"] == {turn.agent: pytest.approx(wanted)}


def test_modules_of_the_record_are_paid_beside_them(start):
    run = start(LengthPenalty(**EAGER), rewards=[{"name": "format", "legal": 0.5}])
    episodes, _ = collected(run)
    assert {name for e in episodes for t in e.turns for name in t.rewards} == {
        "payoff",
        "format",
        "length_penalty",
    }


def test_the_learner_is_credited_with_what_was_paid(start, monkeypatch):
    """The component reaches the trajectories, and the policy moves otherwise than without it."""
    batches, learn = [], policy_gradient.with_advantages

    def noted(algorithm, learners, batch, *rest, **named):
        batches.append(batch)
        return learn(algorithm, learners, batch, *rest, **named)

    monkeypatch.setattr(policy_gradient, "with_advantages", noted)
    run, plain = start(Judge()), start()
    metrics, episodes = loop.update(run)
    loop.update(plain)
    column = batches[0].component("judge")
    paid = batches[0].reward_BTK[:, :, column].sum()
    assert float(paid) == 0.5 * len(episodes)
    assert metrics["reward/judge"] == pytest.approx(0.25), "per seat and play"
    assert metrics["return/player_1"] == pytest.approx(
        sum(e.total("player_1", "payoff") for e in episodes) / len(episodes)
    ), "the rules' payoff alone"
    moved, other = (r.learners["policy"].model.state_dict() for r in (run, plain))
    assert any(not torch.equal(moved[k], other[k]) for k in moved)


def test_the_state_of_a_module_is_kept_and_given_back(start, config):
    judge = Judge()
    run = start(judge)
    run.folder.create(config())
    loop.update(run)
    run.progress = replace(run.progress, step=1)
    run.save()
    assert checkpoint.latest(run.folder.checkpoints) is not None
    again = Judge()
    start(again)
    assert again.seen == judge.seen == 8


def test_two_modules_of_one_name_are_refused(start):
    with pytest.raises(ConfigError, match="two reward modules are called 'format'"):
        start(Format(legal=0.25), rewards=[{"name": "format", "legal": 0.05}])
