"""RLCCF: what the models know at the start, and a short run."""

from coevo.benchmarks.reproductions.claims import rlccf_votes as rlccf
from coevo.envs import make


def test_every_prompt_has_its_row_and_every_model_its_third():
    env = make("coevo/debate-v0", prompt_style="terse", **rlccf.CLAIM.world.options)
    for place in range(rlccf.QUESTIONS):
        env.reset(seed=0, options={"item": place})
        assert env.chat("debater_0")[-1]["content"] == rlccf._prompt(place)
    odds_NQA = rlccf.starts(0).softmax(-1)
    right_NQ = [[p[int(a.answer)] for p, a in zip(q, rlccf.ASKED, strict=True)] for q in odds_NQA]
    for model in range(rlccf.MODELS):
        own = right_NQ[model][model :: rlccf.MODELS]
        assert 3 * sum(own) / len(own) > 5 * sum(right_NQ[model]) / rlccf.QUESTIONS


def test_a_common_vote_teaches_more_than_ones_own():
    found = {arm: rlccf.CLAIM.measures(arm, steps=12) for arm in ("rlccf", "alone")}
    gained = {arm: measured["last"] - measured["first"] for arm, measured in found.items()}
    assert gained["rlccf"] > 0.1
    assert gained["rlccf"] > gained["alone"] + 0.05
