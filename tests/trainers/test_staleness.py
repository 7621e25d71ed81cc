"""Episodes played ahead: which weights played them, what is kept of them, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from coevo.agents.agent import Request
from coevo.agents.engines.settings import Vllm
from coevo.agents.load import load_agent
from coevo.envs.core.errors import ConfigError
from coevo.trainers import checkpoint, loop
from coevo.trainers.collect.group import Group
from coevo.trainers.loop import train
from coevo.trainers.run_folder import RunFolder
from tests.trainers.conftest import GUIDED
from tests.trainers.run_content import content

TIS = {"loss.is_correction": {"name": "token_tis"}}
STILL = {"optim.lr": 1e-30, "ema": 0.0, "magnet": None, "loss.regularise": ()}


def ahead(lag, **changes):
    return {"collect.staleness": lag, **TIS, **changes}


def episodes(config, folder):
    """Train, and return the episodes of every update."""
    return [done.episodes for done in loop.updates(loop.start(config, folder))]


@pytest.mark.parametrize("lag", [1, 3])
def test_every_update_learns_from_what_one_version_played(config, folder, lag):
    changes = ahead(lag, ema=0.0, magnet=None, **{"loss.regularise": (), "optim.lr": 3e-3})
    given = config("mars", changes, steps=5, checkpoint_every=1, keep_checkpoints=9)
    made = folder(given)
    for step, found in enumerate(episodes(given, made)):
        assert {t.version for e in found for t in e.turns} == {max(step - lag, 0)}
    logged = [m["staleness/max"] for m in made.read_metrics()]
    assert logged == [min(step, lag) for step in range(5)]


def test_recorded_logprobs_are_those_of_the_version_that_played(config, folder):
    changes = ahead(1, ema=0.0, magnet=None, **{"loss.regularise": (), "optim.lr": 3e-3})
    given = config("mars", changes, steps=4, checkpoint_every=1, keep_checkpoints=9)
    made = folder(given)
    last = episodes(given, made)[3]
    gaps = {}
    for version in (2, 3):
        policy = load_agent(
            str(made.checkpoints / f"step_{version:06d}" / "policy"), sampling=GUIDED
        )
        rng = np.random.default_rng(0)
        turns = [t for e in last for t in e.turns]
        asked = [Request(t.agent, t.chat, {"legal_actions": list(t.legal)}, rng) for t in turns]
        found = policy.move_logprobs(asked)
        gaps[version] = max(
            abs(logp[t.legal.index(t.move)] - sum(t.logprobs))
            for logp, t in zip(found, turns, strict=True)
        )
    assert gaps[2] < 1e-4 < 10 * 1e-4 < gaps[3]


def test_weights_that_stand_still_play_alike_however_far_ahead(config, folder):
    texts = []
    for lag in (0, 2):
        given = config("mars", STILL | ahead(lag), steps=4)
        found = episodes(given, folder(given, f"lag{lag}"))
        texts.append([[[t.text for t in e.turns] for e in update] for update in found])
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["mars", "league"])
def test_resumed_equals_uninterrupted(config, folder, name):
    given = config(name, ahead(2, schedules={}), steps=7, checkpoint_every=3)
    whole, halves = folder(given, "whole"), folder(given, "halves")
    train(given, whole)
    for steps in (2, 5, 7):
        train(replace(given, steps=steps), halves)
    assert content(halves) == content(whole)


def test_what_is_too_old_is_dropped_and_counted(config, folder):
    given = config("mars", ahead(2), steps=3)
    made = folder(given)
    train(given, made)
    fewer = replace(config("mars", ahead(1), steps=5))
    run = loop.start(fewer, made)
    assert {s - version for s, (version, _) in run.collector.ahead.batches.items()} == {2}
    first, second = (done for done in loop.updates(run))
    assert first.metrics["staleness/dropped"] == 2 * 8 / given.algorithm.collect.group_size
    assert {t.version for e in first.episodes for t in e.turns} == {3}
    assert second.metrics["staleness/dropped"] == 0
    train(config("mars", TIS, steps=6), made)
    assert made.read_metrics()[-1]["staleness/dropped"] == 8 / given.algorithm.collect.group_size


def test_truncated_weights_are_over_the_recorded_behaviour(config, folder):
    changes = ahead(1, ema=0.0, magnet=None, **{"loss.regularise": (), "optim.lr": 3e-3})
    given = config("mars", changes, steps=4)
    made = folder(given)
    train(given, made)
    shares = [m["is_correction/effective"] for m in made.read_metrics()]
    assert shares[0] == pytest.approx(1.0, abs=1e-6), "its weights played it"
    assert max(shares[2:]) < 1.0 - 1e-6


def test_a_failing_player_is_heard_of_where_its_episodes_are_wanted(config, folder, monkeypatch):
    given = config("mars", ahead(1), steps=4)
    run = loop.start(given, folder(given))
    collector = run.collector
    played = type(collector)._played

    def fails(self, planned, step, batch, agents):
        if step == 2:
            raise ConfigError("no more")
        return played(self, planned, step, batch, agents)

    monkeypatch.setattr(type(collector), "_played", fails)
    with pytest.raises(ConfigError, match="no more"):
        list(loop.updates(run))
    assert checkpoint.latest_step(run.folder.checkpoints) == 2
    monkeypatch.undo()
    train(given, RunFolder(run.folder.path))
    assert checkpoint.latest_step(run.folder.checkpoints) == 4


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"collect.staleness": 1}, "is_correction"),
        (ahead(1, **{"collect.replay": {"name": "remix_replay"}}), "collect.replay='remix_replay'"),
        (
            ahead(
                1, cycle=["inject_text", "collect", "build_batch", "compute_advantages", "update"]
            ),
            "inject_text",
        ),
    ],
)
def test_what_cannot_be_played_ahead_is_refused(config, changes, named):
    with pytest.raises(ConfigError, match=named):
        config("reinforce", changes)


def test_an_engine_does_not_sleep_while_it_plays_ahead(config):
    asleep = Vllm(sleep_level=1)
    assert config("reinforce", {}, engine=asleep).engine is asleep
    with pytest.raises(ConfigError, match=r"engine.sleep_level=1 and collect.staleness=1 contra"):
        config("reinforce", ahead(1), engine=asleep)


def test_a_table_does_not_play_while_it_learns(config, folder):
    given = config("reinforce", ahead(1), model="table")
    with pytest.raises(ConfigError, match="staleness=0"):
        train(given, folder(given))


def test_a_group_is_read_as_it_was_written(config, folder):
    given = config("mars", {}, steps=1)
    run = loop.start(given, folder(given))
    group = run.collector._play(run.collector.plan(0, 2), 0, 0, None)[0]
    assert Group.from_dict(json.loads(json.dumps(group.to_dict()))) == group
