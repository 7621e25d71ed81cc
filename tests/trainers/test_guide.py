"""Guide: what is tried again, what a seat is told, and under which prompt it is learnt."""

import pytest

from coevo.agents import FixedTextAgent
from coevo.agents.agent import Unanswered
from coevo.benchmarks.reproductions import key_door
from coevo.benchmarks.reproductions.run import PLAIN
from coevo.envs.core.quoting import quote
from coevo.trainers import loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.steps import writers

SMALL = {**PLAIN, "collect.episodes": 8, "collect.group_size": 4, "optim.lr": 50.0}


@pytest.fixture
def start(tmp_path):
    def make(variant=None, changes=None, env=key_door.KeyDoor.env_id):
        maker = key_door.walkers(0.99)(0) if env == key_door.KeyDoor.env_id else None
        given = TrainConfig(
            algorithm=algorithm("agent_rlvr", variant, {**SMALL, **(changes or {})}),
            env=env,
            env_options={"prompt_style": "terse", **({"moves": 14} if maker else {})},
            model="table",
            steps=2,
            device="cpu",
            threads=1,
        )
        folder = RunFolder(tmp_path / "run")
        folder.create(given)
        return loop.start(given, folder, maker)

    return make


def taken(run, steps):
    ctx = loop.context_of(run)
    for step in run.config.algorithm.cycle[:steps]:
        step(ctx)
    return ctx


def test_tasks_without_a_success_are_tried_again_and_learnt_without_the_guidance(start):
    ctx = taken(start(changes={"cycle.guide.tries": 2}), 3)
    found = ctx.collected
    fresh, guided = found.episodes[:8], found.episodes[8:]
    failed = [i for i in (0, 1) if not any(e.total("player_0") for e in fresh[4 * i : 4 * i + 4])]
    assert failed, "a random walk seldom finds the door"
    assert found.groups[8:] == [key for key in failed for _ in range(2)]
    assert ctx.metrics["guide/failed"] == len(failed) / 2
    assert ctx.metrics["guide/solved"] > 0.5
    for key, episode in zip(found.groups[8:], guided, strict=True):
        assert episode.seed == fresh[4 * key].seed
        for turn in episode.turns:
            (message,) = turn.chat
            asked, said, told = message["content"].partition(" A player who solved this task ")
            assert said and told.startswith("made these moves, one a turn: ")
            assert key_door.PROMPT.search(asked)
            assert turn.notes["guided"] and turn.injected == [] and turn.stripped_ids
            assert turn.stripped_ids != turn.prompt_ids
    rows = {s.ids[0] for s in ctx.batch.spans}
    stripped = {t.stripped_ids[0] for e in guided for t in e.turns}
    assert stripped <= rows and not rows & {t.prompt_ids[0] for e in guided for t in e.turns}
    turns = sum(len(e.turns) for e in found.episodes)
    assert (ctx.progress.turns, ctx.progress.tokens) == (turns, turns)


def test_a_guided_success_is_preferred_to_a_failure_of_its_task(start):
    ctx = taken(start(), 4)
    pairs = ctx.items["pairs"]
    assert len(pairs)
    of = [at for at, _ in ctx.batch.origin_B]
    for won, lost in pairs.at_NK.tolist():
        assert of[won] >= 8 > of[lost]
        assert ctx.batch.keys["group"][won] == ctx.batch.keys["group"][lost]


def test_a_solved_task_is_left_alone(start):
    ctx = taken(start(changes={"cycle.guide.solved": 0.0}), 2)
    assert len(ctx.collected.episodes) == 8
    assert ctx.metrics["guide/failed"] == 0 and "guide/solved" not in ctx.metrics


def test_an_adviser_sees_the_attempt_quoted_and_one_that_fails_gives_no_guidance(
    start, monkeypatch
):
    asked = []

    class Adviser(FixedTextAgent):
        def act(self, requests):
            asked.extend(requests)
            if len(asked) > 1:
                return [Unanswered(reason="gone")]
            return super().act(requests)

    monkeypatch.setattr(writers, "load_agent", lambda *_, **__: Adviser("Plan: [east] <b>"))
    run = start("advised", {"cycle.guide.by.agent": "teacher", "cycle.guide.solved": 2.0})
    ctx = taken(run, 2)
    (guided,) = ctx.collected.episodes[8:]
    assert guided.turns[0].chat[-1]["content"].endswith(" Plan: ⟦east⟧ ‹b›")
    body = asked[0].chat[-1]["content"].split("Worth 0:\n")[1]
    assert all(line.startswith("| ") for line in body.split("\n"))


def test_experts_guide_every_seat_of_a_learner(start):
    ctx = taken(start(env="coevo/kuhn_poker-v0", changes={"cycle.guide.solved": 9.0}), 2)
    for episode in ctx.collected.episodes[8:]:
        assert {t.agent for t in episode.turns if t.notes.get("guided")} == set(episode.agents)


def test_examples_are_those_nearest_to_what_the_seat_is_asked_first(start):
    by = {"name": "examples", "shown": 1}
    run = start("imitate", {"cycle.guide.by": by, "cycle.guide.solved": 2.0})
    for asked, moves in (("0: at 0 1, no key", "east"), ("Something else", "north")):
        run.archive.propose("experience", f"{quote(asked)}\nSolved by: {moves}")
    guided = taken(run, 2).collected.episodes[8:]
    assert len(guided) == 2
    for turn in (t for e in guided for t in e.turns):
        told = turn.chat[0]["content"]
        assert told == "Tasks that were solved before:\n\n| 0: at 0 1, no key\nSolved by: east"
        assert turn.stripped_ids


def test_what_was_solved_is_kept_once_and_shown_to_other_tasks_alone(start):
    ctx = taken(start("imitate", {"cycle.guide.by": {"name": "examples", "keep": 1}}), 1)
    wins = [e for e in ctx.collected.episodes if e.total("player_0") >= 0.5] or [
        ctx.collected.episodes[0]
    ]
    by = ctx.algorithm.cycle[1].by
    for _ in range(2):
        by.remember(ctx, [("player_0", wins[0])])
    (kept,) = ctx.archive.living("experience")
    assert kept.payload.startswith(quote(wins[0].turns[0].chat[-1]["content"]))
    assert kept.payload.endswith(", ".join(t.move for t in wins[0].turns))
    own = next(g for g in ctx.collected.played if any(e is wins[0] for e in g.episodes))
    assert list(by.texts(ctx, [own])) == [{}]
    by.remember(ctx, [("player_0", ctx.collected.episodes[-1])])
    assert len(ctx.archive.living("experience")) == 1


def test_without_examples_failed_tasks_are_tried_again_as_they_are(start):
    ctx = taken(start(changes={"cycle.guide.by": {"name": "examples", "shown": 0}}), 2)
    again = ctx.collected.episodes[8:]
    assert again
    assert all(t.stripped_ids is None and "guided" not in t.notes for e in again for t in e.turns)


def test_replies_learnt_as_seen_are_compared_with_one_another_alone(start):
    ctx = taken(start(changes={"cycle.guide.trained": "as_seen", "cycle.guide.tries": 2}), 3)
    guided = [at for at, (e, _) in enumerate(ctx.batch.origin_B) if e >= 8]
    keys = ctx.batch.keys["group"].tolist()
    assert not {keys[at] for at in guided} & {k for at, k in enumerate(keys) if at not in guided}
    rows = {s.ids[0] for s in ctx.batch.spans}
    turns = [t for e in ctx.collected.episodes[8:] for t in e.turns]
    assert {t.prompt_ids[0] for t in turns} <= rows
    assert all(t.injected and t.notes["guided"] and t.stripped_ids is None for t in turns)


def test_all_tasks_can_be_tried_again_and_only_failed_ones_count_as_flipped(start):
    by = {"name": "examples", "shown": 0}
    changes = {"by": by, "of": "all", "tries": 2, "solved": -1.0}
    ctx = taken(start(changes={f"cycle.guide.{key}": x for key, x in changes.items()}), 2)
    assert ctx.collected.groups[8:] == [0, 0, 1, 1]
    assert ctx.metrics["guide/failed"] == 0 and ctx.metrics["guide/solved"] == 1
    assert "guide/flipped" not in ctx.metrics
