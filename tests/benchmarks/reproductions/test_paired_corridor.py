"""PAIRED: corridors that a designer builds, and what designers come to build."""

import pytest

from coevo.benchmarks.reproductions.claims import paired_corridor as paired
from coevo.envs import make


def walk(level, ways):
    """Let all walkers go the same ways through a level; return what each earned."""
    env = make(paired.Corridors.env_id, prompt_style="terse")
    env.reset(seed=0)
    env.step(f"[{level}]")
    while not any(env.terminations.values()):
        door = int(env.chat(env.agent_selection)[-1]["content"].split()[-1])
        env.step(f"[{ways[door]}]")
    return [env.episode.total(seat, "payoff") for seat in (paired.DESIGNER, *paired.WALKERS)]


def test_who_gets_through_all_doors_earns_1_and_nobody_does_behind_the_wall():
    right = paired.WAY[: paired.LEVELS]
    wrong = [*right[:2], (right[2] + 1) % paired.WAYS, *right[3:]]
    assert walk(3, right) == walk(paired.LEVELS, right) == [0, 1, 1, 1, 1]
    assert walk(2, wrong) == [0, 1, 1, 1, 1]
    assert walk(3, wrong) == [0, 0, 0, 0, 0]
    assert walk(paired.LEVELS + 1, right) == [0, 0, 0, 0, 0]


@pytest.mark.slow
def test_regret_leads_away_from_the_unsolvable_level_to_which_minimax_leads():
    regret, minimax = (
        paired.CLAIM.measures(arm, steps=50)["unsolvable"] for arm in ("paired", "minimax")
    )
    assert regret < 0.25 < minimax


def test_a_designer_at_random_draws_levels_alike():
    chance = paired.CLAIM.measures("random", steps=15)["unsolvable"]
    assert chance == pytest.approx(1 / (paired.LEVELS + 1), abs=0.045)  # 3 sd of 480 levels
