"""Cooper at a reduced size: whose word the policy is paid by, and that it is refitted."""

import math

import pytest
import torch

from coevo.benchmarks.reproductions import cooper_hack
from coevo.benchmarks.reproductions.table_run import started
from coevo.trainers.loop import updates


@pytest.mark.parametrize("variant", ["frozen", None])
def test_the_reward_model_begins_in_love_with_the_style_and_moves_only_where_it_is_fitted(variant):
    made = cooper_hack.record(variant, step=0.5)
    with started(made, cooper_hack.ID, maker=cooper_hack.maker(), seed=0, steps=2) as run:
        (first, _) = updates(run)
        weight_F = run.learners["judge"].reward_head.weight_F.detach()
    # sigmoid of -1, 0 and 1.5, as often as the policy begins with them
    odds = [0.6 / (1 + math.e), 0.3 / 2, 0.1 / (1 + math.exp(-1.5))]
    assert first.metrics["reward/reward_model"] == pytest.approx(sum(odds), abs=0.05)
    start_F = torch.tensor(cooper_hack.WEIGHTS, dtype=torch.float64)
    assert torch.equal(weight_F, start_F) == (variant == "frozen")
