"""CORY: what two parameter sets know alone, with an exchange of roles and without."""

from coevo.benchmarks.reproductions.claims import cory_exchange as cory
from coevo.envs import make


def test_both_are_paid_for_both_answers_and_the_observer_sees_the_first():
    env = make(cory.PioneerObserver.env_id, prompt_style="terse")
    env.reset(seed=0)
    question = int(env.chat(cory.PIONEER)[-1]["content"])
    right = cory.RIGHT[question]
    env.step(f"[{right}]")
    assert env.chat(cory.OBSERVER)[-1]["content"] == f"{question} {right}"
    env.step(f"[{(right + 1) % cory.ANSWERS}]")
    assert dict(env.rewards) == {cory.PIONEER: 1.0, cory.OBSERVER: 1.0}


def test_the_exchange_evens_out_what_is_known_alone():
    exchanged, fixed = (cory.CLAIM.measures(arm, steps=20)["gap"] for arm in ("exchange", "fixed"))
    assert exchanged < fixed
