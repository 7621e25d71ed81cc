"""Seats that are credited and not trained: past selves and scripted players, from plays to weights.

1. A player that does not learn has a trajectory where `others` asks for one, without tokens.
2. It moves no baseline and no logged mean of the learners; it is what they align with.
3. Its weights stay, and it has no row that a loss could read.
4. Replies of a round are one time-step, whoever spoke first.
"""

from dataclasses import replace

import pytest
import torch

from coevo.agents.population import PastSelves
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.trainers import loop
from coevo.trainers.advantage import advantages, estimate
from coevo.trainers.algorithms import algorithm
from coevo.trainers.batch import Batch
from coevo.trainers.build import build
from coevo.trainers.components import Align, NoBaseline, SumOthers, ToGo
from coevo.trainers.steps import policy_gradient

ALIGNED = algorithm("advantage_alignment", None, {"advantage.reward_weights": {}}).advantage
ALONE = replace(ALIGNED, transform=())


def turn(agent, round_, paid, player="policy", tokens=2):
    made = Turn(agent, (), "A", "A", Status.LEGAL, None)
    made.player, made.round = player, round_
    if tokens:
        made.prompt_ids, made.token_ids = [1, round_], [5] * tokens
        made.logprobs = [-0.5] * tokens
    if paid:
        made.pay("payoff", paid)
    return made


def episode(payoffs, other="policy", tokens=2):
    """Play rounds that pay (a, b) with the second move."""
    turns = []
    for k, (a, b) in enumerate(payoffs):
        turns += [
            turn("a", k, {}),
            turn("b", k, {"a": a, "b": b}, player=other, tokens=tokens),
        ]
    return Episode("coevo/some-v0", 0, {}, ("a", "b"), turns=turns)


GROUPS = [
    [(3, 3), (3, 3), (0, 5)],
    [(0, 5), (1, 1), (5, 0)],
    [(5, 0), (0, 5), (1, 1)],
]
"""Three plays of one start."""


def batch_of(other, tokens, *, others=True, scale=1):
    """Return a group of self-play and a group with another player in the second seat."""
    own = [episode(p) for p in GROUPS]
    mixed = [episode([(a, scale * b) for a, b in p], other, tokens) for p in GROUPS]
    return build(own + mixed, [0] * 3 + [1] * 3, {"policy"}, steps="round", others=others)


@pytest.mark.parametrize(("other", "tokens"), [("past000010", 2), ("always_d", 0)])
def test_others_have_trajectories_without_tokens_or_rows(other, tokens):
    batch = batch_of(other, tokens)
    learns_B = batch.token_mask_BS.any(1)
    assert learns_B.tolist() == [True] * 9 + [False] * 3
    assert batch.turn_mask_BT.all()
    assert set(batch.policy_C) == {"policy"}
    assert set(batch.trajectory_C.tolist()) == set(range(9))
    assert [seat for _, seat in batch.origin_B[9:]] == ["b"] * 3
    assert len(batch_of(other, tokens, others=False).origin_B) == 9


@pytest.mark.parametrize(("other", "tokens"), [("past000010", 2), ("always_d", 0)])
def test_what_others_are_paid_moves_no_statistics_of_learners(other, tokens):
    plain, paid = (batch_of(other, tokens, scale=s) for s in (1, 50))
    first, second = advantages(ALONE, plain), advantages(ALONE, paid)
    assert torch.equal(first[0].advantage_CL, second[0].advantage_CL)
    logged = ("reward/mean", "advantage/mean", "advantage/std", "advantage/abs_max")
    assert [first[2][n] for n in logged] == [second[2][n] for n in logged]
    without = advantages(replace(ALONE, others=False), batch_of(other, tokens, others=False))
    first_BS, without_BS = (m.joined(m.advantage_CL) for m in (first[0], without[0]))
    assert torch.allclose(first_BS[:9], without_BS)


@pytest.mark.parametrize(("other", "tokens"), [("past000010", 2), ("always_d", 0)])
def test_learners_align_with_them(other, tokens):
    made = estimate(ALIGNED, batch_of(other, tokens)).y
    base = estimate(ALONE, batch_of(other, tokens)).y
    # rows 6 to 8 are the learner beside rows 9 to 11, the other
    own, beside = base[6:9], base[9:12]
    past = torch.zeros_like(own)
    past[:, 1] = 0.9 * own[:, 0]
    past[:, 2] = 0.81 * own[:, 0] + 0.9 * own[:, 1]
    assert torch.allclose(made[6:9], own + 0.5 * 0.9 * past * beside)
    assert not torch.allclose(made[6:9], own)
    uncredited = estimate(ALIGNED, batch_of(other, tokens, others=False)).y
    assert torch.allclose(uncredited[6:9], own)


def test_sum_of_rewards_counts_the_other_seat():
    spec = replace(ALIGNED, transform=(SumOthers(),))
    batch = batch_of("past000010", 2)
    made, base = estimate(spec, batch).y, estimate(ALONE, batch).y
    assert torch.allclose(made[6:9], base[6:9] + base[9:12])
    # the same as learning the summed reward
    seats = [[a + b for a, b in play] for play in GROUPS for _ in range(2)]
    keys = {"seat": [0, 1] * 3, "episode": [0, 0, 1, 1, 2, 2]}
    summed = estimate(ALONE, Batch.from_lists(seats, **keys)).y
    assert torch.allclose(made[0:6], summed)


def test_sum_of_rewards_needs_seats_and_no_tokens():
    spec = replace(ALIGNED, transform=(SumOthers(),))
    with pytest.raises(ConfigError, match="'sum_others' compares seats"):
        estimate(spec, Batch.from_lists([[1.0], [2.0]], episode=[0, 1]))
    tokens = replace(spec, credit=ToGo(level="token"), baseline=NoBaseline())
    with pytest.raises(ConfigError, match="works on turns"):
        estimate(tokens, Batch.from_lists([[1.0], [2.0]], episode=[0, 0]))


def test_forms_of_the_past():
    raw = replace(ALIGNED, credit=ToGo(gamma=0.0), baseline=NoBaseline())
    batch = Batch.from_lists([[1.0, -1.0, 0.5], [0.5, 0.2, -0.4]], seat=[0, 1], episode=[0, 0])

    def a_of(**params):
        return estimate(replace(raw, transform=(Align(beta=1.0, **params),)), batch).y[0]

    # .9 * .2; (.81 - .9) * -.4
    assert a_of(gamma=0.9, form="past").tolist() == pytest.approx([1.0, -1 + 0.18, 0.5 + 0.036])
    assert torch.allclose(a_of(gamma=1.0, form="past"), a_of(gamma=1.0, form="discounted"))


def test_replies_of_a_round_are_one_step():
    """Messages first, by whoever starts, then the claims; what is paid is the round's."""
    turns = []
    for k, order in enumerate(("ab", "ba")):
        turns += [turn(order[0], k, {}), turn(order[1], k, {})]
        turns += [turn("a", k, {}), turn("b", k, {"a": 10.0 + k, "b": 1.0 + k})]
    made = Episode("coevo/some-v0", 0, {}, ("a", "b"), turns=turns)
    found = build([made], [0], steps="round")
    assert found.reward_BTK.sum(-1).tolist() == [[10.0, 11.0], [1.0, 2.0]]
    assert found.turn_of_BS.tolist() == [[0, 0, 0, 0, 1, 1, 1, 1]] * 2
    by_reply = build([made], [0])
    assert by_reply.turn_mask_BT.shape == (2, 4)


# ---- In a run --------------------------------------------------------------------------------

POOL = {
    "population": PastSelves(every=1, size=2, latest=0.0),
    "collect.episodes": 8,
    "collect.group_size": 4,
}
DILEMMA = {"prompt_style": "terse", "rounds": 3}


def small(config, changes=None, **settings):
    record = algorithm("advantage_alignment", None, POOL | (changes or {}))
    return replace(config("grpo", steps=3, checkpoint_every=100), algorithm=record, **settings)


def test_a_run_with_past_selves_trains_the_learner_only(config, folder, monkeypatch):
    seen = []
    original = policy_gradient.with_advantages

    def watched(algorithm_, learners, batch, state, **rest):
        past = {n: [p.clone() for p in a.model.parameters()] for n, a in population.items()}
        learnt = original(algorithm_, learners, batch, state, **rest)
        learns_B = batch.token_mask_BS.any(1)
        players = [batch.turns_B[b][0].player for b in range(len(learns_B))]
        assert [p == "policy" for p in players] == learns_B.tolist()
        assert not learnt[0].joined(learnt[0].advantage_CL)[~learns_B].any()
        for name, weights in past.items():
            now = population[name].model.parameters()
            assert all(torch.equal(a, b) for a, b in zip(weights, now, strict=True))
            assert all(p.grad is None for p in population[name].model.parameters())
        seen.append(int((~learns_B).sum()))
        return learnt

    given = small(config)
    run = loop.start(given, folder(given))
    population = run.population.fixed
    monkeypatch.setattr(policy_gradient, "with_advantages", watched)
    for _ in range(3):
        loop.update(run)
        run.progress = replace(run.progress, step=run.progress.step + 1)
    assert seen == [0, 8, 8]  # from the second update on, one seat of every play is a past self


def test_past_selves_change_what_is_learnt_through_alignment_alone(config, folder):
    def weights(changes, name):
        given = small(config, changes, env="coevo/iterated_game-v0", env_options=DILEMMA)
        run = loop.train(given, folder(given, name))
        parameters = run.population.learners["policy"].model.parameters()
        return torch.cat([p.detach().flatten() for p in parameters])

    naive = {"advantage.transform": ()}
    credited = weights(naive | {"advantage.others": True}, "credited")
    left_out = weights(naive | {"advantage.others": False}, "left_out")
    assert torch.equal(credited, left_out)
    assert not torch.equal(credited, weights({}, "aligned"))
    with pytest.raises(ConfigError, match="compares seats"):  # every other seat is a past self
        weights({"advantage.others": False}, "unseen")
