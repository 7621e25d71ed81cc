"""Ways to play an environment and to weigh work, shared by the tests of the core."""

import time

import numpy as np
import pytest


def play_on(env, rng, most=200):
    """Play with random legal moves, at most so many replies; words where any text is legal."""
    for _ in range(most):
        if not env.awaiting:
            break
        legal = env.infos[env.agent_selection]["legal_actions"]
        said = f"I say {int(rng.integers(1000))}"
        env.step(said if legal is None else f"[{legal[int(rng.integers(len(legal)))]}]")
    return env.episode.to_json()


def play(env, seed, most=200):
    env.reset(seed=seed)
    return play_on(env, np.random.default_rng(seed), most)


@pytest.fixture(name="play", scope="session")
def _play():
    return play


@pytest.fixture(name="play_on", scope="session")
def _play_on():
    return play_on


def growth(work, text_of, length=8_000, factor=16):
    """Compare the work on one long text with that on `factor` short ones of the same total length.

    About 1 where work grows with the length, about `factor` where it grows with its square. Both
    sides take equally long if all is well, take turns, and are counted in CPU time of this thread:
    other processes change neither side more than the other. The best of two rounds counts, of five
    unless these show less than twice the work.
    """
    pieces, best = [text_of(length)] * factor, [float("inf"), float("inf")]
    whole = [text_of(length * factor)]
    for number in range(5):
        for side, texts in enumerate((pieces, whole)):
            start = time.thread_time_ns()
            for text in texts:
                work(text)
            best[side] = min(best[side], time.thread_time_ns() - start)
        if number and best[1] < 2 * best[0]:
            break
    return best[1] / max(best[0], 1)


@pytest.fixture(name="growth", scope="session")
def _growth():
    return growth
