"""Questions with known answers: how they are made, asked, paid, kept, and learnt from."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from coevo.envs.core.config import assign
from coevo.envs.core.errors import CoevoError, DataError
from coevo.trainers.algorithms import algorithm
from coevo.trainers.judges import question as q
from coevo.trainers.judges.roles import JudgeRole
from coevo.trainers.loop import update, updates
from coevo.trainers.run import start
from coevo.trainers.steps import (
    BuildBatch,
    Cached,
    Collect,
    ComputeAdvantages,
    Preferences,
    QuestionJudge,
    Questions,
    Update,
)
from tests.trainers.judges.test_reward_model import Fails, weights

SMALL = {
    "collect.tasks": 4,
    "collect.episodes": 32,
    "optim.warmup": 0,
    "optim.lr": 0.05,
}
CACHE = {
    "cycle.question_judge.of.least": 5,
    "cycle.question_judge.of.take": 4,
    "cycle.question_judge.samples": 3,
}
SPARK = algorithm("spark", None, SMALL | CACHE)
URPO = algorithm("urpo", None, SMALL | {"cycle.question_judge.samples": 2})


def turn(answer, verified):
    chat = ({"role": "user", "content": "2 + 2?"},)
    return SimpleNamespace(
        chat=chat, answer=answer, move=answer, text=answer, verified=verified, legal=("3", "4")
    )


def drawn(maker, turns, times=4000):
    rng = np.random.default_rng(0)
    return [maker._asked(turns, rng) for _ in range(times)]


def test_a_group_without_errors_asks_about_its_first_answer():
    (asked,) = {(x.kind, x.target) for x in drawn(Questions(), [turn("4", 1.0)] * 2, 20)}
    assert asked == ("pointwise", q.YES)


def test_a_group_of_errors_asks_about_one_of_them():
    found = drawn(Questions(), [turn("3", 0.0), turn("5", 0.0)], 50)
    assert {(x.kind, x.target) for x in found} == {("pointwise", q.NO)}
    assert len({str(x.chat) for x in found}) == 2


def test_a_mixed_group_asks_as_the_source_says():
    found = drawn(Questions(), [turn("4", 1.0), turn("3", 0.0)])
    points = [x.target for x in found if x.kind == "pointwise"]
    firsts = [x.target == q.FIRST for x in found if x.kind == "pairwise"]
    assert len(points) / len(found) == pytest.approx(0.3, abs=0.03)
    assert points.count(q.YES) / len(points) == pytest.approx(0.5, abs=0.05)
    assert np.mean(firsts) == pytest.approx(0.5, abs=0.05)
    for x in found:
        if x.kind == "pairwise":
            assert ('First: "4"' in x.chat[0]["content"]) == (x.target == q.FIRST)


def test_what_answers_earn():
    assert [q.pointwise("t", "4", q.YES).paid(x) for x in ("yes", "no", None)] == [1.0, 0.0, 0.0]
    order = q.groupwise("t", ["a", "b", "c"], [0.0, 1.0, 0.5])
    assert [order.paid(x) for x in ("2 3 1", "1 3 2", None)] == [1.0, -1.0, -1.0]
    assert len(order.answers) == 6


def test_questions_wait_until_there_are_enough_and_the_oldest_go_first(run_of):
    run = run_of(SPARK, steps=6)
    sizes, asked = [], []
    for _ in range(6):
        metrics, _ = update(run)
        sizes.append(metrics["items/questions"])
        asked.append(metrics["items/answers"])
    left, expected = 0.0, []
    for size in sizes:
        left += size
        take = 4.0 if left >= 5 else 0.0
        expected.append(3 * take)
        left -= take
    assert asked == expected and any(asked) and len(run.judges.cache) == left


def test_answers_are_learnt_from_after_the_policy_s_own_update(run_of):
    run = run_of(SPARK, steps=8)
    seen = [update(run)[0] for _ in range(4)]
    asked = [m for m in seen if m["items/answers"]]
    assert all("grad_norm" in m for m in seen)
    assert asked and all("answers/grad_norm" in m for m in asked)
    assert all("answers/grad_norm" not in m for m in seen if not m["items/answers"])


def test_both_kinds_are_one_update_where_they_join(run_of):
    run = run_of(URPO)
    metrics, fresh = update(run)
    assert len(fresh) == 32
    assert metrics["items/answers"] > 0 and metrics["tokens"] >= 32
    assert "answers/grad_norm" not in metrics


def test_answers_of_a_judge_that_does_not_learn_are_not_learnt(run_of):
    judges = {"judge": JudgeRole(learns=False)}
    cycle = (Collect(), QuestionJudge(samples=2), BuildBatch(), ComputeAdvantages(), Update())
    run = run_of(replace(URPO, cycle=cycle, judges=judges))
    alone = run_of(
        replace(
            URPO, cycle=(Collect(), BuildBatch(), ComputeAdvantages(), Update()), judges=judges
        ),
        "b",
    )
    update(run), update(alone)
    assert torch.equal(weights(run, "policy"), weights(alone, "policy"))


@pytest.mark.parametrize("place", [4, 5, 6, 8, 9])
def test_a_run_that_is_killed_between_solving_and_judging_ends_equal(run_of, place):
    whole = run_of(SPARK, "whole", steps=6)
    for _ in updates(whole):
        pass
    killed = run_of(SPARK, "killed", steps=6)
    cycle = (*SPARK.cycle[:place], Fails(5), *SPARK.cycle[place:])
    killed.config = replace(killed.config, algorithm=replace(SPARK, cycle=cycle))
    with pytest.raises(RuntimeError, match="killed"):
        for _ in updates(killed):
            pass
    again = start(whole.config, killed.folder)
    assert again.progress.step == 4 and again.judges.cache
    for _ in updates(again):
        pass
    assert torch.equal(weights(again, "policy"), weights(whole, "policy"))
    assert again.judges.cache == whole.judges.cache


def test_rankings_come_from_a_file(tmp_path):
    path = tmp_path / "known.jsonl"
    lines = [
        {"task": "2 + 2?", "replies": ["4"], "worth": [1]},
        {"task": "2 + 2?", "replies": ["4", "3"], "worth": [1, 0]},
        {"task": "2 + 2?", "replies": ["4", "3", "5"], "worth": [1, 0, 0.5]},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    made = Preferences(path=str(path))(None, np.random.default_rng(0))
    assert sorted(x.kind for x in made) == ["groupwise", "pairwise", "pointwise"]
    (pair,) = (x for x in made if x.kind == "pairwise")
    assert ('First: "4"' in pair.chat[0]["content"]) == (pair.target == q.FIRST)


@pytest.mark.parametrize("text", ["", "{", '{"task": "t", "replies": ["a"], "worth": [1, 2]}'])
def test_a_file_without_rankings_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / f"bad{len(text)}.jsonl"
    if text:
        path.write_text(text)
    with pytest.raises(DataError, match="holds no preferences: line 1") as error:
        Preferences(path=str(path))(None, np.random.default_rng(0))
    assert "\n" not in str(error.value)


def test_a_cycle_that_asks_what_nobody_left_is_refused():
    with pytest.raises(
        CoevoError, match=r"needs questions, which no earlier step gives; put make_items"
    ):
        replace(
            SPARK,
            cycle=(
                Collect(),
                QuestionJudge(of=Cached()),
                BuildBatch(),
                ComputeAdvantages(),
                Update(),
            ),
        )
    with pytest.raises(CoevoError, match="asks the role 'judge', which has no parameter set"):
        assign(SPARK, {"judges": {}})
