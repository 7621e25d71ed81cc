"""CoMAS at a reduced size: what they show, that worlds do not meet, that they run."""

from dataclasses import replace

import pytest

from coevo.benchmarks.reproductions import review_model
from coevo.benchmarks.reproductions.claims import comas_lm, comas_starter, comas_tabular
from coevo.benchmarks.reproductions.claims.comas_tabular import REPLIES, Drill, judges, starts
from coevo.envs import make
from coevo.envs.questions import questions
from coevo.envs.rewards import interaction
from coevo.trainers.components import TokenStd

ID = comas_tabular.ListedReview.env_id


def course(arm="good", steps=12, **changes):
    claim = comas_tabular.CLAIM
    quick = {**claim.changes, "collect.episodes": 16, "optim.lr": 64.0}
    made = replace(claim.arms[arm], **changes)
    return replace(claim, changes=quick, arms={arm: made}).measures(arm, steps=steps)


def test_a_good_judge_teaches():
    found = course(steps=30)
    assert found["accuracy"] > 0.5
    assert found["off"] < 1e-9


def test_votes_are_hacked():
    found = course("votes", steps=30)
    assert found["reward"] > found["first_reward"] + 0.05
    assert found["accuracy"] < 0.35


def test_a_judge_at_chance_teaches_nothing():
    assert course(maker=judges(0.0), steps=30)["accuracy"] < 0.35


def test_a_reward_that_reviewers_share_is_told(monkeypatch):
    scores = interaction._RULES[None]

    def all_to_solvers(turns):
        return {
            i: 1.0 if turns[i].role == "solver" else worth for i, worth in scores(turns).items()
        }

    monkeypatch.setitem(interaction._RULES, None, all_to_solvers)
    assert course(steps=1)["off"] > 0.1


@pytest.mark.slow
def test_with_a_weak_judge_a_broken_whitening_per_role_adds_nothing(monkeypatch):
    whiten = TokenStd.__call__

    def pooled(self, e):
        return whiten(TokenStd(by="policy"), e)

    plain = course("weak", steps=60)["accuracy"]
    apart = course("role", steps=60)["accuracy"]
    monkeypatch.setattr(TokenStd, "__call__", pooled)
    broken = course("role", steps=60)["accuracy"]
    assert broken == plain != apart


def test_every_prompt_of_a_review_is_known_from_the_start():
    env = make(ID, prompt_style="terse", rounds=1)
    known, told = starts(1.5), 0
    for seed in range(8):
        env.reset(seed=seed)
        while env.awaiting:
            seat = env.agent_selection
            prompt, legal = env.chat(seat)[-1]["content"], env.infos[seat]["legal_actions"]
            told += prompt in known
            assert prompt.startswith("Solve") or tuple(known[prompt]) == tuple(legal)
            env.step(f"[{legal[seed % len(legal)]}]")
        roles = [t.role for t in env.episode.turns]
        assert roles == [role for role in REPLIES for _ in range(2)]
        scores = [t.answer for t in env.episode.turns[-2:]]
        assert scores == [("1", "2", "3", None)[seed % 4]] * 2
        solved = env.episode.turns[0]
        assert solved.verified == float(solved.answer == Drill().item(env.task.item).answer)
    assert told == 8 * 4


def test_scorers_begin_as_far_above_chance_as_their_margin():
    logits = starts(1.5)
    right, wrong = (
        [
            list(found.values())
            for prompt, found in logits.items()
            if prompt.startswith(f'Score: Question 0 Solution: "{said}"')
        ]
        for said in (0, 1)
    )
    for fine, bad in zip(right, wrong, strict=True):
        assert fine[2] - bad[2] == bad[0] - fine[0] == 1.5
    assert right[1][2] - right[0][2] == 0.5, "a review sways the score"


def test_small_models_go_through_warm_start_training_and_measurement(monkeypatch):
    tiny = review_model.WarmStart(turns=240, steps=4, rows=16, hidden=16, layers=1)
    for name, value in {"WARM": tiny, "STEPS": 1, "HELD_OUT": 4}.items():
        monkeypatch.setattr(comas_lm, name, value)
    outcome = comas_lm.CLAIM.run([0])
    found = {figure.label: figure for figure in outcome.figures}
    gain = found["larger digit: gain of accuracy"].mean
    after = found["larger digit: accuracy after"].mean
    assert gain == pytest.approx(after - found["larger digit: accuracy before"].mean)
    assert not outcome.holds, "four steps teach nothing"


def test_the_starter_model_is_measured_before_and_after(monkeypatch, tiny_model_dir):
    monkeypatch.setattr(comas_starter, "MODEL", str(tiny_model_dir))
    monkeypatch.setattr(comas_starter, "HELD_OUT", 3)
    claim = comas_starter.CLAIM
    settings = {**claim.world.settings, "model": str(tiny_model_dir)}
    small = replace(
        claim,
        world=replace(claim.world, settings=settings),
        changes={**claim.changes, "collect.episodes": 2},
    )
    found = {figure.label: figure for figure in small.run([0, 1], steps=1).figures}
    assert found["invalid scores before"].mean == pytest.approx(1.0), "it was never taught to speak"
    assert len(found["accuracy after"].measured) == 2


def test_questions_of_the_measurement_are_held_out():
    for task in ("larger", "sum"):
        asked = {part: review_model.options(task, part)["questions"] for part in ("train", "test")}
        sources = {part: questions(spec) for part, spec in asked.items()}
        seen = {s.item(i).question for s in [sources["train"]] for i in range(len(s))}
        held = {s.item(i).question for s in [sources["test"]] for i in range(len(s))}
        assert held
        assert not seen & held
