"""Losses of items: worked numbers, TRL's formulas, and what their gradients must not depend on.

TRL's formulas (`DPOTrainer.dpo_loss` for sigmoid, ipo, sppo_hard and rpo_alpha,
`CPOTrainer.cpo_loss` for simpo) are written out below, pair by pair. Its likelihood term of
`rpo_alpha` is a mean over the tokens of a batch; for a batch of one pair that is ours per token.
"""

from dataclasses import replace
from math import exp, log
from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import logsigmoid

from coevo.benchmarks.reproductions.preferences import CIRCLE
from coevo.benchmarks.reproductions.run import SGD, Arm, trained
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.parsing import Status
from coevo.trainers import loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.build import build
from coevo.trainers.items import ItemInputs, Items, groups, worths
from coevo.trainers.losses import (
    Adversarial,
    Dno,
    Dpo,
    Ipo,
    Policy,
    Rpo,
    Sft,
    Simpo,
    Sppo,
    Unlikelihood,
)
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.steps import (
    Best,
    BuildBatch,
    Collect,
    MakeItems,
    Pairs,
    Replies,
    Update,
    Worst,
    policy_gradient,
)

REAL = torch.float64
LOGP = torch.tensor([[-5.0, -9.0], [-3.5, -2.0], [-7.25, -7.0]], dtype=REAL)
REF = torch.tensor([[-6.0, -8.0], [-3.0, -2.5], [-7.0, -6.0]], dtype=REAL)
TOKENS = torch.tensor([[5.0, 3.0], [2.0, 4.0], [8.0, 1.0]], dtype=REAL)
WORTH = torch.tensor([[0.9, 0.1], [0.6, 0.5], [0.75, 0.75]], dtype=REAL)


def inputs(**changes):
    return replace(ItemInputs(LOGP, TOKENS, WORTH, REF), **changes)


def trl(kind, beta, x, *, gamma=0.0, alpha=0.0):
    """Return TRL's loss of every pair, from its own quantities."""
    chosen, rejected = x.logp_NK.unbind(1)
    ref_chosen, ref_rejected = x.logp_ref_NK.unbind(1)
    chosen_logratios, rejected_logratios = chosen - ref_chosen, rejected - ref_rejected
    logits = (chosen - rejected) - (ref_chosen - ref_rejected)
    if kind == "sigmoid":
        loss = -logsigmoid(beta * logits)
    elif kind == "ipo":
        avg = chosen_logratios / x.tokens_NK[:, 0] - rejected_logratios / x.tokens_NK[:, 1]
        loss = (avg - 1 / (2 * beta)) ** 2
    elif kind == "sppo_hard":
        loss = (chosen_logratios - 0.5 / beta) ** 2 + (rejected_logratios + 0.5 / beta) ** 2
    else:
        mean_chosen, mean_rejected = (x.logp_NK / x.tokens_NK).unbind(1)
        loss = -logsigmoid(beta * (mean_chosen - mean_rejected - gamma / beta))
    return loss + alpha * -(chosen / x.tokens_NK[:, 0])


@pytest.mark.parametrize(
    ("ours", "theirs", "factor"),
    [
        (Dpo(beta=0.3), {"kind": "sigmoid", "beta": 0.3}, 1.0),
        (Ipo(beta=0.3, per="token"), {"kind": "ipo", "beta": 0.3}, 1.0),
        (Simpo(beta=2.0, margin=1.4), {"kind": "simpo", "beta": 2.0, "gamma": 1.4}, 1.0),
        (
            Rpo(beta=0.3, eta=0.7, per="token"),
            {"kind": "sigmoid", "beta": 0.3, "alpha": 0.7},
            1.0,
        ),
        (Sppo(beta=0.3, hard=True), {"kind": "sppo_hard", "beta": 0.3}, 2.0),  # TRL leaves 1/2 out
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_loss_and_gradient_are_those_of_trl(ours, theirs, factor):
    answers = []
    for formula in (ours, lambda x: trl(x=x, **theirs)):
        logp = LOGP.clone().requires_grad_()
        loss = formula(inputs(logp_NK=logp))
        (slope,) = torch.autograd.grad(loss.sum(), logp)
        answers.append((loss.detach(), slope))
    (loss, slope), (their_loss, their_slope) = answers
    torch.testing.assert_close(factor * loss, their_loss)
    torch.testing.assert_close(factor * slope, their_slope)


def test_worked_numbers():
    """First pair: D_w = 1, D_l = -1."""
    x = inputs()
    assert float(Dpo(beta=0.5)(x)[0]) == pytest.approx(log(1 + 2.718281828459045**-1))
    assert float(Ipo(beta=0.5)(x)[0]) == pytest.approx((2 - 1) ** 2)
    assert float(Rpo(beta=0.5, eta=0.2)(x)[0]) == pytest.approx(0.3132617 + 0.2 * 0.5 * 5.0)
    assert float(Sppo(beta=0.4)(x)[0]) == pytest.approx(0.0, abs=1e-12)  # (.9-.5)/.4 = 1
    assert float(Dno(eta=1.0)(x)[2]) == pytest.approx(  # equal worth: half of either
        -0.5 * float(logsigmoid(torch.tensor(0.75))) - 0.5 * float(logsigmoid(torch.tensor(-0.75)))
    )
    d_w, d_l = log(1 + exp(1.0)), log(1 + exp(-1.0))
    assert float(Adversarial()(x)[0]) == pytest.approx(d_w)  # log(1 + pi / pi_ref)
    one = replace(x, logp_NK=LOGP[:, 1:], logp_ref_NK=REF[:, 1:])
    assert float(Adversarial()(one)[0]) == pytest.approx(d_l)
    assert Sft()(x).tolist() == [5.0, 3.5, 7.25] and Sft().size(x).tolist() == [5.0, 2.0, 8.0]


def test_adversarial_imitation_is_bounded_where_likelihood_is_not():
    """Its slope is sigmoid(D): the weight of a failure fades as it becomes unlikely."""
    ratio = torch.tensor([[-20.0], [-2.0], [0.0], [3.0]], dtype=REAL, requires_grad=True)
    x = ItemInputs(ratio, torch.ones(4, 1), torch.zeros(4, 1), torch.zeros(4, 1, dtype=REAL))
    loss = Adversarial()(x)
    (slope,) = torch.autograd.grad(loss.sum(), ratio)
    torch.testing.assert_close(slope, ratio.sigmoid().detach())
    assert (loss >= 0).all() and float(loss[0].detach()) < 1e-8


def test_dno_is_lowest_where_log_ratios_differ_as_win_rates_do():
    """d = eta (D_1 - D_2) = r_1 - r_2."""
    eta = 0.5
    gap = (WORTH[:, 0] - WORTH[:, 1]) / eta
    best = REF + torch.stack([gap, torch.zeros(3, dtype=REAL)], 1)
    logp = best.clone().requires_grad_()
    (slope,) = torch.autograd.grad(Dno(eta=eta)(inputs(logp_NK=logp)).sum(), logp)
    assert float(slope.abs().max()) < 1e-12


# ---- On a model ------------------------------------------------------------------------------

FAILURES = [Adversarial(), Adversarial(per="token"), Unlikelihood()]
LOSSES = [Dpo(), Ipo(), Rpo(), Rpo(per="token"), Simpo(), Sppo(beta=0.5), Dno(), Sft(), *FAILURES]


@pytest.fixture
def played(config, tmp_path):
    """Play a small batch; give the run, its batch with scores, pairs and demonstrations."""
    changes = {
        "collect.episodes": 16,
        "collect.group_size": 4,
        "cycle": (
            "collect",
            "build_batch",
            "compute_advantages",
            {"name": "make_items", "to": {"name": "pairs"}},
            {"name": "update", "losses": [{"name": "policy"}, {"name": "dpo"}]},
        ),
    }
    run = loop.start(config("grpo", changes), RunFolder(tmp_path))
    found = run.collector.collect(0)
    batch = build(found.episodes, found.groups, run.learners)
    torch.manual_seed(1)
    with torch.no_grad():  # away from the reference
        for p in run.learners["policy"].model.parameters():
            p += 0.02 * torch.randn_like(p)
    batch = policy_gradient.scored(run.config.algorithm, run.learners, batch)
    worth = worths(batch, {})
    made = {}
    for to in (Pairs(take="all", ties=True), Best(), Worst(below=1e9)):
        at = torch.tensor([x for g in groups(batch) for x in to(worth, g)])
        made[to.kind] = Items(batch, at, torch.tensor(worth, dtype=REAL)[at] / 8)
    return run, batch, made


def gradient(learner, *lessons):
    learner.optimizer.zero_grad(set_to_none=True)
    for lesson in lessons:
        lesson.add_gradients(range(lesson.units))
    return torch.cat([p.grad.flatten() for p in learner.model.parameters()]).clone()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_gradient_is_that_of_the_formula(played, loss):
    """By autograd through one pass over everything, without micro-batches or slopes."""
    run, _, made = played
    learner, items = run.learners["policy"], made[loss.kind]
    found = gradient(learner, learner.objective_of(loss, items, {}))
    learner.optimizer.zero_grad(set_to_none=True)
    s = items.batch
    (part,) = replace(learner.passes, token_budget=10**9).micro_batches(s)
    logp_CL = torch.zeros(s.mask_CL.shape)
    logp_CL = logp_CL.index_put((part.at,), part.spread(learner.passes.score(s, part).logp_N(), s))
    x = items.inputs(logp_CL, loss.of_tokens)
    (loss(x).sum() / loss.size(x).sum()).backward()
    expected = torch.cat([p.grad.flatten() for p in learner.model.parameters()])
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-4)
    assert float(found.abs().max()) > 0


@pytest.mark.parametrize("loss", [Dpo(), Sft(), *FAILURES], ids=lambda loss: loss.name)
def test_micro_batches_order_and_padding_change_nothing(played, loss):
    run, _, made = played
    learner, items = run.learners["policy"], made[loss.kind]
    whole = gradient(learner, learner.objective_of(loss, items, {}))
    order = torch.randperm(len(items)).tolist()
    turned = gradient(learner, learner.objective_of(loss, items.chosen(order), {}))
    torch.testing.assert_close(turned, whole, atol=1e-6, rtol=1e-4)
    learner.passes = replace(learner.passes, token_budget=64)
    small = gradient(learner, learner.objective_of(loss, items, {}))
    torch.testing.assert_close(small, whole, atol=1e-6, rtol=1e-4)
    parts = learner.objective_of(loss, items, {}).cut(3)
    learner.optimizer.zero_grad(set_to_none=True)
    for units in torch.arange(len(items)).tensor_split(3):
        parts.add_gradients(units.tolist())
    summed = torch.cat([p.grad.flatten() for p in learner.model.parameters()])
    torch.testing.assert_close(summed / 3, whole, atol=1e-6, rtol=1e-4)


def test_a_mixed_update_is_the_sum_of_the_separate_gradients(played):
    run, batch, made = played
    learner, record = run.learners["policy"], run.config.algorithm
    taught = policy_gradient.with_advantages(record, run.learners, batch, {}, rate=1.0)[0]
    lessons = [learner.objective_of(Policy(weight=0.7), taught, {})]
    others = (Dpo(weight=0.5), Sft(), Adversarial(weight=0.2, per="token"), Unlikelihood())
    lessons += [learner.objective_of(x, made[x.kind], {}) for x in others]
    apart = sum(gradient(learner, lesson) for lesson in lessons)
    torch.testing.assert_close(gradient(learner, *lessons), apart, atol=1e-6, rtol=0)
    before = [p.clone() for p in learner.model.parameters()]
    metrics, _ = learner.update(lessons, rate=1.0, seed=0)
    assert {"loss/policy", "dpo/loss/item", "dpo/accuracy", "sft/chosen"} <= set(metrics)
    moved = zip(before, learner.model.parameters(), strict=True)
    assert any(not torch.equal(a, b) for a, b in moved)


def test_padding_and_tokens_without_choice_cost_nothing(played):
    """Log-probability 0: nothing else could be said there, and nothing can be unlearnt."""
    _, _, made = played
    failures = made["failures"]
    logp_CL = torch.full(failures.batch.mask_CL.shape, -0.25, dtype=REAL)
    logp_CL[:, 0] = 0.0
    logp_CL.requires_grad_()
    x = failures.inputs(logp_CL, Unlikelihood().of_tokens)
    loss_N = Unlikelihood()(x)
    (slope_CL,) = torch.autograd.grad(loss_N.sum(), logp_CL)
    counted_B = failures.summed((logp_CL.detach() < 0).to(REAL))
    expected_N = counted_B[failures.at_NK[:, 0]] * -log(1 - exp(-0.25))
    assert expected_N.any()
    torch.testing.assert_close(loss_N.detach(), expected_N)
    assert not slope_CL[:, 0].any() and not slope_CL[~failures.batch.mask_CL].any()


def test_items_of_another_parameter_set_are_left_out(played):
    _, _, made = played
    pairs = made["pairs"]
    none, at = pairs.written_by("somebody else")
    assert len(none) == len(at) == 0
    own, at = pairs.written_by("policy")
    assert len(own) == len(pairs) == len(at)


# ---- It learns -------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", FAILURES, ids=["reply", "token", "unlikelihood"])
def test_what_failed_becomes_unlikely_and_the_rest_keeps_its_proportions(loss):
    """One arm of four is paid -1; a table in the shipped loop learns from its failures alone."""
    update = Update(losses=(loss,))
    cycle = (Collect(), BuildBatch(), MakeItems(to=Worst()), update)
    arm = Arm(
        "grpo",
        {**SGD, "collect.episodes": 64, "optim.lr": 2.0},
        {"payoffs": ((-1.0, 0.0, 0.0, 0.5),)},
        edit=lambda made, seed: replace(made, cycle=cycle),
    )
    with trained(CIRCLE, arm, 0, steps=25) as end:
        course = torch.stack(end.seen)
    bad = torch.cat([torch.tensor([0.25], dtype=REAL), course[:, 0]])
    assert (bad.diff() <= 0).all() and float(bad[-1]) < 0.05
    torch.testing.assert_close(course[-1, 1:], course[-1, 1:].mean().expand(3))


# ---- From episodes ---------------------------------------------------------------------------


def test_pairs_and_demonstrations_of_a_group():
    worth = [0.5, 2.0, 2.0, -1.0, 0.4]
    group = [0, 1, 2, 3, 4]
    assert Pairs()(worth, group) == [(1, 3)]
    every = Pairs(take="all", margin=1.0)(worth, group)
    assert every == [(1, 0), (1, 4), (1, 3), (2, 0), (2, 4), (2, 3), (0, 3), (4, 3)]
    assert (1, 2) not in Pairs(take="all")(worth, group)
    assert (1, 2) in Pairs(take="all", ties=True)(worth, group)
    assert Pairs()(worth, [1, 2]) == [] and Pairs()(worth, [3]) == []
    assert Best()(worth, group) == [(1,)] and Best(above=2.0)(worth, group) == []
    assert Replies(above=0.5)(worth, group) == [(1,), (2,)]


def test_failures_are_single_turns_or_whole_episodes():
    def turn(agent, paid):
        made = Turn(agent, (), "", None, Status.LEGAL, None)
        made.player, made.prompt_ids, made.logprobs = "policy", [7], [-0.5, -0.5]
        made.token_ids = [len(paid), 9]
        made.pay("payoff", paid)
        return made

    turns = [turn("a", {}), turn("b", {"b": -1.0}), turn("a", {"a": -1.0}), turn("b", {"b": 3.0})]
    batch = build([Episode("coevo/some-v0", 0, {}, ("a", "b"), turns=turns)], [0])

    def recycled(of):
        ctx = SimpleNamespace(batch=batch, algorithm=algorithm("grpo"), items={}, metrics={})
        MakeItems(to=Worst(of=of))(ctx)
        return ctx.items["failures"]

    whole, apart = recycled("episode"), recycled("turn")
    assert whole.worth_NK.tolist() == [[-1.0]] and whole.at_NK.tolist() == [[0]]
    assert sorted(apart.worth_NK.flatten().tolist()) == [-1.0, -1.0]
    # b's first turn is not all that b said: only its own two tokens are learnt from
    x = apart.inputs(torch.where(apart.batch.mask_CL, -0.5, 0.0))
    assert x.tokens_NK.tolist() == [[2.0], [2.0]] and x.logp_NK.tolist() == [[-1.0], [-1.0]]


def test_the_better_share_of_the_items_is_kept(played):
    run, batch, _ = played
    ctx = loop.context_of(run)
    ctx.batch = batch
    MakeItems(to=Pairs(take="all"))(ctx)
    every = ctx.items["pairs"]
    MakeItems(to=Pairs(take="all", keep=0.25))(ctx)
    kept = ctx.items["pairs"]
    assert len(kept) == round(0.25 * len(every))
    assert (
        kept.worth_NK[:, 0].min()
        >= every.worth_NK[:, 0].sort(descending=True).values[len(kept) - 1]
    )
