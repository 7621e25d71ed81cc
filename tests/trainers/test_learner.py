from dataclasses import replace

import pytest
import torch

from coevo.agents.engines import scoring
from coevo.agents.models.copies import blend
from coevo.agents.population import FrozenOpponent, Separate
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.config import assign, components, read
from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.advantage import advantages
from coevo.trainers.algorithm import OptimConfig
from coevo.trainers.algorithms import algorithm
from coevo.trainers.archive.injected_texts import InjectedTexts
from coevo.trainers.archive.sharing import Softmax
from coevo.trainers.batch import Batch
from coevo.trainers.build import build
from coevo.trainers.components import (
    AnySurrogate,
    ClipCov,
    Entropy,
    Epo,
    Kl,
    MagnetKl,
    ReferenceKl,
    SeqMeanTokenMean,
    TokenMis,
    TokenTis,
    exact_entropy,
    exact_kl,
)
from coevo.trainers.components.base import Denominators
from coevo.trainers.learners import learner as learner_module
from coevo.trainers.learners.learner import Objective
from coevo.trainers.learners.settings import EmaMagnet, SnapshotMagnet
from coevo.trainers.loss import LossConfig, policy_loss
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.steps import policy_gradient
from tests.trainers.forms import loss_inputs


@pytest.fixture
def played(config, tmp_path):
    """Play one batch: `played(name, changes, **settings)` gives the run and its batch."""

    def make(name="mars", changes=None, **settings):
        run = loop.start(config(name, changes, **settings), RunFolder(tmp_path))
        collected = run.collector.collect(0)
        return run, build(collected.episodes, collected.groups, run.learners)

    return make


def targets_of(run, batch, name="policy"):
    """Return the sequences of a parameter set with all that they learn from."""
    record = run.config.algorithm
    scored = policy_gradient.scored(record, run.learners, batch)
    return advantages(record.advantage, scored)[0].written_by(name)[0]


def gradient(learner, rows):
    learner.optimizer.zero_grad(set_to_none=True)
    learner.objective(rows).add_gradients(range(len(rows.spans)))
    return torch.cat([p.grad.flatten() for p in learner.model.parameters()]).clone()


def one_row(model, rows, c, temperature):
    """Compute the log-distribution at every reply token of one row, alone and unpadded."""
    span = rows.spans[int(rows.span_C[c])]
    logits = model(torch.tensor([span.ids])).logits[0] / temperature
    logits = logits[[i - 1 for i in span.positions()]]
    replies = zip(span.starts, span.ends, rows.choices[int(rows.span_C[c])], strict=True)
    steps = [(own, span.ids[s:at]) for s, e, own in replies for at in range(s, e)]
    for i, (choices, begun) in enumerate(steps):
        ids = sorted({c[len(begun)] for c in choices if c[: len(begun)] == begun})
        if choices:
            closed = torch.ones(logits.shape[1], dtype=torch.bool)
            closed[ids] = False
            logits = logits.index_put((torch.tensor(i),), logits[i].masked_fill(closed, -torch.inf))
    return logits.log_softmax(-1), torch.tensor([span.ids[i] for i in span.positions()])


def naive_gradient(learner, rows):
    """Return the gradient with every row computed on its own, nothing shared, nothing padded."""
    model, size = learner.model, rows.mask_CL.shape[1]
    temperature = learner.agent.sampling.temperature
    lines = {"logp": [], "entropy": [], "pull": [], "taught": []}
    for c in range(len(rows.span_C)):
        dist, ids = one_row(model, rows, c, temperature)
        with torch.no_grad():
            magnet, _ = one_row(learner.magnet or model, rows, c, temperature)
            read = rows.as_reference_reads()
            reference, _ = one_row(learner.reference or model, read, c, temperature)
        found = {
            "logp": dist.gather(-1, ids[:, None])[:, 0],
            "entropy": exact_entropy(dist),
            "pull": exact_kl(dist, magnet),
            "taught": exact_kl(dist, reference),
        }
        for name, value in found.items():
            lines[name].append(torch.nn.functional.pad(value, (0, size - len(value))))
    stacked = {name: torch.stack(values) for name, values in lines.items()}
    old = rows.logp_old_CL
    inputs = loss_inputs(
        logp_CL=stacked["logp"],
        logp_old_CL=stacked["logp"].detach() if old is None else old,
        advantage_CL=rows.advantage_CL.float(),
        mask_CL=rows.mask_CL,
        turn_CL=rows.turn_CL,
        logp_behaviour_CL=rows.logp_behaviour_CL,
        logp_ref_CL=rows.logp_ref_CL,
        entropy_CL=stacked["entropy"],
        kl_magnet_CL=stacked["pull"],
        kl_reference_CL=stacked["taught"],
    )
    model.zero_grad(set_to_none=True)
    denom = Denominators.of(rows.mask_CL, learner.agent.sampling.max_new_tokens)
    policy_loss(learner.algorithm.loss, inputs, denom)[0].backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def disturb(model, size=0.05):
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            p.add_(size * torch.randn(p.shape, generator=torch.Generator().manual_seed(i)))


TEACHER = "on_policy_distillation"
TAUGHT = {"loss.regularise": (ReferenceKl(),)}
KL = {"loss.regularise": (Kl(coef=0.1), Entropy(coef=0.1)), "magnet": None, "ema": 0.0}


@pytest.mark.parametrize(
    ("changes", "settings"),
    [
        ({"optim.token_budget": 10_000}, {}),
        ({"optim.token_budget": 60}, {}),
        ({"optim.token_budget": 200, "loss.aggregate": SeqMeanTokenMean(), **KL}, {}),
        ({"optim.token_budget": 200, "loss.is_correction": TokenTis(), **KL}, {}),
        (
            {"optim.token_budget": 1500, "collect.episodes": 4},
            {
                "env": "coevo/leduc_poker-v0",
                "env_options": {"prompt_style": "full"},
                "sampling": SamplingConfig(guided="choice", max_new_tokens=8, temperature=0.7),
            },
        ),
    ],
)
def test_the_gradient_is_that_of_every_row_computed_alone(played, changes, settings):
    run, batch = played("mars", changes, **settings)
    learner = run.learners["policy"]
    disturb(learner.model)
    rows = targets_of(run, batch)
    assert len(rows.spans) < len(rows.span_C) or settings
    found, naive = gradient(learner, rows), naive_gradient(learner, rows)
    assert float(naive.norm()) > 1e-3
    assert torch.allclose(found, naive, atol=1e-5)


@pytest.mark.parametrize("style", ["terse", "full"])
def test_a_teacher_scores_replies_in_its_own_prompt(config, tmp_path, style):
    options = {"prompt_style": style}
    record = config("on_policy_distillation", TAUGHT, env_options=options)
    run = loop.start(record, RunFolder(tmp_path))
    told = InjectedTexts(
        [run.archive.propose("instruction", "Look.", step=0)],
        Softmax(),
        (),
        "hidden",
        run.learners,
        (0,),
    )
    collected = run.collector.collect(0, told)
    rows = targets_of(run, build(collected.episodes, collected.groups, run.learners))
    learner, size = run.learners["policy"], rows.mask_CL.shape[1]
    for c, span in enumerate(rows.span_C.tolist()):
        assert rows.reference_spans[span] != rows.spans[span]
        teacher, ids = one_row(learner.reference, rows.as_reference_reads(), c, 1.0)
        logp = teacher.gather(-1, ids[:, None])[:, 0]
        want = torch.nn.functional.pad(logp, (0, size - len(logp)))
        assert torch.allclose(rows.logp_ref_CL[c] * rows.mask_CL[c], want, atol=1e-5)
    gap_CL = rows.logp_ref_CL - rows.logp_old_CL
    assert torch.allclose(rows.advantage_CL.float(), gap_CL * rows.mask_CL, atol=1e-6)
    found, naive = gradient(learner, rows), naive_gradient(learner, rows)
    assert float(naive.norm()) > 1e-3
    assert torch.allclose(found, naive, atol=1e-5)


def test_a_reference_may_be_another_model_with_the_same_tokens(config, tmp_path, tiny_model_dir):
    taught = {"reference": str(tiny_model_dir), "cycle": algorithm(TEACHER, "model").cycle}
    run = loop.start(config(TEACHER, taught), RunFolder(tmp_path / "same"))
    learner = run.learners["policy"]
    disturb(learner.model)
    assert "reference" not in run.population.agents and "reference" not in learner.models()
    metrics, _ = loop.update(run)
    assert metrics["advantage/mean"] < -1e-4, "the sampled estimate of minus the reverse KL"
    with pytest.raises(ConfigError, match="have different tokens"):
        loop.start(config(TEACHER, taught | {"reference": "starter"}), RunFolder(tmp_path / "x"))
    with pytest.raises(ConfigError, match="nothing compares with it"):
        config("grpo", {"reference": "starter"})
    with pytest.raises(ConfigError, match="leave update_reference out"):
        config(TEACHER, {**taught, "cycle": algorithm(TEACHER, "past_self").cycle})


def test_the_ratio_is_one_at_the_first_step_and_the_sampler_agrees(played):
    for changes in ({}, {"optim.epochs": 2}, {"loss.is_correction": TokenMis()}):
        run, batch = played("mars", changes)
        rows = targets_of(run, batch)
        learner = run.learners["policy"]
        assert (rows.logp_old_CL is None) == (not changes)
        stats = learner.objective(rows).add_gradients(range(len(rows.spans)))
        assert float(stats[0]["ratio/max"]) == pytest.approx(1.0, abs=1e-5)
        assert float(stats[0]["tokens/rejected"]) == 0
        assert torch.allclose(learner.passes.logp(rows), rows.logp_behaviour_CL, atol=1e-5)


def test_later_steps_are_measured_against_the_behaviour(played):
    run, batch = played("mars", {"optim.epochs": 3, "optim.minibatches": 2, "optim.lr": 0.01})
    rows = targets_of(run, batch)
    old = rows.logp_old_CL.clone()
    stats, _ = run.learners["policy"].update(
        [run.learners["policy"].objective(rows)], rate=1.0, seed=0
    )
    assert stats["ratio/max"] > 1.001 and torch.equal(rows.logp_old_CL, old)


def test_each_parameter_set_moves_by_its_own_rows_alone(played, learn_batch):
    run, batch = played("mars", {"population": Separate(), **KL, "optim.weight_decay": 0.0})
    assert sorted(set(batch.policy_C)) == ["player_0", "player_1"]
    rows, at = batch.written_by("player_0")
    assert set(rows.policy_C) == {"player_0"} and len(at) < len(batch.policy_C)
    assert rows.span_C.max() + 1 == len(rows.spans) < len(batch.spans)
    for local, whole in zip(range(len(at)), at.tolist(), strict=True):
        mine = rows.spans[int(rows.span_C[local])]
        assert mine == batch.spans[int(batch.span_C[whole])]
        assert rows.choices[int(rows.span_C[local])] == batch.choices[int(batch.span_C[whole])]
    before = {n: a.model.state_dict() for n, a in run.population.learners.items()}
    before = {n: {k: v.clone() for k, v in s.items()} for n, s in before.items()}
    only = replace(batch, policy_C=tuple("player_0" for _ in batch.policy_C))
    learn_batch(run.config.algorithm, run.learners, only, {}, rate=1.0, seed=0)
    after = {n: a.model.state_dict() for n, a in run.population.learners.items()}
    assert all(torch.equal(v, after["player_1"][k]) for k, v in before["player_1"].items())
    assert not all(torch.equal(v, after["player_0"][k]) for k, v in before["player_0"].items())


def test_a_frozen_opponent_gives_no_rows_and_keeps_its_weights(played):
    run, batch = played("mars", {"population": FrozenOpponent()})
    assert set(batch.policy_C) == {"policy"}
    assert batch.keys["policy"].unique().tolist() == [0]
    assert len(batch.keys["trajectory"]) <= 8
    start = {k: v.clone() for k, v in run.population.fixed["frozen"].model.state_dict().items()}
    loop.update(run)
    now = run.population.fixed["frozen"].model.state_dict()
    assert all(torch.equal(v, now[k]) for k, v in start.items())


def test_the_critic_learns_without_moving_the_trunk(played):
    run, batch = played("league")
    learner = run.learners["policy"]
    disturb(learner.head)
    rows = targets_of(run, batch)
    silent = replace(rows, advantage_CL=torch.zeros_like(rows.advantage_CL))
    assert not gradient(learner, silent).any()
    assert learner.head.weight.grad.norm() > 0
    errors = []
    for _ in range(40):
        values = learner.passes.values(rows)[rows.return_mask_CL]
        errors.append(float(((values - rows.return_CL[rows.return_mask_CL]) ** 2).mean()))
        learner.update(
            [learner.objective(replace(silent, value_CL=learner.passes.values(rows)))],
            rate=1.0,
            seed=0,
        )
    assert errors[-1] < 0.9 * errors[0]


def test_policy_and_critic_are_clipped_apart(played):
    run, batch = played("league", {"optim.minibatches": 1, "optim.epochs": 1})
    learner = run.learners["policy"]
    disturb(learner.head)
    rows = targets_of(run, batch)
    alone = learner.update([learner.objective(rows)], rate=0.0, seed=0)[0]["grad_norm"]
    far = replace(rows, return_CL=rows.return_CL + 1e6)
    assert learner.update([learner.objective(far)], rate=0.0, seed=0)[0][
        "grad_norm"
    ] == pytest.approx(alone)


def weight(model):
    return next(model.parameters()).detach().clone()


@pytest.mark.parametrize(
    ("magnet", "expected"),
    [
        ({"name": "snapshot_magnet", "every": 2}, [0.0, 2.0, 2.0, 4.0]),
        ({"name": "ema_magnet", "decay": 0.5}, [0.5, 1.25, 2.125, 3.0625]),
        ({"name": "ema_magnet", "decay": 0.0}, [1.0, 2.0, 3.0, 4.0]),
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
    run, _ = played("mars", {"loss.regularise": (MagnetKl(), Kl())})
    learner = run.learners["policy"]
    assert learner.output is learner.ema and run.policies()["policy"].model is learner.ema
    start = weight(learner.model)
    with torch.no_grad():
        for p in learner.model.parameters():
            p.add_(1.0)
    learner.after_update(1)
    moved = float((weight(learner.ema) - start).mean())
    assert moved == pytest.approx(10 / 11, abs=1e-4)
    assert torch.equal(weight(learner.reference), start)
    assert not any(p.requires_grad for p in learner.ema.parameters())


def test_blend_moves_by_the_share_that_is_left():
    old, new = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    expected = 0.75 * old.weight.detach() + 0.25 * new.weight.detach()
    blend(old, new, 0.75)
    assert torch.allclose(old.weight, expected)


def test_bad_magnets_are_refused_where_the_record_is_made(config):
    with pytest.raises(ConfigError, match=r"every=0 must be greater than or equal to 1"):
        config(changes={"magnet": SnapshotMagnet(every=0)})
    with pytest.raises(ConfigError, match=r"decay=1\.0 must be less than 1"):
        config(changes={"magnet": EmaMagnet(decay=1.0)})


def test_rates_warm_up():
    assert [OptimConfig(warmup=4).rate_at(s) for s in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert OptimConfig(warmup=0, rate=0.5).rate_at(0) == 0.5


def test_the_sum_over_minibatches_covers_every_row_once_per_epoch(played, monkeypatch):
    run, batch = played("mars", {"optim.epochs": 2, "optim.minibatches": 3})
    learner, seen = run.learners["policy"], []
    rows = targets_of(run, batch)
    before = Objective.add_gradients

    def noted(objective, spans, generator=None):
        seen.append(list(spans))
        return before(objective, spans)

    monkeypatch.setattr(Objective, "add_gradients", noted)
    learner.update([learner.objective(rows)], rate=1.0, seed=7)
    assert len(seen) == 6
    for epoch in (seen[:3], seen[3:]):
        assert sorted(i for part in epoch for i in part) == list(range(len(rows.spans)))
    assert seen[:3] != seen[3:]


def test_targets_default_to_the_current_policy(played):
    run, batch = played("mars")
    rows = targets_of(run, batch)
    learner = run.learners["policy"]
    explicit = replace(rows, logp_old_CL=learner.passes.logp(rows))
    a, b = gradient(learner, rows), gradient(learner, explicit)
    assert torch.allclose(a, b, atol=1e-6)


def test_the_reward_may_pay_for_distance_from_the_start(played):
    run, batch = played("mars", {"advantage.kl_in_reward": 0.5})
    plain, _ = played("mars", {"advantage.kl_in_reward": 0.0})
    disturb(run.learners["policy"].model, 0.3)
    charged = targets_of(run, batch)
    run.config = replace(
        run.config, algorithm=assign(run.config.algorithm, {"advantage.kl_in_reward": 0.0})
    )
    free = targets_of(run, batch)
    assert not torch.allclose(charged.advantage_CL, free.advantage_CL)
    assert plain.learners["policy"].reference is None


def test_sequences_without_advantage_cost_no_pass_and_change_nothing(played):
    run, batch = played("reinforce")
    learner, rows = run.learners["policy"], targets_of(run, batch)
    advantage_CL = torch.zeros_like(rows.advantage_CL)
    advantage_CL[0] = 1.0
    rows = replace(rows, advantage_CL=advantage_CL)
    every = range(len(rows.spans))
    loss = learner.objective(rows)
    assert loss.with_gradient(every) == [int(rows.span_C[0])]
    part = gradient(learner, rows)
    learner.optimizer.zero_grad(set_to_none=True)
    replace(loss, filters=False).add_gradients(every)
    whole = torch.cat([p.grad.flatten() for p in learner.model.parameters()])
    assert float(whole.abs().max()) > 0
    assert torch.allclose(whole, part, atol=1e-7)


def test_an_update_in_which_nobody_earned_anything_leaves_the_weights_alone(played):
    run, batch = played("reinforce")
    learner, rows = run.learners["policy"], targets_of(run, batch)
    before = [p.clone() for p in learner.model.parameters()]
    idle = replace(rows, advantage_CL=torch.zeros_like(rows.advantage_CL))
    assert learner.update([learner.objective(idle)], rate=1.0, seed=0)[0]["grad_norm"] == 0
    assert all(map(torch.equal, before, learner.model.parameters()))


@pytest.mark.parametrize("kind", components(AnySurrogate))
def test_only_kinds_known_for_it_move_without_an_advantage(kind):
    logp_CL = torch.tensor([[-1.0, -2.0]], requires_grad=True)
    x = Batch.from_tokens(
        logp_CL, [0.0], [[-1.5, -1.5]], logp_behaviour_CL=torch.tensor([[-1.2, -1.2]])
    )
    x = replace(x, entropy_CL=torch.ones(1, 2))
    spec = LossConfig(surrogate=read(AnySurrogate, {"name": kind}))
    (gradient_BL,) = torch.autograd.grad(
        policy_loss(spec, x, Denominators.of(x.mask_CL, 2))[0], logp_CL
    )
    assert spec.acts_at_zero != bool((gradient_BL == 0).all())


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"loss.regularise": (Epo(),)}, "epo"),
        ({"loss.is_correction": TokenTis()}, "is_correction/effective"),
    ],
)
def test_totals_that_a_controller_reads_stay_out_of_the_log(played, changes, kept):
    run, batch = played("grpo", {"collect.group_size": 4, **changes})
    learner = run.learners["policy"]
    logged, state = learner.update([learner.objective(targets_of(run, batch))], rate=1.0, seed=0)
    assert not [name for name in logged if "sum/" in name]
    assert kept in logged
    assert state or "is_correction/effective" in logged


@pytest.mark.parametrize("term", ["kl", "convex_kl", "entropy", "nll"])
def test_the_start_weights_are_kept_where_a_loss_term_reads_them(config, term):
    record = config("reinforce", {"loss.regularise": [{"name": term}]}).algorithm
    assert record.needs_reference == ("kl" in term)


CLIP_COV = {"loss.token_masks": (ClipCov(ratio=0.5, lb=0.0, ub=100.0),)}


def test_a_weight_scales_the_gradient_and_leaves_the_masks_alone(played):
    run, batch = played("reinforce", CLIP_COV)
    learner, rows = run.learners["policy"], targets_of(run, batch)
    found = []
    for weight in (1.0, 0.25):
        learner.optimizer.zero_grad(set_to_none=True)
        loss = learner.objective(rows, weight=weight)
        generator = torch.Generator().manual_seed(0)
        loss.add_gradients(range(len(rows.spans)), generator)
        found.append(torch.cat([p.grad.flatten() for p in learner.model.parameters()]).clone())
    assert float(found[0].norm()) > 0
    assert torch.allclose(0.25 * found[0], found[1], atol=1e-7)


def test_batch_statistics_hold_the_sequences_without_an_advantage(played, monkeypatch):
    run, batch = played("reinforce", CLIP_COV)
    learner, rows = run.learners["policy"], targets_of(run, batch)
    advantage_CL = rows.advantage_CL.clone()
    advantage_CL[1:] = 0.0
    seen, measure = [], learner_module.batch_statistics

    def noted(spec, whole, generator):
        seen.append(whole)
        return measure(spec, whole, generator)

    monkeypatch.setattr(learner_module, "batch_statistics", noted)
    learner.update([learner.objective(replace(rows, advantage_CL=advantage_CL))], rate=1.0, seed=0)
    (whole,) = seen
    assert int(whole.mask_CL.sum()) == int(rows.mask_CL.sum())
    spoken = whole.mask_CL & (whole.advantage_CL == 0)
    assert bool(spoken.any()) and bool((whole.logp_CL[spoken] < 0).any())


def test_pieces_that_are_computed_again_have_their_entropies_for_the_log_once(played, monkeypatch):
    run, batch = played("grpo")
    learner, sequences = run.learners["policy"], targets_of(run, batch)
    rows = []

    def counted(logp_NV):
        rows.append(len(logp_NV))
        return exact_entropy(logp_NV)

    monkeypatch.setattr(learner_module, "exact_entropy", counted)
    found = []
    for piece, kept in ((2**24, 2**26), (2**12, 2**26), (2**12, 2**12)):
        monkeypatch.setattr(scoring, "PIECE", piece)
        monkeypatch.setattr(scoring, "KEPT", kept)
        found.append(gradient(learner, sequences))
    spans = learner.objective(sequences).with_gradient(range(len(sequences.spans)))
    tokens = sum(len(sequences.spans[s].positions()) for s in spans)
    assert sum(rows) == 3 * tokens and len(set(rows)) > 1
    assert all(torch.allclose(found[0], other, atol=1e-6) for other in found[1:])
