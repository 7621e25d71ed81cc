"""The noisy search: when an answer is right, and what recovering from a useless document takes."""

import numpy as np
import pytest

import coevo.benchmarks.reproductions.claims.reseek_recovery as module
from coevo.envs import make


def test_recovery_is_exact():
    always, never, blind = (module.right_after(3, 2, *odds) for odds in ((1, 0), (0, 0), (1, 1)))
    p = 1 - module.WRONG
    assert always == pytest.approx(p**2 * (1 + 2 * module.WRONG))
    assert never == 0.0
    assert blind == pytest.approx(p**2)


def test_right_after_is_how_often_the_answer_is_right():
    rng, right, games = np.random.default_rng(0), 0.0, 1500
    env = make("coevo/noisy_search-v0", useful=list(range(32)), prompt_style="terse")
    for seed in range(games):
        env.reset(seed=seed)
        while env.awaiting:
            number = int(env.chat("searcher_0")[-1]["content"].split()[-1])
            env.step("[yes]" if rng.random() < (0.9 if number < 32 else 0.3) else "[no]")
        right += env.episode.total("searcher_0") / games
    assert right == pytest.approx(module.right_after(4, 2, 0.9, 0.3), abs=0.04)


def test_judgements_are_paid_beside_the_answer():
    env = make("coevo/noisy_search-v0", useful=list(range(64))[:63], wrong=0.0, judge="asymmetric")
    env.reset(seed=0)
    for word in ("yes", "no", "yes"):
        env.step(f"[{word}]")
    assert env.episode.total("searcher_0", "payoff") == 1.0
    assert env.episode.total("searcher_0", "judge") == pytest.approx(0.1)
