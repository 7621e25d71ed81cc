"""Curricula: what is played when much is solved; short runs of what `coevo reproduce` does."""

import numpy as np
import pytest

from coevo.benchmarks.reproductions.claims import eva_prompts
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
