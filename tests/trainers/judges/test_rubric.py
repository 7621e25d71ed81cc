"""Grades by a rubric: what is asked, by what grades are measured, and how a rubric is rewritten."""

from dataclasses import replace

import numpy as np
import pytest

from coevo.agents.agent import Agent, Reply
from coevo.benchmarks.reproductions.claims import mpo_rubric
from coevo.benchmarks.reproductions.run import configured
from coevo.envs.core.apply import apply_batch
from coevo.envs.core.config import config as component
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.parsing import Status
from coevo.envs.core.rewards import ScoreContext
from coevo.trainers import loop
from coevo.trainers.collect.injected import Injected
from coevo.trainers.judges.roles import JudgeRole, Roles
from coevo.trainers.judges.rubric import Rubric
from coevo.trainers.steps import Every, RewriteText
from coevo.trainers.steps.writers import Proposer, Review, Written

RUBRIC = "Clear.\n\nShort."


class Counts(Agent):
    """Gives an answer as many points as it has letters, and remembers what it was asked."""

    name, version = "judge", 0

    def __init__(self):
        self.seen = []

    def act(self, requests):
        self.seen += [r.chat for r in requests]
        words = [r.chat[-1]["content"].split('Answer: "')[1].split('"')[0] for r in requests]
        return [Reply(f"[{len(word)}]", [1], [2], [0.0]) for word in words]


def plays(*answers):
    chat = ({"role": "user", "content": "Write."},)
    turns = [Turn("player_0", chat, f"[{a}]", a, Status.LEGAL, None) for a in answers]
    return [Episode("e", 0, {}, ("player_0",), "t", [t], StopReason.FINISHED) for t in turns]


def graded(module, version, *answers, rubric=RUBRIC):
    """Return what answers are paid under a version of the rubric, and who was asked."""
    judge = Counts()
    told = {"judge": Injected(f"rubric-{version}", rubric)}
    roles = Roles({"judge": JudgeRole()}, {"judge": judge}, injected=told)
    episodes = plays(*answers)
    apply_batch([module], episodes, ScoreContext(judges=roles))
    return [e.total("player_0", "rubric") for e in episodes], episodes, judge


def test_the_judge_sees_the_rubric_and_the_sum_of_its_items_ends_at_so_many_points():
    paid, episodes, judge = graded(Rubric(scale="points", points=3), 4, "ab", "abcdef")
    assert paid == [2.0, 6.0]
    assert judge.seen[0][0] == {"role": "system", "content": RUBRIC}
    assert "0 to 6?" in judge.seen[0][-1]["content"], "two items of three points"
    assert [e.turns[0].versions["rubric"] for e in episodes] == [4, 4]
    (seven,), _, _ = graded(Rubric(scale="points", points=3), 4, "abcdef")
    assert seven == 6.0
    _, beyond, _ = graded(Rubric(points=3), 4, "abcdefg")
    assert beyond[0].turns[0].invalid == {"rubric": {"player_0": "judge gave no number of points"}}


def test_grades_are_measured_by_all_under_the_same_version():
    module = Rubric()
    one, episodes, _ = graded(module, 0, "a", "abc")
    assert one == [-1.0, 1.0]
    assert module.fit(episodes) == {"grade": 2.0}
    two, _, _ = graded(module, 0, "abcde", "abcdefg")
    known = np.array([1, 3, 5, 7])
    assert two == pytest.approx(((known - known.mean()) / known.std())[2:])
    new, _, _ = graded(module, 1, "abcde", "abcdefg")
    assert new == [-1.0, 1.0], "another version has a scale of its own"
    assert graded(module, 1, "abc", "abc")[0] == [0.0, 0.0]
    lasting = Rubric(scale="run")
    lasting.fit(episodes)
    assert graded(lasting, 1, "abcde", "abcdefg")[0] == pytest.approx(two)


def test_what_was_counted_is_in_the_checkpoint():
    module, other = Rubric(), Rubric()
    module.fit(graded(module, 0, "a", "abc")[1])
    other.load_state_dict(module.state_dict())
    assert graded(other, 0, "ab", "b")[0] == graded(module, 0, "ab", "b")[0] != [1.0, -1.0]
    with pytest.raises(DataError, match="not a state of 'rubric'"):
        other.load_state_dict({"count": "many"})


def test_a_judge_without_a_rubric_is_an_error_in_one_line():
    roles = Roles({"judge": JudgeRole()}, {"judge": Counts()})
    with pytest.raises(ConfigError, match=r"judge has no rubric; begin .*inject_text") as caught:
        apply_batch([Rubric()], plays("a"), ScoreContext(judges=roles))
    assert "\n" not in str(caught.value)


# ---- Rewriting -------------------------------------------------------------------------------


@component
class Scripted(Proposer):
    """Fails, changes nothing, then adds an item."""

    name: str = "scripted"

    def __call__(self, run, parent, found, rng):
        assert [x for x, _ in found] == sorted(x for x, _ in found) and len(found) == 64
        text = str(parent.payload)
        step = run.progress.step
        return [Written("", "gone"), Written(text), Written(f"{text}\n-keyword")][min(step, 2)]


def test_a_new_rubric_takes_the_place_of_its_parent(run_of):
    claim = mpo_rubric.CLAIM
    made = configured(claim.arms["mpo"], 0, claim.changes)
    meta = Every(updates=1, step=RewriteText(by=Scripted()))
    made = replace(made, cycle=tuple(meta if isinstance(s, Every) else s for s in made.cycle))
    options = {"prompt_style": "terse", **mpo_rubric.world_of(0)}
    run = run_of(made, env=claim.world.env, env_options=options, maker=mpo_rubric.makers(0))
    seen = []
    for done in loop.updates(run):
        seen.append((done.metrics["archive/rubric/failed"], run.judges.injected["judge"].id))
        assert {e.turns[0].versions["rubric"] for e in done.episodes} == {
            int(seen[-1][1].rpartition("-")[2])
        }
        assert not any(t.injected for e in done.episodes for t in e.turns), "no seat sees it"
    assert seen == [(1.0, "rubric-0"), (0.0, "rubric-0"), (0.0, "rubric-0"), (0.0, "rubric-2")]
    (last,) = run.archive.living("rubric")
    assert [a.id for a in run.archive.lineage(last.id)] == ["rubric-0", "rubric-2", "rubric-3"]
    assert run.archive["rubric-1"].note == "gone"
    assert last.payload == f"{mpo_rubric.HACKED}\n-keyword\n-keyword"


def test_a_reviewer_is_shown_answers_from_the_worst_to_the_best():
    found = [(float(k), e) for k, e in enumerate(plays("bad", "poor", "fair", "good", "best"))]
    shown = Review(shown=3).asked(RUBRIC, found)[-1]["content"]
    places = [shown.find(word) for word in ("bad", "fair", "best")]
    assert -1 not in places and places == sorted(places)
    assert "poor" not in shown and "good" not in shown and "| Short." in shown


# ---- The toy of the reproduction -------------------------------------------------------------


def test_points_are_those_of_the_items():
    found = {"quality": 2, "length": 3, "keyword": 5, "flattery": 0}
    assert mpo_rubric.points("+quality\n+keyword\n-keyword\n-length", found) == 2 + 5 + 0 + 2
    every = [mpo_rubric.features(text) for text in mpo_rubric.essays(3)]
    quality, keyword = ([x[n] for x in every] for n in ("quality", "keyword"))
    assert np.corrcoef(quality, keyword)[0, 1] < -0.8 and len(set(mpo_rubric.essays(3))) == 32


def test_rewritten_rubrics_keep_quality_that_the_first_one_loses():
    fixed, mpo = (mpo_rubric.CLAIM.measures(arm, steps=40) for arm in ("fixed", "mpo"))
    start = mpo_rubric.CLAIM.measures("start")
    assert fixed["quality"] < start["quality"] < mpo["quality"] and fixed["last"] > fixed["first"]
    assert mpo["written"] == 1 and mpo["jump"] < 2
