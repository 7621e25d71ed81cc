import numpy as np
import pytest

from coevo.benchmarks.reproductions.claims import swarm_density as it
from coevo.envs import make


def test_a_kernel_is_one_at_its_centre_and_falls_round_the_ring():
    near = it.kernels()
    assert near.shape == (8, 9) and np.allclose(np.diag(near[:, :8]), 1)
    assert near[0, 7] == near[0, 1] == pytest.approx(np.exp(-0.5)) and (near[:, 8] == 1).all()


def test_a_value_is_fitted_to_earlier_batches_alone():
    rng = np.random.default_rng(0)
    weight_TJ = rng.normal(size=(3, 9))

    def batch():
        phi_ETJ = rng.random((200, 3, 9))
        return phi_ETJ, np.einsum("etj,tj->et", phi_ETJ, weight_TJ)

    first, second = batch(), batch()
    none, sums = it.fitted(*first, None)
    assert none is None
    value_ET, more = it.fitted(*second, sums)
    assert value_ET == pytest.approx(second[1], abs=1e-2)
    assert np.allclose(more, it.DECAY * np.array(sums) + np.array(it.fitted(*second, None)[1]))


@pytest.mark.parametrize("agents", [2, 6])
def test_tables_see_the_site_and_how_many_are_there(agents):
    env = make("coevo/swarm-v0", prompt_style="terse", agents=agents, levels=6, noise=0)
    env.reset(seed=0)
    for i, seat in enumerate(env.possible_agents):
        prompt = env.chat(seat)[-1]["content"]
        others = int((env.task.at == env.task.at[i]).sum()) - 1
        assert it._seen(prompt) == (env.task.at[i], others)
        assert it._aware(prompt).split()[0] == it._blind(prompt)


def test_every_arm_is_measured(monkeypatch):
    monkeypatch.setattr(it, "BEGUN", 1)
    monkeypatch.setattr(it, "GAMES", 20)
    found = {name: it.CLAIM.measures(name, 0, 3) for name in it.CLAIM.arms}
    assert all(-5 < one["payoff"] < 0 < one["variance"] for one in found.values())
    assert found["team"]["variance"] < found["own"]["variance"]
