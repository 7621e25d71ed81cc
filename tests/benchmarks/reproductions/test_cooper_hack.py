"""Cooper at a reduced size: what pays the policy, and that it is refitted."""

import math

import pytest
import torch

from coevo.benchmarks.reproductions.claims.cooper_hack import CLAIM, WEIGHTS
from coevo.benchmarks.reproductions.run import trained


@pytest.mark.parametrize("arm", ["frozen", "fast"])
def test_the_reward_model_begins_in_love_with_the_style_and_moves_only_where_it_is_fitted(arm):
    with trained(CLAIM.world, CLAIM.arms[arm], 0, {**CLAIM.changes}, steps=2) as end:
        weight_F = end.run.learners["judge"].reward_head.weight_F.detach()
    # sigmoid of -1, 0 and 1.5, as often as the policy begins with them
    odds = [0.6 / (1 + math.e), 0.3 / 2, 0.1 / (1 + math.exp(-1.5))]
    assert end.first("reward/reward_model") == pytest.approx(sum(odds), abs=0.05)
    start_F = torch.tensor(WEIGHTS, dtype=torch.float64)
    assert torch.equal(weight_F, start_F) == (arm == "frozen")
