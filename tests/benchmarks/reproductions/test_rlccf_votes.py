"""RLCCF: what the models know at the start, and a short run."""

import pytest

from coevo.benchmarks.reproductions.claims import rlccf_votes as rlccf
from coevo.envs import make


def test_every_prompt_has_its_row_and_every_model_its_third():
    env = make("coevo/debate-v0", prompt_style="terse", **rlccf.CLAIM.world.options)
    for place in range(rlccf.QUESTIONS):
        env.reset(seed=0, options={"item": place})
        assert env.chat("debater_0")[-1]["content"] == rlccf._prompt(place)
    odds_NQA = rlccf.starts(0).softmax(-1)
    assert odds_NQA[0, 0, int(rlccf.ASKED[0].answer)] > odds_NQA[1, 0, int(rlccf.ASKED[0].answer)]


def test_a_common_vote_teaches_more_than_ones_own():
    found = {arm: rlccf.CLAIM.measures(arm, steps=12) for arm in ("rlccf", "alone")}
    assert found["rlccf"]["first"] == pytest.approx(0.4, abs=0.1)
    assert found["rlccf"]["last"] > found["rlccf"]["first"] + 0.1
    assert found["rlccf"]["last"] > found["alone"]["last"] + 0.05
