"""Task buffers in the loop: what is kept reaches later plays, all plays of a start alike."""

import json

import pytest

from coevo.agents import FixedTextAgent
from coevo.trainers import loop
from coevo.trainers.collect.metrics import outcomes
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.samplers.task_buffer import KeptTasks

ENV = "coevo/search_self_play-v0"
ITEMS = [
    {"key": str(i), "question": f"mayor of town {i}", "answer": "Kimo", "success": 0.2, "step": 0}
    for i in range(9)
]
POOL = {"prompt_style": "terse", "rejected": "pool", "world_seed": 3, "solvers": 2}


@pytest.fixture
def started(config, tmp_path):
    changes = {"collect.task_buffer": KeptTasks(every=0, given=2), "collect.group_size": 2}
    return loop.start(config("reinforce", changes, env=ENV, env_options=POOL), RunFolder(tmp_path))


def test_plays_of_one_start_get_the_same_items_others_get_others(started):
    collector = started.collector
    assert all(m.options == {"stored": []} for g in collector.plan(0, 3) for m in g.specs)
    collector.task_buffer.load_state_dict({"items": [[i["key"], i] for i in ITEMS]})
    planned = collector.plan(0, 6)
    for group in planned:
        one, two = (m.options["stored"] for m in group.specs)
        assert one == two and len(one) == 2
    assert len({str(g.specs[0].options) for g in planned}) > 1
    assert [g.specs[0].options for g in collector.plan(0, 6)] == [
        g.specs[0].options for g in planned
    ], "equal steps draw equal items"


def test_the_state_of_a_run_holds_the_task_buffer(started):
    started.collector.task_buffer.load_state_dict({"items": [[i["key"], i] for i in ITEMS]})
    state = json.loads(json.dumps(started.collector.state_dict()))
    started.collector.task_buffer.load_state_dict({"items": []})
    started.collector.load_state_dict(state)
    assert len(started.collector.task_buffer.state_dict()["items"]) == 9
    del state["task_buffer"]
    started.collector.task_buffer = KeptTasks(every=0, given=2).store()
    started.collector.load_state_dict({**state, "task_buffer": {"items": []}})


def test_options_reach_the_environment_and_what_it_leaves_is_taken(started):
    seats = ("proposer_0", "solver_0", "solver_1")
    players = {"p": FixedTextAgent("[answer: Kimo]")}
    match = EpisodeSpec(1, dict.fromkeys(seats, "p"), options={"stored": ITEMS[:1]})
    (episode,) = rollout(ENV, [match], players, POOL)
    assert episode.outcome["asked/stored"] == 1 and episode.outcome["success"] == 1
    assert episode.total("proposer_0") == 0
    buffer = started.collector.task_buffer
    buffer.take([episode], 0)
    assert [key for key, _ in buffer.state_dict()["items"]] == ["mayor of town 0"]
    found = outcomes([episode])
    assert found["outcome/success"] == 1 and found["outcome/gate/no_tag"] == 1
    assert not any("return/" in name for name in found)


def test_an_update_with_a_task_buffer_runs_and_logs_it(started):
    metrics, _ = loop.update(started)
    assert metrics["task_buffer/items"] == 0
    assert metrics["outcome/gate/valid"] == 0
