"""CoMAS at a reduced size: what they show, that worlds do not meet, that they run."""

import pytest
import torch

from coevo.benchmarks.reproductions import comas_lm, comas_starter, comas_tabular, review_model
from coevo.benchmarks.reproductions.review_table import ROLES, Setting, discuss, learn, start
from coevo.benchmarks.reproductions.tabular import generators
from coevo.envs.questions import questions
from coevo.envs.rewards import InteractionReward
from coevo.trainers.algorithms import algorithm
from coevo.trainers.estimators.normalise import TokenStd


def setting(variant=None, steps=30, size=16, lr=64.0):
    record = algorithm("comas", variant)
    return Setting(record.advantage, record.loss, lr, steps, size, variant == "no_scoring")


@pytest.fixture(scope="module")
def small():
    """Return the figures of `comas_tabular` at a tenth of its length, by label."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"STEPS": 40, "SIZE": 16, "LR": 64.0, "WORLDS": 1}.items():
            patch.setattr(comas_tabular, name, value)
        return {row.label: row for row in comas_tabular.run([0, 1]).rows}


def test_a_good_judge_teaches_and_votes_are_hacked(small):
    assert small["accuracy of the solvers at the start"].mean == pytest.approx(0.2)
    assert small["good judge: accuracy"].mean > 0.6
    assert small["|r(s) + r(e) - valid|, any step"].holds
    reward = small["no scoring: reward"].mean - small["no scoring: reward at the start"].mean
    assert reward > 0.1
    assert small["no scoring: accuracy (chance 0.2)"].holds


def test_a_seed_gives_one_value_per_figure(small):
    assert {len(row.measured) for row in small.values()} == {1, 2}


@pytest.mark.parametrize("variant", [None, "role"])
def test_worlds_side_by_side_do_not_meet(variant, monkeypatch):
    def courses():
        both = learn([1.5, 0.5], [3, 4], setting(variant, steps=4))
        alone = learn([0.5], [4], setting(variant, steps=4))
        return both.accuracy_TW[:, 1:], alone.accuracy_TW

    together, alone = courses()
    assert torch.allclose(together, alone, atol=1e-12)

    whiten = TokenStd.__call__

    def pooled(self, a, y, frame):
        return whiten(TokenStd(), a, y, frame)

    monkeypatch.setattr(TokenStd, "__call__", pooled)
    together, alone = courses()
    assert not torch.allclose(together, alone, atol=1e-6)


def test_the_written_discussion_is_that_of_the_environment():
    (episode,) = discuss(start([1.5]), generators([0]), 1, ROLES)
    assert [t.role for t in episode.turns] == [r for r in ROLES for _ in range(2)]
    below = {"evaluator": "solver", "scorer": "evaluator"}
    for role, judged in below.items():
        about = [t.about for t in episode.turns if t.role == role]
        assert {episode.turns[i].role for i in about} == {judged}
        assert len(set(about)) == 2, "a balanced deal"
    (table,) = InteractionReward().table([episode])
    assert all(cell for cell in table)


def test_scorers_begin_as_far_above_chance_as_their_margin():
    logits = start([1.5, 0.0]).logits_CA.detach().reshape(2, 2, -1, 5)
    for world, margin in ((0, 1.5), (1, 0.0)):
        scores = logits[world, 0, 120:].reshape(20, 5, 2, 5)
        right, wrong = scores[0, 0], scores[0, 1]
        assert (right[:, 2] - wrong[:, 2]).tolist() == [margin] * 2
        assert (wrong[:, 0] - right[:, 0]).tolist() == [margin] * 2
        assert right[1, 2] - right[0, 2] == 0.5, "a review sways the score"


def test_small_models_go_through_warm_start_training_and_measurement(monkeypatch):
    tiny = review_model.WarmStart(turns=240, steps=4, rows=16, hidden=16, layers=1)
    for name, value in {"WARM": tiny, "STEPS": 1, "HELD_OUT": 4}.items():
        monkeypatch.setattr(comas_lm, name, value)
    outcome = comas_lm.run([0])
    rows = {row.label: row for row in outcome.rows}
    gain = rows["larger digit: gain of accuracy"].mean
    after = rows["larger digit: accuracy after"].mean
    assert gain == pytest.approx(after - rows["larger digit: accuracy before"].mean)
    assert not outcome.holds, "four steps teach nothing"


def test_the_starter_model_is_measured_before_and_after(monkeypatch, tiny_model_dir):
    monkeypatch.setattr(comas_starter, "MODEL", str(tiny_model_dir))
    for name, value in {"STEPS": 1, "EPISODES": 2, "HELD_OUT": 3}.items():
        monkeypatch.setattr(comas_starter, name, value)
    rows = {row.label: row for row in comas_starter.run([0, 1]).rows}
    assert rows["invalid scores before"].mean == pytest.approx(1.0), "it was never taught to speak"
    assert len(rows["accuracy after"].measured) == 2


def test_questions_of_the_measurement_are_held_out():
    for task in ("larger", "sum"):
        asked = {part: review_model.options(task, part)["questions"] for part in ("train", "test")}
        sources = {part: questions(spec) for part, spec in asked.items()}
        seen = {s.item(i).question for s in [sources["train"]] for i in range(len(s))}
        held = {s.item(i).question for s in [sources["test"]] for i in range(len(s))}
        assert held
        assert not seen & held
