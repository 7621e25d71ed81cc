"""Inverse soft Q-learning: its objective by hand, what it recovers, whom it refuses."""

import numpy as np
import pytest
import torch

from coevo.benchmarks.reproductions.claims import mamql_rewards as game
from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.steps.inverse_soft_q import InverseSoftQ, _Shown
from coevo.trainers.values.transitions import NOTHING, Transition

KUHN = {"env": "coevo/kuhn_poker-v0", "env_options": {"prompt_style": "terse"}}


def given(**more):
    made = algorithm("mamql", None, {"collect.episodes": 4, "cycle.inverse_soft_q.steps": 2})
    return TrainConfig(algorithm=made, steps=2, device="cpu", threads=1, **{**KUHN, **more})


def by_hand(q_SA, steps, scale, gamma, alpha):
    """The objective, transition by transition; a next state of None is the end."""
    v_S = [np.log(sum(np.exp(scale * q) for q in row)) / scale for row in q_SA]
    total = 0.0
    for state, move, then in steps:
        after = 0.0 if then is None else gamma * v_S[then]
        paid = q_SA[state][move] - after
        total += v_S[state] - after - (paid - paid**2 / (4 * alpha))
    return total / len(steps)


def test_the_objective_by_hand(tmp_path):
    run = loop.start(given(model="table"), RunFolder(tmp_path / "run"))
    learner = next(iter(run.learners.values()))
    q_SA = [[0.5, -1.0], [2.0, 0.25]]
    learner.agent.rows.moves[:2] = [2, 2]
    with torch.no_grad():
        learner.model.logits_RA[:2, :2] = 3.0 * torch.tensor(q_SA)
    steps = [(0, 1, 1), (1, 0, 0), (1, 1, None), (0, 0, None)]
    rows = [np.array([0]), np.array([1])]
    seen = [
        Transition(("x",), (rows[s],), (a,), 0.0, (NOTHING if t is None else rows[t],))
        for s, a, t in steps
    ]
    step = InverseSoftQ(scale=3.0, gamma=0.8, alpha=0.7)
    for at in ([0, 1, 2, 3], [2, 3], [1]):
        found = step.loss(learner, _Shown.of(seen), np.array(at)).item()
        wanted = by_hand(q_SA, [steps[i] for i in at], 3.0, 0.8, 0.7)
        assert found == pytest.approx(wanted)


def test_players_of_the_game_are_at_a_soft_equilibrium():
    """Own values of the fixed policies, by solving the linear equations, give them back."""
    one = game.SoftGame(3)
    joint_SAA = np.einsum("sa,sb->sab", *one.policy)
    moved_SS = np.einsum("sab,sabt->st", joint_SAA, one.next)
    for seat in (0, 1):
        paid_S = (joint_SAA * one.reward[seat]).sum((1, 2))
        paid_S -= (one.policy[seat] * np.log(one.policy[seat])).sum(1) / game.SCALE
        value_S = np.linalg.solve(np.eye(game.STATES) - game.GAMMA * moved_SS, paid_S)
        q = one.own(seat, one.reward[seat] + game.GAMMA * one.next @ value_S)
        odds = np.exp(game.SCALE * (q - q.max(1, keepdims=True)))
        np.testing.assert_allclose(odds / odds.sum(1, keepdims=True), one.policy[seat], atol=1e-6)


def test_more_demonstrations_recover_rewards_better():
    few, more = (game.CLAIM.measures("mamql", steps=n)["rewards"] for n in (1, 8))
    assert more > max(few, 0.6)


def test_a_language_model_is_refused(tmp_path):
    run = loop.start(given(model="starter"), RunFolder(tmp_path / "run"))
    with pytest.raises(ConfigError, match="give --model table"):
        loop.update(run)
