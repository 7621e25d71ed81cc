"""Value learning: transitions, mixers, targets, and exact resume."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from coevo.agents.agent import request_of
from coevo.agents.load import load_agent
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.config import assign
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError
from coevo.trainers import checkpoint, loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.values import switching
from coevo.trainers.values.mixers import Monotonic, Summed
from coevo.trainers.values.switching import Centre, Switch
from coevo.trainers.values.team_steps import TeamSteps
from coevo.trainers.values.transitions import Transitions, transitions


def turn(agent, round, ids, token, paid):
    made = Turn(agent, (), "[x]", "x", "ok", ("x",), round=round)
    made.prompt_ids, made.token_ids, made.player = ids, [token], "policy"
    made.pay("payoff", paid)
    return made


@pytest.fixture
def episode():
    """Two seats; b is out in the second round."""
    turns = [
        turn("a", 0, [10], 1, {}),
        turn("b", 0, [20], 2, {"a": 1.0, "b": 3.0}),
        turn("a", 1, [11], 3, {"a": 0.5, "b": 0.5}),
        turn("a", 2, [12], 4, {}),
        turn("b", 2, [22], 5, {"a": 2.0}),
    ]
    return Episode("e", 0, {}, ("a", "b"), turns=turns, stop=StopReason.FINISHED)


def rows(found):
    shown = [[tuple(s.tolist()) for s in part] for t in found for part in (t.seen, t.then)]
    return list(zip(shown[::2], shown[1::2], [(t.moves, t.reward) for t in found], strict=True))


def test_a_team_steps_from_round_to_round(episode):
    found = list(transitions(episode, {"a": "policy", "b": "policy"}, {}))
    assert rows(found) == [
        ([(10,), (20,)], [(11,), ()], ((1, 2), 2.0)),
        ([(11,), ()], [(12,), (22,)], ((3, 0), 0.5)),
        ([(12,), (22,)], [(), ()], ((4, 5), 1.0)),
    ]
    cut = replace(episode, stop=StopReason.TURN_LIMIT)
    assert len(list(transitions(cut, {"a": "policy", "b": "policy"}, {}))) == 2


def test_a_seat_alone_steps_from_reply_to_reply(episode):
    found = list(transitions(episode, {"b": "policy"}, {"payoff": 2.0}))
    assert rows(found) == [([(20,)], [(22,)], ((2,), 7.0)), ([(22,)], [()], ((5,), 0.0))]


def test_transitions_come_back_from_a_checkpoint(episode):
    kept = Transitions()
    kept.add(list(transitions(episode, {"a": "one", "b": "two"}, {})), 2)
    again = Transitions()
    again.load(kept.state_dict(), kept.tensors())
    assert rows(again.kept) == rows(kept.kept) and len(again) == 2
    assert again.kept[0].owners == ("one", "two")
    assert all(torch.equal(t, again.tensors()[n]) for n, t in kept.tensors().items())


def test_a_mixer_never_falls_with_the_value_of_a_seat():
    mixer, generator = Monotonic(3, 4, 8, seed=0), torch.Generator().manual_seed(0)
    value_BN = torch.randn(64, 3, generator=generator, requires_grad=True)
    state_BS = torch.randn(64, 4, generator=generator)
    (slope_BN,) = torch.autograd.grad(mixer(value_BN, state_BS).sum(), value_BN)
    assert float(slope_BN.min()) >= 0 and float(slope_BN.max()) > 0
    other = mixer(value_BN, -state_BS)
    assert not torch.allclose(mixer(value_BN, state_BS), other)
    assert torch.equal(Summed()(value_BN, state_BS), value_BN.sum(1))


def given(name, steps=4, **changes):
    return TrainConfig(
        algorithm=assign(algorithm(name), {"collect.episodes": 4, **changes}),
        env="coevo/harvest-v0",
        env_options={"prompt_style": "terse", "steps": 5, "harvesters": 2},
        model="net:hidden=8",
        sampling=SamplingConfig(max_new_tokens=4),
        steps=steps,
        checkpoint_every=2,
        keep_checkpoints=9,
        device="cpu",
        threads=1,
    )


CHANGES = {"cycle.fit_values.steps": 2, "cycle.fit_values.batch": 8, "magnet.every": 2}


@pytest.mark.parametrize(("name", "changes"), [("qmix", {"population": "grouped"}), ("mansa", {})])
def test_values_are_learnt_and_resumed_bit_by_bit(name, changes, tmp_path):
    config = given(name, **changes, **CHANGES)
    straight = RunFolder(tmp_path / "straight")
    straight.create(config)
    one = loop.train(config, straight)
    halted = RunFolder(tmp_path / "halted")
    halted.create(config)
    loop.train(config, halted)
    checkpoint.remove(checkpoint.latest(halted.checkpoints))
    again = loop.start(config, halted)
    assert again.progress.step == 2
    loop.finish(again)
    for learner, own in one.learners.items():
        other = again.learners[learner]
        for part in ("model", "magnet"):
            pairs = zip(
                getattr(own, part).parameters(), getattr(other, part).parameters(), strict=True
            )
            assert all(torch.equal(a, b) for a, b in pairs)
    tensors = one.values.tensors(), again.values.tensors()
    assert tensors[0].keys() == tensors[1].keys()
    assert all(torch.equal(t, tensors[1][n]) for n, t in tensors[0].items())
    assert one.folder.read_metrics()[0]["epsilon"] == 1.0
    player = load_agent(str(straight.path))
    assert player.reads_numbers


def test_a_centre_values_joint_moves_and_calls():
    """Two seats with two moves: legal ones alone are best, and goals are those of one step."""
    centre = Centre(2, 2, 1, 4, seed=0)
    with torch.no_grad():
        for part, bias in ((centre.joint, [0.0, 1.0, 2.0, 3.0]), (centre.call, [0.5, 1.0])):
            for layer in (part[0], part[2]):
                layer.weight.zero_()
            part[2].bias.copy_(torch.tensor(bias))
    assert centre.moves_JN.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    state_BS = torch.zeros(3, 1)
    legal_BNA = torch.tensor([[[1, 1], [1, 1]], [[1, 1], [1, 0]], [[0, 1], [0, 0]]]).bool()
    assert centre.best(state_BS, legal_BNA).tolist() == [3, 2, 2]
    steps = TeamSteps(
        state_BS=state_BS[:1],
        moves_BN=torch.tensor([[1, 0]]),
        called_B=torch.tensor([True]),
        reward_B=torch.tensor([5.0]),
        goes_on_B=torch.tensor([True]),
        then_BS=state_BS[:1],
        legal_BNA=legal_BNA[:1],
        value_BN=torch.tensor([[4.0, 0.0]]),
        asked_BN=torch.tensor([[True, False]]),
        next_BN=torch.tensor([[2.0, 0.0]]),
    )
    joint, call = 5 + 0.5 * 3 - 2, 5 - 0.25 + 0.5 * 1.0 - 1.0
    found = switching.loss(centre, centre, steps, gamma=0.5, cost=0.25)
    assert found.item() == pytest.approx(joint**2 + call**2)
    with_seats, logged = Switch(cost=0.25).loss(centre, centre, steps, gamma=0.5)
    assert with_seats.item() == pytest.approx(found.item() + (5 + 0.5 * 2 - 4) ** 2)
    assert logged["value"] == 4.0


def test_a_centre_is_called_now_and_then_or_always(tmp_path):
    for always, calls in ((True, {1.0}), (False, {0.0, 1.0})):
        changes = {"cycle.fit_values.mix.always": always, **CHANGES}
        folder = RunFolder(tmp_path / f"{always}")
        folder.create(config := given("mansa", **changes))
        run = loop.train(config, folder)
        kept = run.values.transitions.kept
        assert {float(t.called) for t in kept} == calls
        assert all(len(t.owners) == 2 for t in kept)
    run = loop.start(given("mansa", population="separate"), RunFolder(tmp_path / "apart"))
    with pytest.raises(ConfigError, match="population=shared"):
        loop.update(run)


@pytest.mark.parametrize(
    ("name", "move"),
    [("iql", "Defect"), ("vdn", "Cooperate"), ("qmix", "Cooperate"), ("mansa", "Cooperate")],
)
def test_who_is_alone_defects_and_a_team_cooperates(name, move, tmp_path):
    config = replace(
        given(name, 40, **{"collect.episodes": 8, "optim.lr": 0.01, "magnet.every": 1}),
        env="coevo/openspiel-v0",
        env_options={"game": "matrix_pd", "prompt_style": "terse"},
        checkpoint_every=1000,
    )
    folder = RunFolder(tmp_path / "run")
    folder.create(config)
    played = rollout(
        config.env,
        [EpisodeSpec(0, dict.fromkeys(("player_0", "player_1"), "policy"))],
        loop.train(config, folder).policies(),
        config.env_options,
    )
    assert [t.move for t in played[0].turns] == [move, move]


def test_a_value_network_plays_its_best_move_and_explores_now_and_then(tmp_path):
    run = loop.start(given("iql"), RunFolder(tmp_path / "run"))
    policy = run.learners["policy"].agent
    with torch.no_grad():
        policy.model.head.bias[3] = 5.0
    env = run.envs["coevo/harvest-v0"].fresh()
    env.reset(seed=0)
    request = request_of(env, env.agent_selection, np.random.default_rng(0), numbers=True)
    (odds,) = policy.probabilities([request])
    assert odds.round(6).tolist() == np.eye(8)[3].tolist()
    (odds,) = policy.exploring(0.4).probabilities([request])
    np.testing.assert_allclose(odds, 0.05 + 0.6 * np.eye(8)[3], atol=1e-6)
    assert len({r.text for r in policy.exploring(1.0).act([request] * 200)}) == 8
    assert len({r.text for r in policy.act([request] * 20)}) == 1
    assert not policy.plays_ahead  # workers have no twin that explores


def test_values_need_a_network(tmp_path):
    for model, words in (("table", "is no network over arrays"), ("net:gru", "leave gru out")):
        run = loop.start(replace(given("iql"), model=model), RunFolder(tmp_path / "run"))
        with pytest.raises(ConfigError, match=words):
            loop.update(run)
    with pytest.raises(ConfigError, match="fit_values"):
        assign(algorithm("iql"), {"magnet": None})
