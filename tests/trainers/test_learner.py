from dataclasses import replace

import numpy as np
import pytest
import torch

from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.errors import ConfigError
from coevo.trainers import learning, loop
from coevo.trainers.algorithm import MAGNET, OptimSpec
from coevo.trainers.estimators import (
    KIND,
    LossInputs,
    LossSpec,
    advantages,
    count,
    exact_entropy,
    exact_kl,
    from_tokens,
    option,
    policy_loss,
)
from coevo.trainers.estimators.regularise import NEEDS_REFERENCE
from coevo.trainers.learner import Targets
from coevo.trainers.record import assign
from coevo.trainers.rows import build
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.weights import blend, schedule


@pytest.fixture
def played(config, tmp_path):
    """Play one batch: `played(name, changes, **settings)` gives the run and its batch."""

    def make(name="mars", changes=None, **settings):
        run = loop.start(config(name, changes, **settings), RunFolder(tmp_path))
        gathered = run.gatherer.gather(0)
        return run, build(gathered.episodes, gathered.groups, run.learners)

    return make


def targets_of(run, batch, name="policy"):
    before = learning._passes(run.config.algorithm, run.learners, batch)
    credited = advantages(
        run.config.algorithm.advantage, replace(batch.trajectories, **before.streams), {}
    )
    rows, at = batch.rows.written_by(name)
    return rows, learning._targets(batch.rows, credited, before, at)


def gradient(learner, rows, targets):
    learner.optimizer.zero_grad(set_to_none=True)
    learner._accumulate(rows, targets, range(len(rows.spans)))
    return torch.cat([p.grad.flatten() for p in learner.model.parameters()]).clone()


def one_row(model, rows, c, temperature):
    """Compute the log-distribution at every reply token of one row, alone and unpadded."""
    span = rows.spans[int(rows.span_C[c])]
    logits = model(torch.tensor([span.ids])).logits[0] / temperature
    logits = logits[[i - 1 for i in span.positions()]]
    allowed = rows.allowed[int(rows.span_C[c])] or [[]] * len(logits)
    for i, ids in enumerate(allowed):
        if ids:
            closed = torch.ones(logits.shape[1], dtype=torch.bool)
            closed[ids] = False
            logits = logits.index_put((torch.tensor(i),), logits[i].masked_fill(closed, -torch.inf))
    return logits.log_softmax(-1), torch.tensor([span.ids[i] for i in span.positions()])


def naive_gradient(learner, rows, targets):
    """Give the gradient with every row computed on its own, nothing shared, nothing padded."""
    model, size = learner.model, rows.mask_CL.shape[1]
    temperature = learner.agent.sampling.temperature
    lines = {"logp": [], "entropy": [], "pull": []}
    for c in range(len(rows.span_C)):
        dist, ids = one_row(model, rows, c, temperature)
        with torch.no_grad():
            magnet, _ = one_row(learner.magnet or model, rows, c, temperature)
        found = {
            "logp": dist.gather(-1, ids[:, None])[:, 0],
            "entropy": exact_entropy(dist),
            "pull": exact_kl(dist, magnet),
        }
        for name, value in found.items():
            lines[name].append(torch.nn.functional.pad(value, (0, size - len(value))))
    stacked = {name: torch.stack(values) for name, values in lines.items()}
    old = targets.logp_old_CL
    inputs = LossInputs(
        logp_BL=stacked["logp"],
        logp_old_BL=stacked["logp"].detach() if old is None else old,
        advantage_BL=targets.advantage_CL.float(),
        mask_BL=rows.mask_CL,
        turn_id_BL=rows.turn_CL,
        logp_roll_BL=rows.logp_roll_CL,
        logp_ref_BL=targets.logp_ref_CL,
        entropy_BL=stacked["entropy"],
        kl_magnet_BL=stacked["pull"],
    )
    model.zero_grad(set_to_none=True)
    denom = count(rows.mask_CL, learner.agent.sampling.max_new_tokens)
    policy_loss(learner.algorithm.loss, inputs, denom).loss.backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def disturb(model, size=0.05):
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            p.add_(size * torch.randn(p.shape, generator=torch.Generator().manual_seed(i)))


KL = {"loss.regularise": "kl(coef=0.1); entropy(coef=0.1)", "magnet": "none", "average": 0.0}


@pytest.mark.parametrize(
    ("changes", "settings"),
    [
        ({"optim.token_budget": 10_000}, {}),
        ({"optim.token_budget": 60}, {}),
        ({"optim.token_budget": 200, "loss.aggregate": "seq_mean_token_mean", **KL}, {}),
        ({"optim.token_budget": 200, "loss.correct": "token_tis", **KL}, {}),
        (
            {"optim.token_budget": 1500, "sampler.episodes": 4},
            {
                "env": "coevo/leduc_poker-v0",
                "env_options": {"prompt_style": "full", "illegal": "mask"},
                "sampling": SamplingConfig(max_new_tokens=8, temperature=0.7),
            },
        ),
    ],
)
def test_the_gradient_is_that_of_every_row_computed_alone(played, changes, settings):
    run, batch = played("mars", changes, **settings)
    learner = run.learners["policy"]
    disturb(learner.model)
    rows, targets = targets_of(run, batch)
    assert len(rows.spans) < len(rows.span_C) or settings
    found, naive = gradient(learner, rows, targets), naive_gradient(learner, rows, targets)
    assert float(naive.norm()) > 1e-3
    assert torch.allclose(found, naive, atol=1e-5)


def test_the_ratio_is_one_at_the_first_step_and_the_sampler_agrees(played):
    for changes in ({}, {"optim.epochs": 2}, {"loss.correct": "token_mis"}):
        run, batch = played("mars", changes)
        rows, targets = targets_of(run, batch)
        learner = run.learners["policy"]
        assert (targets.logp_old_CL is None) == (not changes)
        stats = learner._accumulate(rows, targets, range(len(rows.spans)))
        assert float(stats[0]["ratio/max"]) == pytest.approx(1.0, abs=1e-5)
        assert float(stats[0]["tokens/rejected"]) == 0
        assert torch.allclose(learner.logp(rows), rows.logp_roll_CL, atol=1e-5)


def test_later_steps_are_measured_against_the_behaviour(played):
    run, batch = played("mars", {"optim.epochs": 3, "optim.minibatches": 2, "optim.lr": 0.01})
    rows, targets = targets_of(run, batch)
    old = targets.logp_old_CL.clone()
    stats = run.learners["policy"].update(rows, targets, rate=1.0, seed=0)
    assert stats["ratio/max"] > 1.001 and torch.equal(targets.logp_old_CL, old)


def test_each_parameter_set_moves_by_its_own_rows_alone(played):
    run, batch = played("mars", {"population": "separate", **KL, "optim.weight_decay": 0.0})
    assert sorted(set(batch.rows.policy_C)) == ["player_0", "player_1"]
    rows, at = batch.rows.written_by("player_0")
    assert set(rows.policy_C) == {"player_0"} and len(at) < len(batch.rows.policy_C)
    assert rows.span_C.max() + 1 == len(rows.spans) < len(batch.rows.spans)
    for local, whole in zip(range(len(at)), at.tolist(), strict=True):
        mine = rows.spans[int(rows.span_C[local])]
        assert mine == batch.rows.spans[int(batch.rows.span_C[whole])]
        assert (
            rows.allowed[int(rows.span_C[local])]
            == batch.rows.allowed[int(batch.rows.span_C[whole])]
        )
    before = {n: a.model.state_dict() for n, a in run.population.learners.items()}
    before = {n: {k: v.clone() for k, v in s.items()} for n, s in before.items()}
    only = replace(batch.rows, policy_C=tuple("player_0" for _ in batch.rows.policy_C))
    learning.learn_batch(
        run.config.algorithm, run.learners, replace(batch, rows=only), {}, rate=1.0, seed=0
    )
    after = {n: a.model.state_dict() for n, a in run.population.learners.items()}
    assert all(torch.equal(v, after["player_1"][k]) for k, v in before["player_1"].items())
    assert not all(torch.equal(v, after["player_0"][k]) for k, v in before["player_0"].items())


def test_a_frozen_opponent_gives_no_rows_and_keeps_its_weights(played):
    run, batch = played("mars", {"population": "frozen"})
    assert set(batch.rows.policy_C) == {"policy"}
    assert batch.trajectories.keys["policy"].unique().tolist() == [0]
    assert len(batch.trajectories.keys["trajectory"]) <= 8
    start = {k: v.clone() for k, v in run.population.others["frozen"].model.state_dict().items()}
    loop.update(run)
    now = run.population.others["frozen"].model.state_dict()
    assert all(torch.equal(v, now[k]) for k, v in start.items())


def test_the_critic_learns_without_moving_the_trunk(played):
    run, batch = played("league")
    learner = run.learners["policy"]
    disturb(learner.head)
    rows, targets = targets_of(run, batch)
    silent = replace(targets, advantage_CL=torch.zeros_like(targets.advantage_CL))
    assert not gradient(learner, rows, silent).any()
    assert learner.head.weight.grad.norm() > 0
    errors = []
    for _ in range(40):
        values = learner.values(rows)[targets.return_mask_CL]
        errors.append(float(((values - targets.return_CL[targets.return_mask_CL]) ** 2).mean()))
        learner.update(rows, replace(silent, value_old_CL=learner.values(rows)), rate=1.0, seed=0)
    assert errors[-1] < 0.9 * errors[0]


def test_policy_and_critic_are_clipped_apart(played):
    run, batch = played("league", {"optim.minibatches": 1, "optim.epochs": 1})
    learner = run.learners["policy"]
    disturb(learner.head)
    rows, targets = targets_of(run, batch)
    alone = learner.update(rows, targets, rate=0.0, seed=0)["grad_norm"]
    far = replace(targets, return_CL=targets.return_CL + 1e6)
    assert learner.update(rows, far, rate=0.0, seed=0)["grad_norm"] == pytest.approx(alone)


def weight(model):
    return next(model.parameters()).detach().clone()


@pytest.mark.parametrize(
    ("magnet", "expected"),
    [
        ("snapshot(every=2)", [0.0, 2.0, 2.0, 4.0]),
        ("ema(decay=0.5)", [0.5, 1.25, 2.125, 3.0625]),
        ("ema(decay=0.0)", [1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_magnets_follow_the_policy_as_their_option_says(played, magnet, expected):
    run, _ = played("mars", {"magnet": magnet})
    learner, seen = run.learners["policy"], []
    start = weight(learner.model)
    for step in range(1, 5):
        with torch.no_grad():
            for p in learner.model.parameters():
                p.add_(1.0)
        learner.after_update(step)
        seen.append(float((weight(learner.magnet) - start).mean()))
    assert seen == pytest.approx(expected, abs=1e-4)


def test_the_average_is_what_the_run_hands_out_and_the_reference_stays(played):
    run, _ = played("mars", {"loss.regularise": "magnet; kl"})
    learner = run.learners["policy"]
    assert learner.output is learner.average and run.policies()["policy"].model is learner.average
    start = weight(learner.model)
    with torch.no_grad():
        for p in learner.model.parameters():
            p.add_(1.0)
    learner.after_update(1)
    moved = float((weight(learner.average) - start).mean())
    assert moved == pytest.approx(10 / 11, abs=1e-4)
    assert torch.equal(weight(learner.reference), start)
    assert not any(p.requires_grad for p in learner.average.parameters())


def test_blend_moves_by_the_share_that_is_left():
    old, new = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    expected = 0.75 * old.weight.detach() + 0.25 * new.weight.detach()
    blend(old, new, 0.75)
    assert torch.allclose(old.weight, expected)


def test_bad_magnets_are_refused_where_the_record_is_made(config):
    with pytest.raises(ConfigError, match="every must be at least 1"):
        config(changes={"magnet": "snapshot(every=0)"})
    with pytest.raises(ConfigError, match="decay must be"):
        config(changes={"magnet": "ema(decay=1.0)"})
    assert set(MAGNET) == {"none", "snapshot", "ema"}


def test_schedules_warm_up_and_fall_to_their_end():
    linear = OptimSpec(schedule="linear", final_lr=0.1, warmup=4)
    assert [schedule(linear, s, 0.0) for s in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert schedule(linear, 99, 1.0) == pytest.approx(0.1)
    assert schedule(linear, 99, 0.5) == pytest.approx(0.55)
    cosine = OptimSpec(schedule="cosine", final_lr=0.0, warmup=0)
    shares = [schedule(cosine, 0, p) for p in np.linspace(0, 1, 9)]
    assert shares[0] == 1 and shares[-1] == pytest.approx(0) and shares == sorted(shares)[::-1]
    assert schedule(OptimSpec(), 9, 0.7) == 1.0


def test_the_sum_over_minibatches_covers_every_row_once_per_epoch(played, monkeypatch):
    run, batch = played("mars", {"optim.epochs": 2, "optim.minibatches": 3})
    learner, seen = run.learners["policy"], []
    rows, targets = targets_of(run, batch)
    before = learner._accumulate

    def noted(rows, targets, spans, generator=None):
        seen.append(list(spans))
        return before(rows, targets, spans)

    monkeypatch.setattr(learner, "_accumulate", noted)
    learner.update(rows, targets, rate=1.0, seed=7)
    assert len(seen) == 6
    for epoch in (seen[:3], seen[3:]):
        assert sorted(i for part in epoch for i in part) == list(range(len(rows.spans)))
    assert seen[:3] != seen[3:]


def test_targets_default_to_the_current_policy(played):
    run, batch = played("mars")
    rows, targets = targets_of(run, batch)
    bare = Targets(advantage_CL=targets.advantage_CL)
    learner = run.learners["policy"]
    explicit = replace(bare, logp_old_CL=learner.logp(rows))
    a, b = gradient(learner, rows, bare), gradient(learner, rows, explicit)
    assert torch.allclose(a, b, atol=1e-6)


def test_the_reward_may_pay_for_distance_from_the_start(played):
    run, batch = played("mars", {"advantage.kl_in_reward": 0.5})
    plain, _ = played("mars", {"advantage.kl_in_reward": 0.0})
    disturb(run.learners["policy"].model, 0.3)
    _, charged = targets_of(run, batch)
    run.config = replace(
        run.config, algorithm=assign(run.config.algorithm, {"advantage.kl_in_reward": 0.0})
    )
    _, free = targets_of(run, batch)
    assert not torch.allclose(charged.advantage_CL, free.advantage_CL)
    assert plain.learners["policy"].reference is None


def test_sequences_without_advantage_cost_no_pass_and_change_nothing(played):
    run, batch = played("reinforce")
    learner, (rows, targets) = run.learners["policy"], targets_of(run, batch)
    advantage_CL = torch.zeros_like(targets.advantage_CL)
    advantage_CL[0] = 1.0
    targets = Targets(advantage_CL)
    useful = learner._useful(rows, targets)
    assert useful.tolist() == [int(rows.span_C[0])]
    whole = gradient(learner, rows, targets)
    learner.optimizer.zero_grad(set_to_none=True)
    learner._accumulate(rows, targets, useful.tolist())
    part = torch.cat([p.grad.flatten() for p in learner.model.parameters()])
    assert float(whole.abs().max()) > 0
    assert torch.allclose(whole, part, atol=1e-7)


def test_an_update_in_which_nobody_earned_anything_leaves_the_weights_alone(played):
    run, batch = played("reinforce")
    learner, (rows, targets) = run.learners["policy"], targets_of(run, batch)
    before = [p.clone() for p in learner.model.parameters()]
    idle = Targets(torch.zeros_like(targets.advantage_CL))
    assert learner.update(rows, idle, rate=1.0, seed=0)["grad_norm"] == 0
    assert all(map(torch.equal, before, learner.model.parameters()))


@pytest.mark.parametrize("kind", KIND)
def test_only_kinds_known_for_it_move_without_an_advantage(kind):
    logp_BL = torch.tensor([[-1.0, -2.0]], requires_grad=True)
    x = from_tokens(logp_BL, [0.0], [[-1.5, -1.5]], logp_roll_BL=torch.tensor([[-1.2, -1.2]]))
    x = replace(x, entropy_BL=torch.ones(1, 2))
    spec = LossSpec(kind=option(kind))
    (gradient_BL,) = torch.autograd.grad(policy_loss(spec, x, count(x.mask_BL, 2)).loss, logp_BL)
    assert spec.rests == bool((gradient_BL == 0).all())


def test_the_influence_of_a_reward_is_the_product_of_its_gradient_with_all(played):
    changes = {"advantage.compose": "gradient_weights", "rewards": "format(legal=0.25)"}
    run, batch = played("reinforce", changes)
    learner, names = run.learners["policy"], batch.trajectories.components
    each = []
    for name in names:
        only = {"advantage.reward_weights": {c: float(c == name) for c in names}}
        spec = assign(run.config.algorithm, {"advantage.compose": "sum", **only}).advantage
        a_BS = advantages(spec, batch.trajectories, {}).advantage_BS
        each.append(gradient(learner, batch.rows, Targets(batch.rows.from_stream(a_BS))))
    learnt = learning.learn_batch(run.config.algorithm, run.learners, batch, {}, rate=1.0, seed=0)
    for k, name in enumerate(names):
        expected = float(sum(each[k] @ other for other in each))
        measured = learnt.state[f"gradient_weights/s/{name}"]
        assert measured == pytest.approx(expected, rel=1e-3, abs=1e-9)
    again = learning.learn_batch(
        run.config.algorithm, run.learners, batch, learnt.state, rate=1.0, seed=1
    )
    weights = [again.state[f"gradient_weights/w/{c}"] for c in names]
    assert sum(weights) == pytest.approx(1.0) and weights != [0.5, 0.5]


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"loss.regularise": "epo"}, "epo"),
        ({"loss.regularise": "adaptive_kl"}, "adaptive_kl/coef"),
        ({"loss.correct": "token_tis"}, "correct/effective"),
    ],
)
def test_totals_that_a_controller_reads_stay_out_of_the_log(played, changes, kept):
    run, batch = played("grpo", {"sampler.group_size": 4, **changes})
    learner = run.learners["policy"]
    logged = learner.update(*targets_of(run, batch), rate=1.0, seed=0)
    assert not [name for name in logged if "sum/" in name]
    assert kept in logged
    assert learner.loss_state or "correct/effective" in logged


@pytest.mark.parametrize("term", [*sorted(NEEDS_REFERENCE), "entropy", "nll"])
def test_the_start_weights_are_kept_where_a_loss_term_reads_them(config, term):
    record = config("reinforce", {"loss.regularise": term}).algorithm
    assert record.needs_reference == (term in NEEDS_REFERENCE)
