"""Less memory changes no gradient; too little of it is said before work starts."""

import gc
import warnings
import weakref

import pytest
import torch

from coevo.agents import policy_maker
from coevo.agents.load import load_model
from coevo.agents.population import FrozenOpponent, Separate
from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.advantage import advantages
from coevo.trainers.build import build
from coevo.trainers.components import Kl
from coevo.trainers.learners import room
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.samplers.replay import RemixReplay
from coevo.trainers.steps import policy_gradient


@pytest.fixture
def lesson(config, tmp_path):
    """Return a function that starts a run and gives its learner and the sequences of an update."""

    def make(**settings):
        run = loop.start(config("mars", **settings), RunFolder(tmp_path))
        collected = run.collector.collect(0)
        algorithm = run.config.algorithm
        batch = build(collected.episodes, collected.groups, run.learners)
        batch = policy_gradient.scored(algorithm, run.learners, batch)
        batch, _, _ = advantages(algorithm.advantage, batch)
        return run.learners["policy"], batch.written_by("policy")[0]

    return make


def weights(learner):
    return torch.cat([p.detach().flatten() for p in learner.model.parameters()])


def updated(learner, sequences):
    learner.update([learner.objective(sequences)], rate=1.0, seed=3)
    return weights(learner)


@pytest.mark.parametrize("times", [1, 4])
def test_passes_are_halved_where_memory_runs_out_and_weights_end_as_before(
    lesson, monkeypatch, times
):
    whole = updated(*lesson())
    learner, sequences = lesson()
    passes, failures = type(learner.passes), iter(range(times))
    real = passes.score

    def scarce(self, sequences, part, model=None, inner=None):
        scored = real(self, sequences, part, model, inner=inner)
        if len(part.spans) > 1 and next(failures, None) is not None:
            scored.logp_N().sum().backward()  # half of a gradient is there already
            raise torch.OutOfMemoryError("of this test")
        return scored

    monkeypatch.setattr(passes, "score", scarce)
    with pytest.warns(UserWarning, match="the gradient stays what it was"):
        halved = updated(learner, sequences)
    assert learner.passes.token_budget == learner.optim.token_budget // 2**times
    assert torch.allclose(whole, halved, atol=1e-6)
    assert not torch.equal(whole, weights(lesson()[0]))


def test_a_sequence_that_does_not_fit_alone_is_one_line(lesson, monkeypatch):
    learner, sequences = lesson()

    def never(*given, **named):
        raise torch.OutOfMemoryError("of this test")

    monkeypatch.setattr(type(learner.passes), "score", never)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ConfigError, match="one sequence at a time"):
            updated(learner, sequences)


@pytest.mark.parametrize("budget", [8192, 150])
def test_passes_compute_a_beginning_once_and_stay_within_the_budget(lesson, budget):
    learner, sequences = lesson()
    learner.passes.token_budget = budget
    lengths = [len(s.ids) for s in sequences.spans]
    sizes = []
    learner.passes.logp(sequences)  # the architecture is tried
    embedding = learner.model.get_input_embeddings()
    embedding.register_forward_hook(lambda _, given, out: sizes.append(given[0].numel()))
    learner.passes.logp(sequences)
    assert sum(sizes) < 0.7 * sum(lengths)
    assert max(sizes) <= max(budget, *lengths) and (len(sizes) > 1) == (budget < sum(sizes))


def saved_for_backward(learner, sequences):
    """Return the elements that a pass keeps for its gradient."""
    part = next(learner.passes.micro_batches(sequences))
    kept = 0

    def pack(tensor):
        nonlocal kept
        kept += tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        learner.passes.score(sequences, part)
    return kept


def test_recomputed_layers_keep_less_and_move_weights_alike(lesson):
    plain, sequences = lesson()
    kept = saved_for_backward(plain, sequences)
    recomputing, same = lesson(gradient_checkpointing=True)
    assert saved_for_backward(recomputing, same) < 0.7 * kept
    assert torch.allclose(updated(plain, sequences), updated(recomputing, same), atol=1e-6)
    assert not any(m.training for m in recomputing.model.modules())


def test_what_adamw_will_hold_is_counted(lesson):
    learner, sequences = lesson()
    size = 4 * sum(p.numel() for p in learner.model.parameters())
    assert room.estimate([learner]) == {"gradients": size, "moments of AdamW": 2 * size}
    assert room.held([learner]) == dict.fromkeys(("weights", "magnet", "ema weights"), size)
    updated(learner, sequences)
    held = sum(
        t.numel() * 4 for s in learner.optimizer.state.values() for t in s.values() if t.dim()
    )
    assert held == 2 * size
    assert room.estimate([learner])["moments of AdamW"] == 0


def test_a_run_that_cannot_fit_is_refused_before_it_starts(lesson, monkeypatch):
    monkeypatch.setattr(room, "_free", lambda device: 1000)
    with pytest.raises(ConfigError, match=r"does not fit: gradients .* moments .* 9.31e-07 GiB"):
        lesson()


KL = {"loss.regularise": (Kl(coef=0.1),)}


@pytest.mark.parametrize("population", [Separate(), FrozenOpponent()], ids=str)
def test_references_that_stay_are_held_once(config, folder, population):
    given = config("grpo", KL | {"population": population})
    run = loop.start(given, folder(given))
    references = {id(x.reference) for x in run.learners.values()}
    frozen = [a.model for a in run.population.fixed.values()]
    assert len(references) == 1 and references >= {id(m) for m in frozen}
    learners = list(run.learners.values())
    size = sum(p.numel() * p.element_size() for p in learners[0].model.parameters())
    assert room.held(learners) == {"weights": len(learners) * size, "reference": size}
    before = {k: v.clone() for k, v in learners[0].reference.state_dict().items()}
    loop.finish(run)
    now = learners[0].reference.state_dict()
    assert all(torch.equal(v, now[k]) for k, v in before.items())


def test_references_that_move_are_each_learners_own(config, folder):
    moving = {
        "population": Separate(),
        "collect.replay": RemixReplay(until=1),
        "loss.anchor": "behaviour",
    }
    given = config("grpo", KL | moving)
    one, other = loop.start(given, folder(given)).learners.values()
    assert one.reference is not other.reference


def test_no_start_model_is_kept_beside_the_policies(config, folder, monkeypatch):
    loaded = []

    def load(*given, **named):
        found = load_model(*given, **named)
        loaded.append(weakref.ref(found[0]))
        return found

    monkeypatch.setattr(policy_maker, "load_model", load)
    given = config("grpo", KL)
    run = loop.start(given, folder(given))
    gc.collect()
    assert run.learners and [ref() for ref in loaded] == [None]
