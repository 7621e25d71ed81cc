"""MBTL's choice of the next context, by closed forms and by drawn numbers."""

import numpy as np
import pytest

from coevo.benchmarks.reproductions.claims import mbtl_sources
from coevo.trainers.samplers.predicted import posterior
from coevo.trainers.samplers.source_tasks import envelope, gains, next_source

EVERY = np.linspace(0, 1, 1201)


def test_contexts_come_in_their_order_and_serve_as_much_as_is_known():
    """J = 1 - |x - x'| on [0, 1]: one half, then a sixth from both ends, then a third."""
    sources, served = [], []
    for _ in range(4):
        gain_M = gains(sources, [1.0] * len(sources), 1.0, EVERY, noise=0.0)
        sources.append(next_source(gain_M, EVERY))
        served.append(envelope(sources, [1.0] * len(sources), 1.0, EVERY).mean())
    assert sources[0] == pytest.approx(1 / 2, abs=2e-3)
    assert sorted(sources[1:3]) == pytest.approx([1 / 6, 5 / 6], abs=2e-3)
    assert min(abs(sources[3] - x) for x in (1 / 3, 2 / 3)) < 2e-3
    assert served == pytest.approx([3 / 4, 5 / 6, 11 / 12, 0.930], abs=1.5e-3)


def test_the_gain_is_that_of_many_draws():
    at, rng = np.linspace(0, 1, 5), np.random.default_rng(0)
    sources, trained = [0.25, 0.75], [0.9, 0.5]
    found = gains(sources, trained, 0.5, at, noise=0.2)
    mean, std = posterior(np.array(sources)[:, None], np.array(trained), at[:, None], 0.2)
    served = envelope(sources, trained, 0.5, at)
    drawn = rng.normal(size=200_000)
    for i, x in enumerate(at):
        worth = mean[i] + std[i] * drawn[:, None] - 0.5 * np.abs(x - at) - served
        assert found[i] == pytest.approx(worth.clip(0).mean(), abs=3e-3)
    assert not np.allclose(found, gains(sources, trained, 0.5, at, noise=0.0))


def test_a_policy_serves_its_neighbours():
    """A short run of `mbtl_sources`: what was trained on the left earns more on the left."""
    left = mbtl_sources.earned(0, 2, 20)
    right = mbtl_sources.earned(0, 22, 20)
    assert left[2] > right[2] and right[22] > left[22]
