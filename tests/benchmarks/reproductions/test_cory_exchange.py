"""CORY: what two parameter sets know alone, with an exchange of roles and without."""

from coevo.benchmarks.reproductions import cory_exchange as cory
from coevo.envs import make


def test_both_are_paid_for_both_answers_and_the_observer_sees_the_first():
    env = make(cory.ID, prompt_style="terse")
    env.reset(seed=0)
    question = int(env.chat(cory.PIONEER)[-1]["content"])
    env.step(f"[{cory.right(question)}]")
    assert env.chat(cory.OBSERVER)[-1]["content"] == f"{question} {cory.right(question)}"
    env.step(f"[{(cory.right(question) + 1) % cory.ANSWERS}]")
    assert dict(env.rewards) == {cory.PIONEER: 1.0, cory.OBSERVER: 1.0}


def test_the_exchange_evens_out_what_is_known_alone():
    exchanged, fixed = (cory.alone(v, seed=0, steps=20) for v in (None, "fixed"))
    assert abs(exchanged[0] - exchanged[1]) < abs(fixed[0] - fixed[1])
