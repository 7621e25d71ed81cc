"""Strategies: what they find, and what they do not depend on.

CMA-ES is held to its linear convergence on a quadratic of bad shape, the plain strategy to the
gradient that it estimates.
"""

import pytest
import torch

from coevo.agents.load import load_model
from coevo.agents.models.adapters import Adapter, adapted, own_tensors
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.evolution import Antithetic, CmaEs
from coevo.trainers.archive.genome import Entries, SingularValues

D = 6


def course(strategy, fitness, generations, count=12, seed=0, start=None):
    draw = torch.Generator().manual_seed(seed)
    state = strategy.begin(torch.ones(D, dtype=torch.float64) if start is None else start)
    for _ in range(generations):
        x_ND = strategy.ask(state, count, draw)
        state = strategy.tell(state, x_ND, fitness(x_ND))
    return state


def ellipsoid(x_ND):
    """Return minus a quadratic whose axes differ by a factor of 1,000 in curvature."""
    scale_D = 10 ** torch.linspace(0, 3, D, dtype=torch.float64)
    return -(scale_D * x_ND.square()).sum(-1)


@pytest.mark.parametrize("seed", range(3))
def test_cma_es_solves_an_ill_conditioned_quadratic_to_many_digits(seed):
    start = float(ellipsoid(torch.ones(D, dtype=torch.float64)))
    state = course(CmaEs(sigma=0.5), ellipsoid, 400, seed=seed)
    assert float(ellipsoid(state["mean_D"])) > 1e-12 * start
    axes = torch.linalg.eigvalsh(state["covariance_DD"])
    assert float(axes[-1] / axes[0]) > 30, "it has learnt the shape"


def test_cma_es_sees_ranks_alone():
    plain = course(CmaEs(), ellipsoid, 20)
    bent = course(CmaEs(), lambda x_ND: -(-ellipsoid(x_ND)).sqrt() + 3, 20)
    assert torch.equal(plain["mean_D"], bent["mean_D"])


def test_equal_fitness_teaches_nothing():
    for strategy in (CmaEs(), Antithetic()):
        state = course(strategy, lambda x_ND: torch.zeros(len(x_ND)), 2)
        assert torch.equal(state["mean_D"], torch.ones(D, dtype=torch.float64))


def test_the_plain_strategy_draws_pairs_and_follows_the_gradient():
    strategy, slope_D = Antithetic(sigma=0.5, rate=1.0), torch.arange(D, dtype=torch.float64)
    state = strategy.begin(torch.zeros(D, dtype=torch.float64))
    x_ND = strategy.ask(state, 20_000, torch.Generator().manual_seed(1))
    assert torch.equal(x_ND[::2], -x_ND[1::2])
    moved_D = strategy.tell(state, x_ND, x_ND @ slope_D)["mean_D"]
    # E z(R) eps = slope / |slope| for a linear reward.
    assert torch.allclose(moved_D, slope_D / slope_D.norm(), atol=0.03)


@pytest.fixture
def model(tiny_model_dir):
    base, _ = load_model(str(tiny_model_dir), device="cpu")
    adapter = Adapter(rank=2, targets="q_proj v_proj")
    made = adapted(base, adapter, name="a", seed=0, source=str(tiny_model_dir))
    torch.manual_seed(3)
    for name, parameter in made.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(std=0.1)
    return made


def changes(model):
    found = own_tensors(model)
    return [found[n] @ found[n.replace("lora_B", "lora_A")] for n in sorted(found) if "lora_B" in n]


def test_singular_values_are_those_of_every_adapter_and_write_back_what_was_read(model):
    genome = SingularValues()
    before = changes(model)
    fixed = genome.begin(model)
    genome_D = fixed.pop("genome_D")
    expected = torch.cat([torch.linalg.svdvals(c.double())[:2] for c in before])
    assert torch.allclose(genome_D, expected, atol=1e-6), "rank 2, layer by layer"
    genome.write(model, genome_D, fixed)
    for old, new in zip(before, changes(model), strict=True):
        assert torch.allclose(old, new, atol=1e-6)
    base = {n: p.clone() for n, p in model.named_parameters() if "lora" not in n}
    genome.write(model, -2 * genome_D, fixed)
    for old, new in zip(before, changes(model), strict=True):
        assert torch.allclose(-2 * old, new, atol=1e-5), "signs are free"
    assert all(torch.equal(p, base[n]) for n, p in model.named_parameters() if n in base)


def test_entries_are_all_numbers_of_the_adapters(model):
    genome = Entries()
    genome_D = genome.begin(model)["genome_D"]
    assert len(genome_D) == sum(t.numel() for t in own_tensors(model).values())
    genome.write(model, torch.zeros_like(genome_D), {})
    assert all(not bool(t.any()) for t in own_tensors(model).values())


def test_adapters_that_change_nothing_cannot_be_scaled(tiny_model_dir):
    base, _ = load_model(str(tiny_model_dir), device="cpu")
    fresh = adapted(base, Adapter(rank=2), name="a", seed=0, source=str(tiny_model_dir))
    with pytest.raises(
        ConfigError, match=r"the adapters change nothing yet.*cycle.sample_generation.after=20"
    ):
        SingularValues().begin(fresh)
