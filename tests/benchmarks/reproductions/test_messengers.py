import numpy as np
import pytest

from coevo.benchmarks.reproductions.claims import hammer_messages as hammer
from coevo.envs import make


def played(seed, **options):
    """Say the target of either agent; agents name what they hear."""
    env = make(hammer.Messenger.env_id, prompt_style="terse", **options)
    env.reset(seed=seed)
    heard, targets = [], []
    while env.awaiting:
        (*_, message) = env.chat(seat := env.awaiting[0])
        number = int(message["content"].partition(": ")[2].split()[0].strip("."))
        (targets if seat == hammer.MESSENGER else heard).append(number)
        env.step(f"[{number}]")
    return targets, heard, [env.episode.total(seat, "payoff") for seat in hammer.Messenger.seats]


@pytest.mark.parametrize("random", [False, True])
def test_what_is_said_is_heard_unless_messages_are_random(random):
    told = 0
    for seed in range(40):
        targets, heard, paid = played(seed, random=random)
        right = np.mean([a == b for a, b in zip(targets, heard, strict=True)])
        assert paid == [right] * 3
        told += right
    assert (told == 40) != random and (told > 4)
