"""Curricula: what is played when much is solved; short runs of what `coevo reproduce` does."""

import numpy as np
import pytest

from coevo.benchmarks.reproductions.claims import eva_prompts, groove_levels
from coevo.envs import make


def test_a_graded_prompt_pays_its_reply_and_noise_that_chance_draws():
    env = make(eva_prompts.GradedPrompts.env_id, prompt_style="terse", noisy=2)
    for prompt, size in ((7, 0.1), (eva_prompts.REAL, 1.0)):
        paid = {}
        for level in ("0", "4", "8"):
            env.reset(seed=1, options={"prompt": prompt})
            env.step("[3]")
            env.step(f"[{level}]")
            paid[level] = env.episode.total(eva_prompts.SOLVER, "payoff")
        assert paid["4"] == pytest.approx(eva_prompts._payoffs(prompt)[3])
        assert paid["8"] - paid["4"] == pytest.approx(size) == paid["4"] - paid["0"]
    near = {env.task.variation(np.random.default_rng(k))["prompt"] for k in range(20)}
    assert near == {eva_prompts.REAL - 1, eva_prompts.REAL + 1}


def test_plays_go_to_what_is_unsolved():
    eva, drawn = (eva_prompts.CLAIM.measures(arm, steps=7) for arm in ("eva", "drawn"))
    assert eva["unsolved"] > 0.6 > drawn["unsolved"] > 0.4
    # half of the prompts are solved, the others uniform at first
    unknown = [1 - eva_prompts._payoffs(p).mean() for p in range(100, 200)]
    assert 0.3 * np.mean(unknown) < eva["regret"] < 0.5 * np.mean(unknown) + 0.01


def test_levels_are_drawn_by_the_rank_of_their_regret():
    score_N = np.array([0.0, 9.0, 1.0])
    rng = np.random.default_rng(0)
    drawn = [int(groove_levels.by_rank(score_N, 1, rng)[0]) for _ in range(1100)]
    counts = np.bincount(drawn, minlength=3)
    assert counts == pytest.approx([200, 600, 300], abs=60)  # 1 / 3, 1, 1 / 2
    assert sorted(groove_levels.by_rank(score_N, 3, rng).tolist()) == [0, 1, 2]
    assert groove_levels.by_rank(np.zeros(0), 0, rng).size == 0


def test_regret_is_what_a_rule_falls_short_of_the_rival_or_of_the_best_arm():
    levels = groove_levels.Bandits(
        np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0.1, 0.1]), np.array([50, 5])
    )
    still = np.array([[-20.0, -20.0]])  # a step of nothing: the arms stay even
    best, rival = (
        groove_levels.regret(by, still, levels, np.random.default_rng(0))
        for by in ("best", "rival")
    )
    assert best == pytest.approx([0.5, 0.0], abs=0.06)
    assert 0.1 < rival[0] < best[0] and rival[1] == pytest.approx(0.0)
