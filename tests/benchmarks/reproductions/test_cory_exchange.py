"""CORY: what two parameter sets know alone, with an exchange of roles and without."""

from coevo.benchmarks.reproductions.claims import cory_exchange as cory
from coevo.envs import make


def test_a_prompt_is_read_as_its_question_and_the_answer_shown():
    env = make("coevo/pioneer_observer-v0", prompt_style="terse", **cory.CLAIM.world.options)
    for place in range(cory.QUESTIONS):
        env.reset(seed=0, options={"item": place})
        assert cory._read([env.chat("pioneer_0")[-1]["content"]]) == [place, cory.ANSWERS]
        env.step(f"[{cory.RIGHT[place]}]")
        assert cory._read([env.chat("observer_0")[-1]["content"]]) == [place, cory.RIGHT[place]]


def test_the_exchange_evens_out_what_is_known_alone():
    exchanged, fixed = (cory.CLAIM.measures(arm, steps=20)["gap"] for arm in ("exchange", "fixed"))
    assert exchanged < fixed
