"""Red-team co-evolution: what the tables start with, and a short run."""

import pytest

from coevo.benchmarks.reproductions.claims import redteam_coevolution as red
from coevo.envs import make
from coevo.envs.redteam.vault import CLOAKS


def test_every_prompt_has_a_row_of_the_start():
    env, rows = make("coevo/redteam-v0", prompt_style="terse"), set()
    for seed in range(300):
        env.reset(seed=seed)
        while env.awaiting:
            seat = env.agent_selection
            legal = env.infos[seat]["legal_actions"]
            seen = red.read(env.chat(seat)[-1]["content"])
            assert list(red._starts()[seen]) == list(legal)
            rows.add(seen)
            env.step(f"[{legal[seed % len(legal)]}]")
    assert len(rows) == red.ROWS - 2 == len(red._starts())


def test_the_start_keeps_the_code_word_in_plain_requests_alone():
    start = red.CLAIM.measures("start")
    tell = 0.7310585786  # 1 / (1 + exp(-1))
    plain = 0.95 * (1 - tell) + 0.05 * tell
    assert start["seen_success"] == pytest.approx((plain + tell) / 2)
    assert start["new_success"] == pytest.approx(tell)
    assert len(red.SEEN) + len(red.HELD_OUT) == len(CLOAKS)


def test_a_defender_closes_first_what_its_attacker_uses():
    found = red.CLAIM.measures("static", steps=3)
    start = red.CLAIM.measures("start")
    assert start["seen_success"] - found["seen_success"] > 0.05
    assert found["seen_success"] < found["new_success"]
