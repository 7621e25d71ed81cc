"""PAIRED: what designers come to build in the corridors."""

import pytest

from coevo.benchmarks.reproductions.claims import paired_corridor as paired


@pytest.mark.slow
def test_regret_leads_away_from_the_unsolvable_level_to_which_minimax_leads():
    regret, minimax = (
        paired.CLAIM.measures(arm, steps=50)["unsolvable"] for arm in ("paired", "minimax")
    )
    assert regret < 0.25 < minimax


def test_a_designer_at_random_draws_levels_alike():
    chance = paired.CLAIM.measures("random", steps=15)["unsolvable"]
    assert chance == pytest.approx(1 / (paired.LEVELS + 1), abs=0.045)  # 3 sd of 480 levels
