"""Guide: what is tried again, what a seat is told, and under which prompt it is learnt."""

import pytest

from coevo.agents import FixedTextAgent
from coevo.agents.agent import Unanswered
from coevo.benchmarks.reproductions import key_door
from coevo.benchmarks.reproductions.run import PLAIN
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
            told, asked = (message["content"] for message in turn.chat)
            assert told.startswith("A player who solved this task made these moves, one a turn: ")
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
    assert guided.turns[0].chat[0]["content"] == "Plan: ⟦east⟧ ‹b›"
    body = asked[0].chat[-1]["content"].split("Worth 0:\n")[1]
    assert all(line.startswith("| ") for line in body.split("\n"))


def test_experts_guide_every_seat_of_a_learner(start):
    ctx = taken(start(env="coevo/kuhn_poker-v0", changes={"cycle.guide.solved": 9.0}), 2)
    for episode in ctx.collected.episodes[8:]:
        assert {t.agent for t in episode.turns if t.notes.get("guided")} == set(episode.agents)
