"""Double critics of utterances: what they read, what they converge to, and training with them."""

import numpy as np
import pytest
import torch

from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.build import build
from coevo.trainers.components import NoBaseline, TdCritic
from coevo.trainers.learners.settings import UtteranceCritic
from coevo.trainers.learners.utterance_critic import UtteranceCriticNet
from coevo.trainers.run_folder import RunFolder

ARCHER = {
    "advantage.credit": TdCritic(),
    "advantage.baseline": NoBaseline(),
    "critic": UtteranceCritic(passes=3),
}


@pytest.fixture
def run(config, tmp_path):
    given = config("ppo", ARCHER, env="coevo/leduc_poker-v0", steps=2)
    return loop.start(given, RunFolder(tmp_path))


def test_states_are_those_before_the_first_and_the_last_token_of_each_turn(run):
    collected = run.collector.collect(0)
    batch = build(collected.episodes, collected.groups, run.learners)
    learner, rows = run.learners["policy"], batch
    shape = tuple(batch.turn_mask_BT.shape)
    before_BTH, after_BTH = learner.passes.turn_states(rows, shape)
    with torch.no_grad():
        for c, b in enumerate(rows.trajectory_C.tolist()):
            span = rows.spans[int(rows.span_C[c])]
            ids = torch.tensor([span.ids])
            hidden = learner.model.model(ids).last_hidden_state[0]
            turns = rows.turn_CL[c][rows.mask_CL[c]].tolist()
            for turn in set(turns):
                at = [i for i, t in zip(span.positions(), turns, strict=True) if t == turn]
                assert torch.allclose(before_BTH[b, turn], hidden[at[0] - 1], atol=1e-5)
                assert torch.allclose(after_BTH[b, turn], hidden[at[-1] - 1], atol=1e-5)
    assert bool((before_BTH[~batch.turn_mask_BT] == 0).all())


def test_critics_find_the_discounted_value_of_a_chain():
    """Three states in a row, 1 at the end: V = 0.25, 0.5, 1 with a discount of one half."""
    critic, eye = UtteranceCriticNet(3), torch.eye(3).unsqueeze(0)
    spec = UtteranceCritic(passes=600, gamma=0.5, tau=0.2)
    optimizer = torch.optim.Adam([p for p in critic.parameters() if p.requires_grad], lr=0.03)
    reward_BT, mask_BT = torch.tensor([[0.0, 0.0, 1.0]]), torch.ones(1, 3, dtype=torch.bool)
    error = critic.fit(eye, eye, reward_BT, mask_BT, optimizer, spec)
    q_BTC, v_BTC = critic.judge(eye, eye)
    for value_BTC in (q_BTC, v_BTC):
        assert value_BTC[0, :, 0].tolist() == pytest.approx([0.25, 0.5, 1.0], abs=0.02)
    assert error < 1e-3


def test_a_run_with_utterance_critics_goes_on_where_it_stopped(config, folder):
    given = config("ppo", ARCHER, steps=4, checkpoint_every=2)
    straight = loop.train(given, folder(given, "straight"))
    half = folder(given, "half")
    loop.train(config("ppo", ARCHER, steps=2, checkpoint_every=2), half)
    resumed = loop.train(given, half)
    one, other = (r.learners["policy"] for r in (straight, resumed))
    for ours, theirs in ((one.model, other.model), (one.head, other.head)):
        assert all(map(torch.equal, ours.state_dict().values(), theirs.state_dict().values()))
    metrics = straight.folder.read_metrics()
    assert all(np.isfinite(m["grad_norm"]) and m["grad_norm"] > 0 for m in metrics)


@pytest.mark.parametrize("critic", [None, UtteranceCritic()])
def test_the_credit_and_the_critic_must_fit(config, critic):
    with pytest.raises(ConfigError, match="td_critic"):
        config("ppo", {"critic": critic})
