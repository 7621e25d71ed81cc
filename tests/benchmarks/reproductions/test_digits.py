"""Three digits: what is verified, what rankings say, and what measures of a judge mean."""

import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from coevo.benchmarks.reproductions.claims import spark_judge
from coevo.benchmarks.reproductions.digits import DIGITS, DigitNet, Prompts, judged, pairs, read
from coevo.benchmarks.reproductions.run import Trained
from coevo.trainers.judges.question import pairwise, pointwise


def biased(**by_form):
    """Return a network that says the same whatever it is shown."""
    net = DigitNet(Prompts(), 0)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
        bias = net.net[-1].bias
        first = {"solve": 0, "point": DIGITS, "pair": DIGITS + 2}
        for form, says in by_form.items():
            bias[first[form] + says] = 50.0
    return net


def test_a_judge_that_always_says_yes_knows_nothing():
    found = judged(biased(point=0, pair=1), "max")
    assert found == pytest.approx({"point": 0.5, "pair": 0.5, "yes": 1.0})
    found = judged(biased(point=1), "min")
    assert (found["point"], found["yes"]) == pytest.approx((0.5, 0.0))


def test_rankings_name_the_smallest_digit():
    lines = [json.loads(x) for x in pairs(0, 200)]
    assert {len(x["replies"]) for x in lines} == {1, 2}
    for x in lines:
        least = min(x["task"].split()[2:])
        assert [float(reply == least) for reply in x["replies"]] == x["worth"]


def test_what_the_network_reads_of_questions():
    for question, form, replies in (
        (pointwise("max of 0 5 2", "5"), 1, (5, DIGITS)),
        (pairwise("max of 0 5 2", "1", "5"), 2, (1, 5)),
    ):
        assert read(question.chat[0]["content"]) == (form, 0, 0, 5, 2, *replies)


def test_a_judge_may_be_asked_about_the_answers_of_another_solver():
    judge, other = biased(point=0, pair=0), DigitNet(Prompts(), 1)
    assert judged(judge, "max", other)["yes"] == pytest.approx(1.0)
    says = (judged(other, "max", x)["yes"] for x in (judge, other))
    assert len(set(says)) == 2


def test_the_control_of_equal_samples_runs_longer(monkeypatch):
    lengths = []

    def trained(world, arm, seed, changes, steps=None):
        lengths.append(steps)
        log = [{"items/answers": 4.0}, {}] if steps is None else []
        net = biased(solve=0, point=0, pair=0)
        run = SimpleNamespace(learners={"policy": SimpleNamespace(model=net)})
        return nullcontext(Trained(run, seed, log, []))

    monkeypatch.setattr(spark_judge, "EPISODES", 8)
    monkeypatch.setattr(spark_judge, "trained", trained)
    monkeypatch.setattr(spark_judge, "_start", lambda seed: DigitNet(Prompts(), seed))
    found = spark_judge.CLAIM.measures("spark")
    assert lengths == [None, 3], "(8 + 4 + 8) / 8, rounded up"
    assert found["longer_point"] == found["point"] == pytest.approx(0.5)
